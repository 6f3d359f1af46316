//! What the command line says of the engine, in the model's words.

use core::time::Duration;

use anyhow::{Context as _, Result};
use pointsman_engine::config::{
    AdapterSlots, Batching, CacheReports, Continuous, EngineConfig, Reports, Role, TokenReports,
    Transfer,
};

use super::adapters::{Adapters, Load};
use super::{Arguments, RoleName};

impl Arguments {
    /// The engine.
    pub(super) fn config(&self) -> EngineConfig {
        EngineConfig {
            slots: self.slots,
            blocks: self.blocks,
            block_size: self.block_tokens,
            batching: Batching::Continuous(Continuous {
                prefill_tokens_per_second: self.prefill_tokens_per_second,
                prefill_tokens_per_step_max: self.prefill_tokens_per_step,
                decode_step: milliseconds(self.decode_step_ms),
            }),
            adapters: self.adapter_slots.map(|slots| AdapterSlots {
                slots,
                load: milliseconds(self.adapter_load_ms),
            }),
            role: match self.role {
                RoleName::Both => Role::Both,
                RoleName::Prefill => Role::Prefill,
                RoleName::Decode => Role::Decode(Transfer {
                    latency: milliseconds(self.transfer_ms),
                    tokens_per_second: self.transfer_tokens_per_second,
                }),
            },
            speed: self.speed,
            waiting_max: WAITING_MAX,
            reports: Reports {
                tokens: TokenReports::Every,
                cache: CacheReports::Nothing,
            },
        }
    }

    /// The adapters that are loaded from the start.
    pub(super) fn adapters(&self) -> Result<Adapters> {
        let mut adapters = Adapters::default();
        for name in &self.lora {
            adapters
                .load(Load::of_name(name), &self.model)
                .with_context(|| format!("cannot load the adapter `{name}`"))?;
        }
        Ok(adapters)
    }
}

fn milliseconds(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds / 1000.0)
}

/// Requests beyond these are answered 503.
const WAITING_MAX: usize = 65_536;
