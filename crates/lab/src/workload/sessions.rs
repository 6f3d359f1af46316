//! Chats and tool agents, whose prompts grow from step to step.

use pointsman_domain::block::BlockKey;
use pointsman_engine::job::AdapterId;
use serde::Deserialize;

use super::Piece;
use super::arrivals::{Arrivals, Clock, WholeMs};
use super::distribution::Distribution;
use super::number::Count;
use super::planner::{Draft, Planner, beneath};
use super::spec::{Adapters, SharedPrefix, Size, drawn};
use crate::scenario::units::Millis;

/// Sessions of several requests, one after the other. Each repeats the prompt of the one before it
/// and adds to it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionsSpec {
    /// The name of the class in measures.
    #[serde(default = "name")]
    pub name: String,
    /// How many sessions there are.
    pub sessions: Count,
    /// When they begin.
    pub arrivals: Arrivals,
    /// When the arrivals start.
    #[serde(default)]
    pub start_ms: Millis,
    /// Whether sessions begin at whole milliseconds, and think times are whole ones.
    #[serde(default)]
    pub whole_ms: WholeMs,
    /// Requests of a session, at least 1 and at most [`STEPS_MAX`], drawn for each session.
    pub steps: Distribution,
    /// The system prompts that sessions share, if any.
    #[serde(default)]
    pub system: Option<SharedPrefix>,
    /// What each step adds to the prompt: new input, and from the second step on the answer before
    /// it. Drawn for each step, and at least 1.
    pub step_tokens: Distribution,
    /// Tokens of the answer, drawn for each step.
    pub output_tokens: Distribution,
    /// The time that a person or a tool takes from an answer to the next step.
    pub think_ms: Distribution,
    /// What happens to long prompts, if anything.
    #[serde(default)]
    pub compaction: Option<Compaction>,
    /// The adapters of sessions, if any. A session keeps its adapter.
    #[serde(default)]
    pub adapters: Option<Adapters>,
}

/// Before a prompt grows beyond a length, all of it but the system prompt is replaced by a summary.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compaction {
    /// That length.
    pub prompt_tokens_max: Count,
    /// Tokens of the summary, drawn each time, and at least 1.
    pub summary_tokens: Distribution,
}

impl SessionsSpec {
    /// The expected size of the plan.
    pub(crate) fn size(&self) -> Size {
        let sessions = f64::from(self.sessions.get());
        let steps = self.steps.mean().clamp(1.0, f64::from(STEPS_MAX));
        Size {
            requests: sessions * steps,
            // One piece for the system prompt and one for each step up to this one.
            pieces: sessions * steps * (steps + 3.0) / 2.0,
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        let systems = self.system.map(|system| system.choice(planner, SYSTEMS));
        let adapters = self.adapters.map(Adapters::choice);
        let mut clock = Clock::new(self.arrivals, self.start_ms, self.whole_ms);
        for _ in 0..self.sessions.get() {
            let at = clock.next(&mut planner.times);
            let system = drawn(systems.as_ref(), &mut planner.lengths);
            let adapter = drawn(adapters.as_ref(), &mut planner.lengths);
            let mut session = Session::new(system, adapter, planner);
            let steps = self.steps.draw_whole(&mut planner.lengths);
            let mut before = None;
            for _ in 0..steps.clamp(1, STEPS_MAX) {
                let Some(draft) = session.step(self, planner) else {
                    break;
                };
                before = Some(match before {
                    None => planner.arrive(at, draft),
                    Some(before) => {
                        let think = self.think_ms.draw(&mut planner.lengths);
                        planner.follow(before, self.whole_ms.round(think).duration(), draft)
                    }
                });
            }
        }
    }
}

/// A session as far as it is planned.
struct Session {
    number: u32,
    adapter: Option<AdapterId>,
    system: Option<Piece>,
    /// What the names of its own parts begin with.
    own: BlockKey,
    pieces: Vec<Piece>,
    /// Own parts so far, also those that were replaced by a summary.
    parts: u64,
}

impl Session {
    fn new(system: Option<Piece>, adapter: Option<AdapterId>, planner: &mut Planner<'_>) -> Self {
        let number = planner.session();
        let own = beneath(planner.root(), OWN);
        Self {
            number,
            adapter,
            system,
            own: beneath(own, u64::from(number)),
            pieces: system.into_iter().collect(),
            parts: 0,
        }
    }

    /// The next request; none if its prompt would be too long.
    fn step(&mut self, spec: &SessionsSpec, planner: &mut Planner<'_>) -> Option<Draft> {
        let rng = &mut planner.lengths;
        let step_tokens = spec.step_tokens.draw_whole(rng);
        let output_tokens = spec.output_tokens.draw_whole(rng);
        if let Some(compaction) = spec.compaction
            && self.end_tokens() + step_tokens > compaction.prompt_tokens_max.get()
        {
            self.pieces = self.system.into_iter().collect();
            self.grow(compaction.summary_tokens.draw_whole(rng));
        }
        self.grow(step_tokens);
        (self.end_tokens() <= PROMPT_TOKENS_MAX).then(|| Draft {
            pieces: self.pieces.clone(),
            prompt_tokens: self.end_tokens(),
            output_tokens,
            adapter: self.adapter,
            class: 0,
            session: Some(self.number),
        })
    }

    fn grow(&mut self, tokens: u32) {
        self.parts += 1;
        self.pieces.push(Piece {
            // No part is ever repeated, so its number names all before it too.
            key: beneath(self.own, self.parts),
            end_tokens: self.end_tokens() + tokens.max(1),
        });
    }

    fn end_tokens(&self) -> u32 {
        self.pieces.last().map_or(0, |piece| piece.end_tokens)
    }
}

fn name() -> String {
    "sessions".to_owned()
}

const SYSTEMS: u64 = 0;
const OWN: u64 = 1;

/// Steps of a session.
pub const STEPS_MAX: u32 = 1000;

/// A session ends before its prompt is longer than this.
pub const PROMPT_TOKENS_MAX: u32 = 100_000_000;

#[cfg(test)]
mod tests;
