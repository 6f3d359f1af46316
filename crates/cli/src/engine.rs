//! `pointsman engine`: an HTTP server with the interface of vLLM over the engine model.
//!
//! It stands in for a real engine in the demo and in tests: the timing, the memory, the prefix cache
//! and the metrics are those of the model in `pointsman-engine`, the text is filler.

mod adapters;
mod answer;
mod ask;
mod completion;
mod driver;
mod exposition;
pub mod fault;
mod histogram;
mod lora_info;
mod measures;
mod models;
mod orca;
mod pace;
mod problem;
mod prompt;
mod routes;
pub mod server;
mod shape;
mod stream;

use core::net::SocketAddr;
use core::num::NonZeroU32;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use pointsman_domain::block::BlockSize;
use pointsman_engine::config::Speed;
use tokio::signal::unix::{SignalKind, signal};

use self::fault::Fault;
use self::server::Server;

/// Run a stand-in for an inference engine, with the HTTP interface of vLLM.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Address to listen on; with port 0 a free port is taken. Once it listens, one line that ends
    /// with the address is printed.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub listen: SocketAddr,
    /// Name given in the `x-pointsman-engine` header of each response [default: the address].
    #[arg(long)]
    pub name: Option<String>,
    /// Name under which the model is served; may be repeated, the first one labels the metrics.
    #[arg(long, default_value = "stand-in")]
    pub model: Vec<String>,
    /// Requests that run at once; further ones wait.
    #[arg(long, default_value = "32")]
    pub slots: NonZeroU32,
    /// Blocks of KV memory, for running requests and the prefix cache together.
    #[arg(long, default_value = "8192")]
    pub blocks: NonZeroU32,
    /// Tokens in a block.
    #[arg(long, value_name = "TOKENS", default_value = "16", value_parser = block_size)]
    pub block_tokens: BlockSize,
    /// Prompt tokens computed per second.
    #[arg(long, value_name = "TOKENS", default_value = "8000")]
    pub prefill_tokens_per_second: NonZeroU32,
    /// Most prompt tokens computed in one step.
    #[arg(long, value_name = "TOKENS", default_value = "2048")]
    pub prefill_tokens_per_step: NonZeroU32,
    /// Milliseconds that a step takes besides its prefill.
    #[arg(long, value_name = "MILLISECONDS", default_value = "20", value_parser = milliseconds)]
    pub decode_step_ms: f64,
    /// Adapters that running requests can use at once; a request whose adapter finds no slot waits.
    /// Without this there are no adapters.
    #[arg(long, value_name = "COUNT")]
    pub adapter_slots: Option<NonZeroU32>,
    /// Milliseconds for which the engine stands still to bring an adapter into a slot.
    #[arg(long, value_name = "MILLISECONDS", default_value = "0", value_parser = milliseconds)]
    #[arg(requires = "adapter_slots")]
    pub adapter_load_ms: f64,
    /// Adapter that is loaded from the start; may be repeated. `/v1/load_lora_adapter` and
    /// `/v1/unload_lora_adapter` change them at any time.
    #[arg(long, value_name = "NAME", requires = "adapter_slots")]
    pub lora: Vec<String>,
    /// Which part of a request the engine does.
    #[arg(long, value_enum, default_value_t = RoleName::Both)]
    pub role: RoleName,
    /// With `--role decode`: milliseconds that each prompt is on its way besides its tokens
    /// [default: 5].
    #[arg(long, value_name = "MILLISECONDS", value_parser = milliseconds)]
    pub transfer_ms: Option<f64>,
    /// With `--role decode`: prompt tokens that one transfer brings per second [default: 100000].
    #[arg(long, value_name = "TOKENS")]
    pub transfer_tokens_per_second: Option<NonZeroU32>,
    /// How many times as fast as the flags above say this engine computes, loads adapters and
    /// receives prompts. It makes one engine differ from the others of a pool.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub speed: Speed,
    /// How many times as fast as real time the engine runs. It makes a whole set-up quicker, and is
    /// meant to be equal for all engines of a pool; with `--speed` both count. Clients and metrics
    /// see real time, so what takes 20 ms takes 2 ms for them at a scale of 10.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    pub time_scale: f64,
    /// Output tokens of a request that does not say how many it wants.
    #[arg(long, value_name = "TOKENS", default_value = "128")]
    pub output_tokens: NonZeroU32,
    /// Seed of the filler text.
    #[arg(long, default_value = "0")]
    pub seed: u64,
    /// Fault to play: refuse, stall, error:STATUS, slow:FACTOR or cut:TOKENS; may be repeated.
    /// `POST /fault` with `{"faults":["cut:5"]}` replaces them at any time.
    #[arg(long, value_name = "KIND[:VALUE]")]
    pub fault: Vec<Fault>,
}

/// Which part of a request an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleName {
    /// All of it.
    Both,
    /// The prompt: each answer has one token.
    Prefill,
    /// The output: the prompt arrives computed.
    Decode,
}

/// Serves until SIGTERM or ctrl-c.
pub async fn run(arguments: Arguments) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let server = Server::bind(&arguments).await?;
    let mut output = io::stdout().lock();
    writeln!(output, "engine listens on {}", server.address())
        .and_then(|()| output.flush())
        .context("cannot write to stdout")?;
    drop(output);
    server
        .serve(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
        .await
}

/// The time of day, as Unix time in seconds.
fn unix_seconds() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

fn block_size(text: &str) -> Result<BlockSize, String> {
    let tokens = text.parse().ok().and_then(BlockSize::new);
    tokens.ok_or_else(|| format!("expected a number from 1 to {}", u32::MAX))
}

fn milliseconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 3_600_000.0)
}

fn factor(text: &str) -> Result<f64, String> {
    number(text, 0.001, 1000.0)
}

fn speed(text: &str) -> Result<Speed, String> {
    let speed = Speed::new(factor(text)?);
    speed.ok_or_else(|| "expected a number above 0".to_owned())
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("expected a number from {least} to {most}"))
}

const EXAMPLES: &str = "Examples:
  pointsman engine --listen 127.0.0.1:8000 --slots 8 --decode-step-ms 30 --time-scale 10
  curl http://127.0.0.1:8000/v1/chat/completions --data \\
    '{\"model\":\"stand-in\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}'";

#[cfg(test)]
mod tests;
