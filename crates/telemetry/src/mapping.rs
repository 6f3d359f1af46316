//! What engines call their metrics, and what a page says by these names.

use pointsman_domain::adapter::{AdapterKey, Adapters};
use pointsman_domain::load::{Counters, EngineSample, LoadSample};
use pointsman_domain::units::Unit;
use smallvec::SmallVec;

use crate::exposition::{Labels, Sample, visit_samples};
use crate::families::Families;
use crate::metric_spec::MetricSpec;

/// The names that one kind of engine uses. Of several names for one fact, the first that the page
/// has counts: engines rename metrics, and pools hold engines of several versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineNames {
    /// Gauge of requests in the queue.
    pub waiting: Vec<MetricSpec>,
    /// Gauge of requests in the batch.
    pub running: Vec<MetricSpec>,
    /// Gauge of the share of KV blocks in use.
    pub kv_usage: Vec<MetricSpec>,
    /// Metric whose labels describe the KV cache.
    pub cache_info: Vec<MetricSpec>,
    /// Its label for the tokens of a block.
    pub block_tokens_label: Box<str>,
    /// Its label for the number of blocks.
    pub blocks_label: Box<str>,
    /// Gauge of the tokens of a block.
    pub block_tokens: Vec<MetricSpec>,
    /// Gauge of the number of blocks.
    pub blocks: Vec<MetricSpec>,
    /// Metric whose labels name the adapters, and whose value is the time of that.
    pub adapters: Vec<MetricSpec>,
    /// Counters, each with what it counts.
    pub counters: Vec<(Counted, MetricSpec)>,
    /// The label that tells the ranks of one page apart.
    pub rank_label: Option<Box<str>>,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Tokens of prompts.
    PromptTokens,
    /// Of these, tokens that came from the cache.
    CachedTokens,
    /// Tokens of answers.
    OutputTokens,
    /// Seconds that requests were in prefill.
    PrefillSeconds,
    /// Seconds that requests were in decode.
    DecodeSeconds,
    /// Requests that lost their place in the batch.
    Preemptions,
    /// Requests that ended.
    Finished,
}

/// Reads pages of one kind of engine.
#[derive(Clone, Debug)]
pub struct Mapping {
    families: Families<SmallVec<[Term; 1]>>,
    block_tokens_label: Box<str>,
    blocks_label: Box<str>,
    rank_label: Option<Box<str>>,
}

impl Mapping {
    /// The reader of pages that use these names.
    pub fn new(names: &EngineNames) -> Self {
        let mut terms: Vec<(Box<str>, Term)> = Vec::new();
        let facts = [
            (Fact::Waiting, &names.waiting),
            (Fact::Running, &names.running),
            (Fact::KvUsage, &names.kv_usage),
            (Fact::CacheInfo, &names.cache_info),
            (Fact::BlockTokens, &names.block_tokens),
            (Fact::Blocks, &names.blocks),
            (Fact::Adapters, &names.adapters),
        ];
        for (fact, specs) in facts {
            for (rank, spec) in specs.iter().enumerate() {
                add(&mut terms, fact, rank, spec);
            }
        }
        for (rank, (counted, spec)) in names.counters.iter().enumerate() {
            add(&mut terms, Fact::Counter(*counted), rank, spec);
        }
        add(
            &mut terms,
            Fact::ProcessStart,
            0,
            &MetricSpec::named(PROCESS_START),
        );
        terms.sort_by(|(a, _), (b, _)| a.cmp(b));
        let groups = terms.chunk_by(|(a, _), (b, _)| a == b);
        let families = groups.filter_map(|group| {
            let (name, _) = group.first()?;
            Some((
                name.clone(),
                group.iter().map(|(_, term)| term.clone()).collect(),
            ))
        });
        Self {
            families: Families::new(families),
            block_tokens_label: names.block_tokens_label.clone(),
            blocks_label: names.blocks_label.clone(),
            rank_label: names.rank_label.clone(),
        }
    }

    /// Reads one page of metrics.
    ///
    /// A page of several engines or ranks is read as one, unless a `rank` is asked for: queues,
    /// batches, blocks and counters are added up, and the fullest cache counts. What is missing or
    /// makes no sense is `None`.
    pub fn read(&self, page: &[u8], rank: Option<u32>) -> EngineSample {
        let mut tally = Tally::default();
        visit_samples(page, &self.families, |terms, sample| {
            if self.is_of_another_rank(sample.labels, rank) {
                return;
            }
            for term in terms {
                if term.admits(sample.labels) {
                    self.count(&mut tally, term, &sample);
                }
            }
        });
        tally.into_sample()
    }

    fn is_of_another_rank(&self, labels: Labels<'_>, rank: Option<u32>) -> bool {
        let told = || {
            let label = self.rank_label.as_ref()?;
            number(labels.value(label.as_bytes())?)
        };
        rank.is_some_and(|rank| told().is_some_and(|told: u32| told != rank))
    }

    fn count(&self, tally: &mut Tally, term: &Term, sample: &Sample<'_>) {
        // Nothing that is read here can be below zero.
        if sample.value < 0.0 {
            return;
        }
        let (rank, value) = (term.rank, sample.value);
        match term.fact {
            Fact::Waiting => tally.waiting.add(rank, count(value), sum),
            Fact::Running => tally.running.add(rank, count(value), sum),
            Fact::KvUsage => tally.kv_usage.add(rank, Some(value), f64::max),
            Fact::ProcessStart => tally.process_start.add(rank, Some(value), f64::max),
            Fact::BlockTokens => tally.block_tokens.add(rank, size(value), u32::max),
            Fact::Blocks => tally.blocks.add(rank, size(value), sum),
            Fact::CacheInfo => {
                let number = |label: &str| {
                    let number = number(sample.labels.value(label.as_bytes())?);
                    // 0 and words stand there before the cache exists.
                    number.filter(|&number| number > 0)
                };
                let tokens = number(&self.block_tokens_label);
                tally.block_tokens.add(rank, tokens, u32::max);
                tally.blocks.add(rank, number(&self.blocks_label), sum);
            }
            Fact::Adapters => tally.adapters.note(value, sample.labels),
            Fact::Counter(counted) => {
                tally.counter(counted).add(rank, Some(value), |a, b| a + b);
            }
        }
    }
}

/// Adds a metric under its name, and under the name that OpenMetrics writers give it where they take
/// it for a counter.
fn add(terms: &mut Vec<(Box<str>, Term)>, fact: Fact, rank: usize, spec: &MetricSpec) {
    let bare = spec.name.strip_suffix(TOTAL).unwrap_or(&spec.name);
    for (suffix, name) in [bare.to_owned(), format!("{bare}{TOTAL}")]
        .into_iter()
        .enumerate()
    {
        let term = Term {
            fact,
            rank: 2 * rank + suffix,
            labels: spec.labels.clone(),
        };
        terms.push((name.into(), term));
    }
}

/// One thing that a metric tells.
#[derive(Clone, Debug)]
struct Term {
    fact: Fact,
    /// The lowest that the page has counts.
    rank: usize,
    labels: Vec<(Box<str>, Box<str>)>,
}

impl Term {
    fn admits(&self, labels: Labels<'_>) -> bool {
        let is_there = |(label, value): &(Box<str>, Box<str>)| {
            labels.value(label.as_bytes()) == Some(value.as_bytes())
        };
        self.labels.iter().all(is_there)
    }
}

#[derive(Clone, Copy, Debug)]
enum Fact {
    Waiting,
    Running,
    KvUsage,
    CacheInfo,
    BlockTokens,
    Blocks,
    Adapters,
    Counter(Counted),
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
    adapters: NewestAdapters,
    counters: [Best<f64>; 7],
}

impl Tally {
    const fn counter(&mut self, counted: Counted) -> &mut Best<f64> {
        let [prompt, cached, output, prefill, decode, preempted, finished] = &mut self.counters;
        match counted {
            Counted::PromptTokens => prompt,
            Counted::CachedTokens => cached,
            Counted::OutputTokens => output,
            Counted::PrefillSeconds => prefill,
            Counted::DecodeSeconds => decode,
            Counted::Preemptions => preempted,
            Counted::Finished => finished,
        }
    }

    fn into_sample(mut self) -> EngineSample {
        let mut counter = |counted| self.counter(counted).known();
        let counters = Counters {
            prompt_tokens: counter(Counted::PromptTokens),
            cached_tokens: counter(Counted::CachedTokens),
            output_tokens: counter(Counted::OutputTokens),
            prefill_seconds: counter(Counted::PrefillSeconds),
            decode_seconds: counter(Counted::DecodeSeconds),
            preemptions: counter(Counted::Preemptions),
            finished: counter(Counted::Finished),
        };
        EngineSample {
            load: LoadSample {
                waiting: self.waiting.known(),
                running: self.running.known(),
                kv_usage: self.kv_usage.known().map(Unit::clamped),
                kv_block_tokens: self.block_tokens.known(),
                kv_blocks: self.blocks.known(),
                process_start_seconds: self.process_start.known(),
            },
            adapters: self.adapters.adapters,
            counters,
        }
    }
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

/// The adapters of the latest series. An engine writes another series whenever they change, and never
/// takes back the ones before.
#[derive(Default)]
struct NewestAdapters {
    told_at: f64,
    adapters: Option<Adapters>,
}

impl NewestAdapters {
    fn note(&mut self, told_at: f64, labels: Labels<'_>) {
        if self.adapters.is_some() && told_at <= self.told_at {
            return;
        }
        let named = |label: &str| {
            let names = labels.value(label.as_bytes()).unwrap_or_default();
            let names = names.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
            let names = names.filter(|name| !name.is_empty());
            names.take(ADAPTERS_MAX).map(AdapterKey::of_bytes).collect()
        };
        self.told_at = told_at;
        self.adapters = Some(Adapters {
            running: named("running_lora_adapters"),
            waiting: named("waiting_lora_adapters"),
            slots: labels.value(b"max_lora").and_then(number),
        });
    }
}

/// A number of requests; `None` for what no engine can hold.
fn count(value: f64) -> Option<u32> {
    (value <= f64::from(u32::MAX)).then_some(value.round() as u32)
}

/// A size, which is never 0 once it is known.
fn size(value: f64) -> Option<u32> {
    count(value).filter(|&size| size > 0)
}

const fn sum(a: u32, b: u32) -> u32 {
    a.saturating_add(b)
}

fn number(text: &[u8]) -> Option<u32> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// The metric that client libraries write by themselves.
const PROCESS_START: &str = "process_start_time_seconds";

/// What OpenMetrics puts behind the name of a counter.
const TOTAL: &str = "_total";

/// Adapters of one list that are read; no engine has so many at once.
const ADAPTERS_MAX: usize = 1024;

#[cfg(test)]
mod tests;
