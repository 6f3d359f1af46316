//! Requests that are written out.

use pointsman_engine::job::AdapterId;
use serde::Deserialize;

use super::Piece;
use super::number::{Count, NonEmpty};
use super::planner::{Draft, Planner, beneath};
use super::spec::Size;
use crate::scenario::units::Millis;

/// Requests that are written out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSpec {
    /// The name of the class in measures.
    #[serde(default = "name")]
    pub name: String,
    /// The requests, in any order.
    pub requests: NonEmpty<ListedRequest>,
}

/// One request, or several that are equal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedRequest {
    /// When it comes.
    pub at_ms: Millis,
    /// The beginning of its prompt, if others share it: those with an equal `prefix`.
    #[serde(default)]
    pub prefix: Option<ListedPrefix>,
    /// Tokens of the prompt behind the prefix.
    pub suffix_tokens: Count,
    /// Tokens of the answer.
    pub output_tokens: Count,
    /// The number of the adapter that it asks for, if any.
    #[serde(default)]
    pub adapter: Option<u32>,
    /// How many such requests come.
    #[serde(default = "one")]
    pub repeat: Count,
    /// Time from one of these to the next.
    #[serde(default)]
    pub repeat_every_ms: Millis,
}

/// The beginning of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedPrefix {
    /// Any number that tells it from others.
    pub key: u64,
    /// Its tokens.
    pub tokens: Count,
}

impl ListSpec {
    /// The size of the plan.
    pub(crate) fn size(&self) -> Size {
        let times = |request: &ListedRequest| f64::from(request.repeat.get());
        let requests = self.requests.iter().map(times).sum();
        Size {
            requests,
            pieces: requests,
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        for request in self.requests.iter() {
            let mut at = request.at_ms.moment();
            for _ in 0..request.repeat.get() {
                planner.arrive(at, request.draft(planner));
                at = at.plus(request.repeat_every_ms.duration());
            }
        }
    }
}

impl ListedRequest {
    fn draft(&self, planner: &Planner<'_>) -> Draft {
        let prefix = self.prefix.map(|prefix| prefix.piece(planner));
        Draft {
            pieces: prefix.into_iter().collect(),
            prompt_tokens: prefix.map_or(0, |prefix| prefix.end_tokens) + self.suffix_tokens.get(),
            output_tokens: self.output_tokens.get(),
            adapter: self.adapter.map(AdapterId),
            class: 0,
            session: None,
        }
    }
}

impl ListedPrefix {
    fn piece(self, planner: &Planner<'_>) -> Piece {
        let tokens = self.tokens.get();
        Piece {
            key: beneath(beneath(planner.root(), self.key), u64::from(tokens)),
            end_tokens: tokens,
        }
    }
}

fn name() -> String {
    "list".to_owned()
}

const fn one() -> Count {
    Count::ONE
}

#[cfg(test)]
mod tests;
