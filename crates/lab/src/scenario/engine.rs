//! The engines of a scenario.

use core::num::NonZeroU32;

use pointsman_domain::block::BlockSize;
use pointsman_engine::config::{
    AdapterSlots, Article, Batching, CacheReports, Continuous, EngineConfig, Reports, Role, Speed,
    TickOrder, TokenReports,
};
use serde::Deserialize;

use super::units::Millis;

/// The engines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// The model and size of each.
    pub engine: Engine,
    /// Groups of engines, in the order of their endpoints.
    pub groups: Vec<Group>,
}

/// Engines that are alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The first part of its measures' names.
    pub name: String,
    /// How many.
    pub endpoints: NonZeroU32,
    /// How many times as fast as the scenario's engine.
    #[serde(default)]
    pub speed: Factor,
    /// When they join the pool.
    #[serde(default)]
    pub join_ms: Millis,
    /// When they leave it; requests there go on.
    #[serde(default)]
    pub leave_ms: Option<Millis>,
}

/// One engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// How it works.
    pub mode: Mode,
    /// Requests that run at once.
    pub slots: NonZeroU32,
    /// Blocks of KV memory.
    pub kv_blocks: NonZeroU32,
    /// Tokens in a block.
    pub block_tokens: NonZeroU32,
    /// Adapters that are resident at once; without it adapters cost nothing.
    #[serde(default)]
    pub adapter_slots: Option<NonZeroU32>,
    /// How long it takes to load an adapter.
    #[serde(default)]
    pub adapter_load_ms: Millis,
}

/// How many times as fast as usual.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Factor(Speed);

/// How an engine works.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mode {
    /// The tick model of the founding article.
    Article {
        /// Length of a tick.
        tick_ms: Millis,
        /// Prompt tokens that one request computes in a tick.
        prefill_tokens_per_tick: NonZeroU32,
        /// Requests that prefill at once.
        #[serde(default = "one")]
        prefills: NonZeroU32,
        /// What a tick may hold.
        #[serde(default)]
        order: Order,
        /// Tokens of the prefix cache, which is beside the KV memory.
        cache_tokens: u64,
    },
    /// Continuous batching with chunked prefill, as vLLM does it.
    Continuous {
        /// Prompt tokens computed in a second.
        prefill_tokens_per_second: NonZeroU32,
        /// Prompt tokens computed in one step at most.
        prefill_tokens_per_step: NonZeroU32,
        /// What a step takes besides its prefill.
        decode_step_ms: Millis,
    },
}

/// What a tick of the article's engine may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Batches that are filled once and run to their end.
    Static,
    /// Prefill, or else decoding.
    #[default]
    PrefillFirst,
    /// Prefill and decoding together.
    Chunked,
}

impl Fleet {
    /// How many endpoints there are, early or late.
    pub fn endpoints(&self) -> usize {
        self.groups
            .iter()
            .map(|group| group.endpoints.get() as usize)
            .sum()
    }

    /// The group of each endpoint.
    pub(crate) fn members(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.groups.iter().enumerate().flat_map(|(index, group)| {
            core::iter::repeat_n((index, group), group.endpoints.get() as usize)
        })
    }
}

impl Engine {
    /// The model's configuration for a member of `group`.
    pub(crate) fn config(&self, group: &Group, cache: CacheReports) -> EngineConfig {
        let adapters = self.adapter_slots.map(|slots| AdapterSlots {
            slots,
            load: self.adapter_load_ms.duration(),
        });
        EngineConfig {
            slots: self.slots,
            blocks: self.kv_blocks,
            block_size: self.block_size(),
            batching: self.mode.batching(),
            adapters,
            role: Role::Both,
            speed: group.speed.0,
            waiting_max: WAITING_MAX,
            reports: Reports {
                tokens: TokenReports::First,
                cache,
            },
        }
    }

    /// Tokens in a block.
    pub(crate) fn block_size(&self) -> BlockSize {
        BlockSize::new(self.block_tokens.get()).unwrap_or(BlockSize::DEFAULT)
    }
}

impl Mode {
    fn batching(&self) -> Batching {
        match *self {
            Self::Article {
                tick_ms,
                prefill_tokens_per_tick,
                prefills,
                order,
                cache_tokens,
            } => Batching::Article(Article {
                tick: tick_ms.duration(),
                prefill_tokens_per_tick,
                prefills_max: prefills,
                order: order.into(),
                cache_tokens_max: cache_tokens,
            }),
            Self::Continuous {
                prefill_tokens_per_second,
                prefill_tokens_per_step,
                decode_step_ms,
            } => Batching::Continuous(Continuous {
                prefill_tokens_per_second,
                prefill_tokens_per_step_max: prefill_tokens_per_step,
                decode_step: decode_step_ms.duration(),
            }),
        }
    }

    /// Tokens of prompts that the engine can keep, where that is not its KV memory.
    pub(crate) const fn cache_tokens(&self) -> Option<u64> {
        match self {
            Self::Article { cache_tokens, .. } => Some(*cache_tokens),
            Self::Continuous { .. } => None,
        }
    }
}

impl Default for Factor {
    fn default() -> Self {
        Self(Speed::ONE)
    }
}

impl TryFrom<f64> for Factor {
    type Error = String;

    fn try_from(factor: f64) -> Result<Self, String> {
        Speed::new(factor)
            .map(Self)
            .ok_or_else(|| format!("expected a factor above 0, got {factor}"))
    }
}

impl From<Order> for TickOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Static => Self::Static,
            Order::PrefillFirst => Self::PrefillFirst,
            Order::Chunked => Self::Chunked,
        }
    }
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// Requests beyond these are refused; no scenario that is not broken comes near.
const WAITING_MAX: usize = 1 << 20;
