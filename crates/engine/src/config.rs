//! The shape, the rules and the speed of one engine.

use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::BlockSize;

use crate::job::Refusal;

/// The shape, the rules and the speed of one engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// Requests that can run at once.
    pub slots: NonZeroU32,
    /// Blocks of KV memory.
    pub blocks: NonZeroU32,
    /// Tokens in a block.
    pub block_size: BlockSize,
    /// What a step is made of, and what it costs.
    pub batching: Batching,
    /// Room for adapters; where there is none, adapters cost nothing and need no slot.
    pub adapters: Option<AdapterSlots>,
    /// Which part of a request the engine does.
    pub role: Role,
    /// Divides every duration of this configuration.
    pub speed: Speed,
    /// Requests that may wait for a slot; further ones are refused.
    pub waiting_max: usize,
    /// Which events are reported.
    pub reports: Reports,
}

/// What a step is made of, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batching {
    /// As vLLM does it.
    Continuous(Continuous),
    /// As the founding article counts it.
    Article(Article),
}

/// The way of vLLM's scheduler: a step decodes one token for every running request and computes
/// prompts beside that, within a budget. The prefix cache lies in the KV memory, of which a request
/// takes what it fills; if the memory does not suffice, the youngest request is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuous {
    /// Prompt tokens that are computed in a second of prefill.
    pub prefill_tokens_per_second: NonZeroU32,
    /// Prompt tokens that one step computes at most, over all requests; decoding is not counted.
    pub prefill_tokens_per_step_max: NonZeroU32,
    /// What each step costs besides its prefill.
    pub decode_step: Duration,
}

/// The model of the founding article: time goes in ticks of equal length. A request takes the memory
/// of its prompt and its whole output when it is admitted, so none is ever preempted; the prefix
/// cache lies outside the KV memory; requests are admitted in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Article {
    /// The length of a tick.
    pub tick: Duration,
    /// Prompt tokens that each request in prefill computes in a tick.
    pub prefill_tokens_per_tick: NonZeroU32,
    /// Requests that can be in prefill at once, each with a budget of its own. No more than these
    /// are admitted in one tick.
    pub prefills_max: NonZeroU32,
    /// What goes first, prefill or decoding.
    pub order: TickOrder,
    /// Tokens that the prefix cache holds, but for its last piece, which may be larger.
    pub cache_tokens_max: u64,
}

/// What a tick does where one request has a prompt to compute and another one decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickOrder {
    /// Requests are admitted together, once nobody runs any more; all of them are prefilled before
    /// any decodes. A batch is no larger than `prefills_max`.
    Static,
    /// While one is in prefill nobody decodes.
    PrefillFirst,
    /// Both in one tick. A request decodes from the tick after its prefill.
    Chunked,
}

/// Room for adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterSlots {
    /// Adapters that can be resident at once.
    pub slots: NonZeroU32,
    /// What loading one costs; the whole engine stands still for it.
    pub load: Duration,
}

/// Which part of a request an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All of it.
    Both,
    /// The prompt: a request is finished with its first token.
    Prefill,
    /// The output: the prompt comes computed from elsewhere. While it is on its way the request
    /// waits; its memory is taken when it is admitted, and its first step gives a token.
    Decode(Transfer),
}

/// How long a computed prompt is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What each transfer costs besides its tokens.
    pub latency: Duration,
    /// Prompt tokens that one transfer brings in a second; transfers do not slow down each other.
    pub tokens_per_second: NonZeroU32,
}

/// Which events are reported. What is not reported is counted all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reports {
    /// Which tokens.
    pub tokens: TokenReports,
    /// What of the prefix cache.
    pub cache: CacheReports,
}

/// Which tokens are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenReports {
    /// Of each request the first one.
    First,
    /// Every one.
    Every,
}

/// What is reported of the prefix cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheReports {
    /// Nothing.
    Nothing,
    /// What enters it and what leaves it.
    Changes,
}

/// How many times as fast as its configuration says an engine is: finite and above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Speed(f64);

impl EngineConfig {
    /// Tokens that the whole KV memory holds.
    pub const fn tokens_max(&self) -> u64 {
        self.blocks.get() as u64 * self.block_size.tokens().0
    }

    /// Whether the engine ever takes a prompt and an output of these lengths. With
    /// [`Batching::Article`] it does: a request that is larger than the memory runs alone.
    pub fn check(
        &self,
        prompt_tokens: NonZeroU32,
        output_tokens: NonZeroU32,
    ) -> Result<(), Refusal> {
        let tokens = u64::from(prompt_tokens.get()) + u64::from(output_tokens.get());
        // The scheduler counts the tokens of one request in 32 bits.
        let tokens_max = self.tokens_max().min(u64::from(u32::MAX));
        match self.batching {
            Batching::Continuous(_) if tokens > tokens_max => {
                Err(Refusal::Oversized { tokens, tokens_max })
            }
            Batching::Continuous(_) | Batching::Article(_) => Ok(()),
        }
    }

    /// Blocks that hold `tokens` tokens.
    pub(crate) fn blocks_for(&self, tokens: u32) -> u32 {
        let blocks = u64::from(tokens).div_ceil(self.block_size.tokens().0);
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Blocks that `tokens` tokens fill to the end.
    pub(crate) fn full_blocks(&self, tokens: u32) -> usize {
        let blocks = u64::from(tokens) / self.block_size.tokens().0;
        usize::try_from(blocks).unwrap_or(usize::MAX)
    }

    /// Tokens in `blocks` full blocks.
    pub(crate) fn tokens_in(&self, blocks: usize) -> u32 {
        let tokens = (blocks as u64).saturating_mul(self.block_size.tokens().0);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// The slots as a number of requests.
    pub(crate) fn slots(&self) -> usize {
        usize::try_from(self.slots.get()).unwrap_or(usize::MAX)
    }

    /// How long it takes to load `count` adapters, at the engine's speed.
    pub(crate) fn load_time(&self, count: u32) -> Duration {
        match self.adapters {
            Some(slots) if count > 0 => self.speed.of(slots.load.saturating_mul(count)),
            _ => Duration::ZERO,
        }
    }
}

impl Transfer {
    /// How long `tokens` tokens are on their way, at the speed of 1.
    pub(crate) fn time(&self, tokens: u32) -> Duration {
        self.latency
            .saturating_add(time_of(tokens, self.tokens_per_second))
    }
}

impl Speed {
    /// As fast as the configuration says.
    pub const ONE: Self = Self(1.0);

    /// A speed of `factor`; `None` unless it is finite and above 0.
    pub fn new(factor: f64) -> Option<Self> {
        (factor.is_finite() && factor > 0.0).then_some(Self(factor))
    }

    /// What `duration` becomes at this speed, to the nanosecond.
    pub(crate) fn of(self, duration: Duration) -> Duration {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // 64-bit floats count the nanoseconds of a hundred days exactly.
        let nanos = (nanos as f64 / self.0).round();
        Duration::from_nanos(nanos as u64)
    }
}

/// How long `tokens` tokens take at a rate.
pub(crate) fn time_of(tokens: u32, tokens_per_second: NonZeroU32) -> Duration {
    let nanos = u64::from(tokens) * NANOS_PER_SECOND / u64::from(tokens_per_second.get());
    Duration::from_nanos(nanos)
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_finite_and_above_zero() {
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Speed::new(factor), None);
        }
        assert_eq!(Speed::new(1.0), Some(Speed::ONE));
    }

    #[test]
    fn a_speed_divides_a_duration_to_the_nanosecond() {
        let odd = Duration::from_nanos(86_400_000_000_001);
        assert_eq!(Speed::ONE.of(odd), odd);
        let speed = |factor| Speed::new(factor).unwrap();
        assert_eq!(speed(4.0).of(Duration::from_nanos(10)).as_nanos(), 3);
        assert_eq!(speed(0.5).of(odd), odd * 2);
        let longest = Duration::from_nanos(u64::MAX);
        assert_eq!(speed(f64::MIN_POSITIVE).of(Duration::MAX), longest);
    }
}
