//! The families of a page that are wanted.

/// Names of metrics, each with what the caller means by it.
///
/// A page has thousands of lines and a few are wanted, so nearly every look is at a line of another
/// family. Those are told by eight of their bytes: a set of bits knows which the wanted names have.
#[derive(Clone, Debug)]
pub struct Families<Meaning> {
    /// In the order of their names.
    meanings: Vec<(Box<[u8]>, Meaning)>,
    /// The bytes that are looked at end here; no name is shorter.
    window_end: usize,
    /// A bit for what those bytes of each name are hashed to.
    known: [u64; WORDS],
}

impl<Meaning> Families<Meaning> {
    /// The families of these names. Of a name that comes twice the first meaning counts.
    pub fn new(names: impl IntoIterator<Item = (Box<str>, Meaning)>) -> Self {
        let mut meanings: Vec<(Box<[u8]>, Meaning)> = names
            .into_iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, meaning)| (name.into_boxed_bytes(), meaning))
            .collect();
        // Stable, so that of equal names the first stays.
        meanings.sort_by(|(a, _), (b, _)| a.cmp(b));
        meanings.dedup_by(|(later, _), (first, _)| later == first);
        let lengths = meanings.iter().map(|(name, _)| name.len());
        let window_end = lengths.min().unwrap_or(0).min(WINDOW_END_MAX);
        let mut known = [0; WORDS];
        for (name, _) in &meanings {
            let (word, bit) = place(window(name, window_end));
            if let Some(word) = known.get_mut(word) {
                *word |= bit;
            }
        }
        Self {
            meanings,
            window_end,
            known,
        }
    }

    /// What is meant by the metric of that name.
    pub fn get(&self, name: &[u8]) -> Option<&Meaning> {
        let at = self
            .meanings
            .binary_search_by(|(known, _)| known[..].cmp(name));
        self.meanings.get(at.ok()?).map(|(_, meaning)| meaning)
    }

    /// Whether a line that begins like `text` may be of one of these families.
    pub(crate) fn may_begin(&self, text: &[u8]) -> bool {
        let (word, bit) = place(window(text, self.window_end));
        self.known.get(word).is_some_and(|known| known & bit != 0)
    }
}

/// Up to eight bytes of `text` that end at `end`; those that it lacks are 0.
fn window(text: &[u8], end: usize) -> u64 {
    let from = end.saturating_sub(8);
    if let Some(bytes) = text.get(from..).and_then(|text| text.first_chunk::<8>())
        && end >= 8
    {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    for (byte, of_text) in bytes.iter_mut().zip(text.iter().take(end)) {
        *byte = *of_text;
    }
    u64::from_le_bytes(bytes)
}

/// The word and the bit for those bytes.
const fn place(window: u64) -> (usize, u64) {
    let hash = window.wrapping_mul(MIX) >> (64 - 6 - WORDS.ilog2());
    ((hash >> 6) as usize, 1 << (hash & 63))
}

/// Names of engines differ behind a common beginning, and histograms in their ends only.
const WINDOW_END_MAX: usize = 32;

/// Words of the set of bits.
const WORDS: usize = 16;

/// An odd number with its bits well spread: the golden ratio's fraction of the range of `u64`.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole_and_the_first_meaning_counts() {
        let families = Families::new([
            ("vllm:num_requests_running".into(), 1),
            ("up".into(), 2),
            ("up".into(), 3),
            ("".into(), 4),
        ]);
        assert_eq!(families.get(b"vllm:num_requests_running"), Some(&1));
        assert_eq!(families.get(b"up"), Some(&2));
        for name in ["", "u", "upp", "vllm:num_requests_running_total"] {
            assert_eq!(families.get(name.as_bytes()), None, "{name}");
        }
        assert_eq!(Families::<()>::new([]).get(b"up"), None);
    }

    #[test]
    fn lines_of_other_families_are_told_by_their_beginning() {
        let families = Families::new([("vllm:num_requests_running".into(), ())]);
        let others = [
            "vllm:time_to_first_token_seconds_bucket{le=\"1\"} 3",
            "# HELP vllm",
            "",
            "v",
        ];
        for line in others {
            assert!(!families.may_begin(line.as_bytes()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_wanted_is_never_passed_over(
            names in proptest::collection::vec("[a-z:_]{1,40}", 1..40),
            which in any::<prop::sample::Index>(),
            rest in "[{ ].{0,20}",
        ) {
            let name = which.get(&names);
            let families = Families::new(names.iter().map(|name| (name.as_str().into(), ())));
            let line = format!("{name}{rest}");
            prop_assert!(families.may_begin(line.as_bytes()));
            prop_assert!(families.get(name.as_bytes()).is_some());
        }
    }
}
