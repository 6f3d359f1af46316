//! What engines call their metrics.

use pointsman_domain::load::LoadSample;
use pointsman_domain::units::Unit;

use crate::exposition::{Labels, Sample, visit_samples};

/// The names that one kind of engine uses. Of several names for one fact, the first that the page
/// has counts: engines rename metrics, and pools hold engines of several versions.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// Gauge of requests in the queue.
    pub waiting: &'static [&'static str],
    /// Gauge of requests in the batch.
    pub running: &'static [&'static str],
    /// Gauge of the share of KV blocks in use.
    pub kv_usage: &'static [&'static str],
    /// Metric whose labels describe the KV cache.
    pub cache_info: &'static str,
    /// Its label for the tokens of a block.
    pub block_tokens_label: &'static str,
    /// Its label for the number of blocks.
    pub blocks_label: &'static str,
}

/// vLLM's names, the present ones before the older ones.
pub const VLLM: Mapping = Mapping {
    waiting: &["vllm:num_requests_waiting"],
    running: &["vllm:num_requests_running"],
    kv_usage: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
    cache_info: "vllm:cache_config_info",
    block_tokens_label: "block_size",
    blocks_label: "num_gpu_blocks",
};

impl Mapping {
    /// Reads one page of metrics.
    ///
    /// A page of several engines or ranks is read as one: queues, batches and blocks are added up,
    /// and the fullest cache counts. What is missing or makes no sense is `None`.
    pub fn read(&self, page: &[u8]) -> LoadSample {
        let mut tally = Tally::default();
        visit_samples(
            page,
            |name| self.fact(name),
            |sample| self.count(&mut tally, &sample),
        );
        LoadSample {
            waiting: tally.waiting.known(),
            running: tally.running.known(),
            kv_usage: tally.kv_usage.known().map(Unit::clamped),
            kv_block_tokens: tally.block_tokens.known(),
            kv_blocks: tally.blocks.known(),
            process_start_seconds: tally.process_start.known(),
        }
    }

    fn fact(&self, name: &[u8]) -> Option<Fact> {
        // OpenMetrics writers put this behind the name of what they take for a counter.
        let (name, suffix) = match name.strip_suffix(b"_total") {
            Some(name) => (name, 1),
            None => (name, 0),
        };
        let rank_in = |names: &[&str]| {
            let rank = names.iter().position(|known| known.as_bytes() == name)?;
            Some(2 * rank + suffix)
        };
        if let Some(rank) = rank_in(self.waiting) {
            Some(Fact::Waiting(rank))
        } else if let Some(rank) = rank_in(self.running) {
            Some(Fact::Running(rank))
        } else if let Some(rank) = rank_in(self.kv_usage) {
            Some(Fact::KvUsage(rank))
        } else if name == self.cache_info.as_bytes() {
            Some(Fact::CacheInfo)
        } else if name == PROCESS_START.as_bytes() {
            Some(Fact::ProcessStart)
        } else {
            None
        }
    }

    fn count(&self, tally: &mut Tally, sample: &Sample<'_, Fact>) {
        // Nothing that is read here can be below zero.
        if sample.value < 0.0 {
            return;
        }
        match sample.family {
            Fact::Waiting(rank) => tally.waiting.add(rank, count(sample.value), sum),
            Fact::Running(rank) => tally.running.add(rank, count(sample.value), sum),
            Fact::KvUsage(rank) => tally.kv_usage.add(rank, Some(sample.value), f64::max),
            Fact::ProcessStart => tally.process_start.add(0, Some(sample.value), f64::max),
            Fact::CacheInfo => {
                let number = |label: &str| label_number(sample.labels, label);
                tally
                    .block_tokens
                    .add(0, number(self.block_tokens_label), u32::max);
                tally.blocks.add(0, number(self.blocks_label), sum);
            }
        }
    }
}

/// What a metric tells, with the rank of the name that was used.
#[derive(Clone, Copy)]
enum Fact {
    Waiting(usize),
    Running(usize),
    KvUsage(usize),
    CacheInfo,
    ProcessStart,
}

/// All facts of a page.
#[derive(Default)]
struct Tally {
    waiting: Best<u32>,
    running: Best<u32>,
    kv_usage: Best<f64>,
    block_tokens: Best<u32>,
    blocks: Best<u32>,
    process_start: Best<f64>,
}

/// The values that were found under the name of the lowest rank, folded into one.
#[derive(Default)]
struct Best<T>(Option<(usize, T)>);

impl<T: Copy> Best<T> {
    fn add(&mut self, rank: usize, value: Option<T>, fold: impl Fn(T, T) -> T) {
        let Some(value) = value else {
            return;
        };
        self.0 = match self.0 {
            Some((best, old)) if best == rank => Some((rank, fold(old, value))),
            Some((best, old)) if best < rank => Some((best, old)),
            _ => Some((rank, value)),
        };
    }

    fn known(&self) -> Option<T> {
        self.0.map(|(_, value)| value)
    }
}

/// A number of requests; `None` for what no engine can hold.
fn count(value: f64) -> Option<u32> {
    (value <= f64::from(u32::MAX)).then_some(value.round() as u32)
}

const fn sum(a: u32, b: u32) -> u32 {
    a.saturating_add(b)
}

/// A number in a label; `None` for 0 and for words, such as `None` before the cache exists.
fn label_number(labels: Labels<'_>, name: &str) -> Option<u32> {
    let text = core::str::from_utf8(labels.value(name.as_bytes())?).ok()?;
    text.parse().ok().filter(|&number| number > 0)
}

/// The metric that client libraries write by themselves.
const PROCESS_START: &str = "process_start_time_seconds";

#[cfg(test)]
mod tests;
