//! What `pointsman up` asks of the engines: chats of several turns, planned ahead from a seed.
//!
//! The plan does not depend on how fast anything answers, so two runs with one seed are offered the
//! same messages at the same times.

mod text;

use core::time::Duration;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

/// A kind of load. Its file, `workloads/chat.yaml`, explains each field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The system prompts that chats share.
    pub system_prompts: SystemPrompts,
    /// Mean rate at which chats start, in model time.
    pub sessions_per_second: f64,
    /// Messages of the user in a chat.
    pub turns: Range,
    /// Length of a message of the user.
    pub user_tokens: Range,
    /// Length of an answer.
    pub answer_tokens: Range,
    /// Model milliseconds from one message of the user to the next.
    pub turn_gap_ms: Range,
}

/// The system prompts that chats share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPrompts {
    /// How many there are.
    pub count: u32,
    /// How long each is.
    pub tokens: u32,
    /// How uneven their popularity is: that of the n-th is 1/n to this power.
    pub zipf_exponent: f64,
}

/// An even distribution over whole numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The smallest number.
    pub min: u32,
    /// The largest number.
    pub max: u32,
}

impl Workload {
    /// The workload that is used unless a file is given.
    pub fn built_in() -> Result<Self> {
        Self::parse(BUILT_IN).context("the built-in workload is invalid")
    }

    /// Reads the text of a workload file. Fields that are unknown or out of range are errors.
    pub fn parse(text: &str) -> Result<Self> {
        let workload: Self = serde_yaml::from_str(text)?;
        workload.check()?;
        Ok(workload)
    }

    fn check(&self) -> Result<()> {
        let prompts = &self.system_prompts;
        within("system_prompts.count", prompts.count, 1, PROMPTS_MAX)?;
        within("system_prompts.tokens", prompts.tokens, 1, TOKENS_MAX)?;
        ensure!(
            (0.0..=10.0).contains(&prompts.zipf_exponent),
            "system_prompts.zipf_exponent must be within 0 and 10"
        );
        ensure!(
            self.sessions_per_second > 0.0 && self.sessions_per_second <= RATE_MAX,
            "sessions_per_second must be above 0 and at most {RATE_MAX}"
        );
        for (name, range, min, max) in [
            ("turns", self.turns, 1, TURNS_MAX),
            ("user_tokens", self.user_tokens, 1, TOKENS_MAX),
            ("answer_tokens", self.answer_tokens, 1, TOKENS_MAX),
            ("turn_gap_ms", self.turn_gap_ms, 0, GAP_MS_MAX),
        ] {
            within(&format!("{name}.min"), range.min, min, max)?;
            within(&format!("{name}.max"), range.max, range.min, max)?;
        }
        Ok(())
    }
}

/// One chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which of the system prompts it has; 0 is the most popular one.
    pub system_prompt_index: usize,
    /// That system prompt.
    pub system_prompt: Arc<str>,
    /// The messages of the user, in order. Never empty.
    pub turns: Vec<Turn>,
}

/// One message of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When it is sent, in model time from the start of the run.
    pub at: Duration,
    /// What it says.
    pub message: String,
    /// How long the answer shall be.
    pub answer_tokens: u32,
}

/// The chats that start within `duration` of model time, in order, with the messages that are due in
/// it. Equal arguments give an equal plan.
pub fn plan(workload: &Workload, seed: u64, duration: Duration) -> Vec<Session> {
    let prompts = system_prompts(&workload.system_prompts, seed);
    let popularity = cumulative_popularity(&workload.system_prompts);
    let mut arrivals = rng(seed, Stage::Arrivals);
    let mut sessions = Vec::new();
    let mut at = next_arrival(Duration::ZERO, workload, &mut arrivals);
    while at < duration && sessions.len() < SESSIONS_MAX {
        let draw: f64 = arrivals.random();
        let index = popularity.iter().filter(|&&below| below <= draw).count();
        if let Some(prompt) = prompts.get(index) {
            sessions.push(Session {
                system_prompt_index: index,
                system_prompt: Arc::clone(prompt),
                turns: turns(workload, at, duration, &mut arrivals),
            });
        }
        at = next_arrival(at, workload, &mut arrivals);
    }
    sessions
}

fn turns(
    workload: &Workload,
    start: Duration,
    duration: Duration,
    rng: &mut Pcg64Mcg,
) -> Vec<Turn> {
    let mut at = start;
    let mut turns = Vec::new();
    for _ in 0..workload.turns.draw(rng) {
        // Every turn is drawn, so that a longer run begins as a shorter one does.
        let turn = Turn {
            at,
            message: text::words(workload.user_tokens.draw(rng), rng),
            answer_tokens: workload.answer_tokens.draw(rng),
        };
        if at < duration {
            turns.push(turn);
        }
        at += Duration::from_millis(u64::from(workload.turn_gap_ms.draw(rng)));
    }
    turns
}

/// The next moment of a Poisson process.
fn next_arrival(after: Duration, workload: &Workload, rng: &mut Pcg64Mcg) -> Duration {
    let draw: f64 = rng.random();
    after + Duration::from_secs_f64(-(1.0 - draw).ln() / workload.sessions_per_second)
}

fn system_prompts(prompts: &SystemPrompts, seed: u64) -> Vec<Arc<str>> {
    let mut rng = rng(seed, Stage::SystemPrompts);
    (0..prompts.count)
        .map(|_| Arc::from(text::words(prompts.tokens, &mut rng)))
        .collect()
}

/// For each system prompt the share of chats that have it or a more popular one; the last is 1.
fn cumulative_popularity(prompts: &SystemPrompts) -> Vec<f64> {
    let weight = |rank: u32| f64::from(rank).powf(-prompts.zipf_exponent);
    let total: f64 = (1..=prompts.count).map(weight).sum();
    let mut sum = 0.0;
    let mut shares: Vec<f64> = (1..=prompts.count)
        .map(|rank| {
            sum += weight(rank) / total;
            sum
        })
        .collect();
    // Rounding must not leave a gap at the end.
    if let Some(last) = shares.last_mut() {
        *last = 1.0;
    }
    shares
}

impl Range {
    fn draw(self, rng: &mut Pcg64Mcg) -> u32 {
        rng.random_range(self.min..=self.max)
    }
}

/// What a random sequence is for: each has its own, so that a change in one leaves the others.
#[derive(Clone, Copy)]
enum Stage {
    Arrivals,
    SystemPrompts,
}

fn rng(seed: u64, stage: Stage) -> Pcg64Mcg {
    let salt = match stage {
        Stage::Arrivals => 0x9E37_79B9_7F4A_7C15,
        Stage::SystemPrompts => 0xD1B5_4A32_D192_ED03,
    };
    Pcg64Mcg::seed_from_u64(seed ^ salt)
}

fn within(name: &str, value: u32, min: u32, max: u32) -> Result<()> {
    ensure!(
        (min..=max).contains(&value),
        "{name} is {value} and must be within {min} and {max}"
    );
    Ok(())
}

const BUILT_IN: &str = include_str!("../workloads/chat.yaml");

const PROMPTS_MAX: u32 = 10_000;
const TOKENS_MAX: u32 = 200_000;
const TURNS_MAX: u32 = 1_000;
const GAP_MS_MAX: u32 = 3_600_000;
const RATE_MAX: f64 = 10_000.0;
const SESSIONS_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests;
