//! The counts of a usage, each as the engine wrote it, and what they mean together.

use pointsman_domain::facts::Dialect;
use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;

/// The names that dialects have for their counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// `prompt_tokens`: the whole prompt.
    Prompt,
    /// `input_tokens`: the whole prompt, or in Anthropic's form what of it is in no cache.
    Input,
    /// `completion_tokens`.
    Completion,
    /// `output_tokens`.
    Output,
    /// `total_tokens`: all that those who write no answer have.
    Total,
    /// `cached_tokens`.
    Cached,
    /// `cache_read_input_tokens`, in Anthropic's form.
    CacheRead,
    /// `cache_creation_input_tokens`, in Anthropic's form.
    CacheCreation,
    /// `reasoning_tokens`.
    Reasoning,
}

/// Counts by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    numbers: [u64; Self::LEN],
    /// A bit for each number that is known.
    known: u16,
}

impl Counts {
    const LEN: usize = 9;

    pub(crate) const NONE: Self = Self {
        numbers: [0; Self::LEN],
        known: 0,
    };

    fn of(self, count: Count) -> Option<u64> {
        let number = self.numbers.get(count as usize).copied();
        number.filter(|_| self.known & (1 << count as u16) != 0)
    }

    /// Takes a count over as an engine wrote it. What is no whole number, and what cannot be true, is
    /// ignored.
    pub(crate) fn read(&mut self, count: Count, digits: &[u8]) {
        let digits = core::str::from_utf8(digits).ok();
        if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
            self.set(count, number);
        }
    }

    /// Takes a count over, if it can be true.
    pub(crate) fn set(&mut self, count: Count, number: u64) {
        if number <= TOKENS_MAX
            && let Some(place) = self.numbers.get_mut(count as usize)
        {
            *place = number;
            self.known |= 1 << count as u16;
        }
    }

    /// Takes over what a later report of the same answer tells.
    pub(crate) fn update(&mut self, later: Self) {
        self.merge(later, |_, later| later);
    }

    /// Adds the counts of another answer to the same request.
    pub(crate) fn add(&mut self, other: Self) {
        self.merge(other, u64::saturating_add);
    }

    /// Takes over what `other` knows; `both` joins what is known already with that.
    fn merge(&mut self, other: Self, both: impl Fn(u64, u64) -> u64) {
        for (index, (number, other_number)) in
            self.numbers.iter_mut().zip(other.numbers).enumerate()
        {
            let bit = 1 << index;
            if other.known & bit != 0 {
                *number = if self.known & bit == 0 {
                    other_number
                } else {
                    both(*number, other_number)
                };
            }
        }
        self.known |= other.known;
    }

    /// The usage that the counts make, if they tell of prompt and output. What a dialect without
    /// answers does not tell of is an output of none.
    pub(crate) fn usage(self, dialect: Dialect) -> Option<Usage> {
        let has_answers = !matches!(
            dialect,
            Dialect::Embeddings | Dialect::ByModel | Dialect::GrpcEmbed
        );
        let of = |count| self.of(count);
        let without_answer = |number: Option<u64>| number.filter(|_| !has_answers);
        let prompt = of(Count::Prompt)
            .or_else(|| self.input())
            .or_else(|| without_answer(of(Count::Total)));
        let output = of(Count::Completion)
            .or_else(|| of(Count::Output))
            .or_else(|| without_answer(Some(0)));
        let prompt = believed(prompt)?;
        let output = believed(output)?;
        let cached = believed(of(Count::Cached).or_else(|| of(Count::CacheRead)));
        let reasoning = believed(of(Count::Reasoning));
        Some(Usage {
            prompt,
            output,
            cached: cached.filter(|cached| *cached <= prompt),
            reasoning: reasoning.filter(|reasoning| *reasoning <= output),
        })
    }

    /// The whole prompt where `input_tokens` counts it. Only Anthropic's form has the other two.
    fn input(self) -> Option<u64> {
        let read = self.of(Count::CacheRead).unwrap_or_default();
        let created = self.of(Count::CacheCreation).unwrap_or_default();
        Some(
            self.of(Count::Input)?
                .saturating_add(read)
                .saturating_add(created),
        )
    }
}

/// Sums may pass the limit where what they are made of does not.
fn believed(number: Option<u64>) -> Option<Tokens> {
    number.filter(|number| *number <= TOKENS_MAX).map(Tokens)
}

/// More than any engine makes of one request. A greater count is a fault of the engine, and added to
/// others it could wrap a counter.
pub(crate) const TOKENS_MAX: u64 = 1 << 32;

#[cfg(test)]
mod tests;
