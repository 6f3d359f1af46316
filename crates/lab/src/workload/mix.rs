//! Independent requests of several classes.

use pointsman_engine::job::AdapterId;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

use super::Piece;
use super::arrivals::{Arrivals, Clock, WholeMs};
use super::choice::Choice;
use super::distribution::Distribution;
use super::number::{Count, NonEmpty, Positive};
use super::planner::{Draft, Planner};
use super::spec::{Adapters, SharedPrefix, drawn};
use crate::scenario::units::Millis;

/// Independent requests of several classes. Each is of a random class.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// How many requests there are.
    pub requests: Count,
    /// When they come.
    pub arrivals: Arrivals,
    /// When the arrivals start.
    #[serde(default)]
    pub start_ms: Millis,
    /// Whether they come at whole milliseconds.
    #[serde(default)]
    pub whole_ms: WholeMs,
    /// What they are.
    pub classes: NonEmpty<Class>,
    /// The adapters that they ask for, if any.
    #[serde(default)]
    pub adapters: Option<Adapters>,
}

/// Requests that are alike.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name in measures.
    pub name: String,
    /// Its share of the requests, relative to the other classes' shares.
    pub share: Positive,
    /// The beginnings of prompts that its requests share, if any.
    #[serde(default)]
    pub prefix: Option<SharedPrefix>,
    /// Tokens of the prompt behind the prefix, drawn for each request.
    pub suffix_tokens: Distribution,
    /// Tokens of the answer, drawn for each request.
    pub output_tokens: Distribution,
    /// Shorter answers become as long as this.
    #[serde(default = "one")]
    pub output_tokens_min: Count,
    /// Longer answers become as short as this.
    #[serde(default = "unlimited")]
    pub output_tokens_max: Count,
}

impl MixSpec {
    pub(crate) fn class_names(&self) -> Vec<String> {
        self.classes
            .iter()
            .map(|class| class.name.clone())
            .collect()
    }

    /// What no single field can tell.
    pub(crate) fn check(&self) -> Result<(), String> {
        let crossed =
            |class: &&Class| class.output_tokens_min.get() > class.output_tokens_max.get();
        match self.classes.iter().find(crossed) {
            Some(class) => Err(format!(
                "class `{}`: output_tokens_min is above output_tokens_max",
                class.name
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        let classes = self.choice(planner);
        let adapters = self.adapters.map(Adapters::choice);
        let mut clock = Clock::new(self.arrivals, self.start_ms, self.whole_ms);
        for _ in 0..self.requests.get() {
            let at = clock.next(&mut planner.times);
            let rng = &mut planner.lengths;
            let adapter = drawn(adapters.as_ref(), rng);
            let draft = classes.draw(rng).request(adapter, rng);
            planner.arrive(at, draft);
        }
    }

    fn choice(&self, planner: &mut Planner<'_>) -> Choice<Prepared<'_>> {
        let mut prepare = |index: usize, class| {
            let prepared = Prepared::new(index, class, planner);
            (prepared.class.share.value(), prepared)
        };
        let (first, others) = self.classes.split_first();
        let first = prepare(0, first);
        let others = others.iter().enumerate();
        Choice::weighted(
            first,
            others
                .map(|(index, class)| prepare(index + 1, class))
                .collect(),
        )
    }
}

/// A class, and what is drawn once for it.
struct Prepared<'a> {
    class: &'a Class,
    index: usize,
    prefixes: Option<Choice<Piece>>,
}

impl<'a> Prepared<'a> {
    fn new(index: usize, class: &'a Class, planner: &mut Planner<'_>) -> Self {
        let prefixes = class
            .prefix
            .map(|prefix| prefix.choice(planner, index as u64));
        Self {
            class,
            index,
            prefixes,
        }
    }

    fn request(&self, adapter: Option<AdapterId>, rng: &mut Pcg64Mcg) -> Draft {
        let class = self.class;
        let prefix = drawn(self.prefixes.as_ref(), rng);
        let suffix_tokens = class.suffix_tokens.draw_whole(rng);
        let output_tokens = class.output_tokens.draw_whole(rng);
        Draft {
            pieces: prefix.into_iter().collect(),
            prompt_tokens: prefix.map_or(0, |prefix| prefix.end_tokens) + suffix_tokens,
            output_tokens: output_tokens
                .max(class.output_tokens_min.get())
                .min(class.output_tokens_max.get()),
            adapter,
            class: self.index,
            session: None,
        }
    }
}

const fn one() -> Count {
    Count::ONE
}

const fn unlimited() -> Count {
    Count::MAX
}

#[cfg(test)]
mod tests;
