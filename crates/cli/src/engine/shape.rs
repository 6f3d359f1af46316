//! What the command line says of the engine, in the model's words.

use core::num::NonZeroU32;
use core::time::Duration;

use anyhow::{Context as _, Result};
use clap::error::ErrorKind;
use pointsman_engine::config::{
    AdapterSlots, Batching, CacheReports, Continuous, EngineConfig, Reports, Role, TokenReports,
    Transfer,
};

use super::adapters::{Adapters, Load};
use super::{Arguments, RoleName};

impl Arguments {
    /// The engine, or what is wrong with the command line.
    pub(super) fn config(&self) -> Result<EngineConfig, clap::Error> {
        Ok(EngineConfig {
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
            role: self.role()?,
            speed: self.speed,
            waiting_max: WAITING_MAX,
            reports: Reports {
                tokens: TokenReports::Every,
                cache: CacheReports::Nothing,
            },
        })
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

    fn role(&self) -> Result<Role, clap::Error> {
        let (latency, rate) = (self.transfer_ms, self.transfer_tokens_per_second);
        match self.role {
            RoleName::Decode => Ok(Role::Decode(Transfer {
                latency: milliseconds(latency.unwrap_or(TRANSFER_MS)),
                tokens_per_second: rate.unwrap_or(TRANSFER_TOKENS_PER_SECOND),
            })),
            RoleName::Both | RoleName::Prefill if latency.is_some() || rate.is_some() => {
                let message = "--transfer-ms and --transfer-tokens-per-second need --role decode\n";
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, message))
            }
            RoleName::Both => Ok(Role::Both),
            RoleName::Prefill => Ok(Role::Prefill),
        }
    }
}

fn milliseconds(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds / 1000.0)
}

/// What the help of `--transfer-ms` says.
const TRANSFER_MS: f64 = 5.0;

/// What the help of `--transfer-tokens-per-second` says.
const TRANSFER_TOKENS_PER_SECOND: NonZeroU32 = NonZeroU32::new(100_000).unwrap();

/// Requests beyond these are answered 503.
const WAITING_MAX: usize = 65_536;
