//! The place of one test: a share of the machine, and a folder for configurations and logs.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use pointsman_cli::envoy_binary;
use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::envoy::imitation::Imitation;
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::{Stack, StackOptions};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::client::{Client, Protocol};

/// One test's place. Make it before anything that runs in it, so that it is dropped after it.
#[derive(Debug)]
pub struct Case {
    folder: TempDir,
    _turn: SemaphorePermit<'static>,
}

impl Case {
    /// Waits for a turn: a machine with few cores cannot keep the times of many setups at once.
    pub async fn begin() -> Result<Self> {
        let turn = TURNS.acquire().await.context("the turns are closed")?;
        tokio::task::spawn_blocking(envoy_binary::ensure).await??;
        Ok(Self {
            folder: tempfile::tempdir().context("cannot make a folder for the test")?,
            _turn: turn,
        })
    }

    /// Where configurations and logs go.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a complete setup.
    pub async fn stack(&self, options: StackOptions) -> Result<Stack> {
        Stack::start(options, self.folder()).await
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            let path = self.folder.path();
            eprintln!(
                "the test's folder is kept: {}\n{}",
                path.display(),
                log_ends(path)
            );
        }
    }
}

/// A setup of so many engines that answer quickly, a picker without configuration, and an Envoy.
pub fn quick(engines: usize) -> StackOptions {
    StackOptions {
        engines,
        engine_arguments: arguments(&["--decode-step-ms=2", "--prefill-tokens-per-second=200000"]),
        picker: PickerOptions::default_profile(),
        envoy: EnvoyOptions::default(),
    }
}

/// Like [`quick`], but an answer goes on at one token in 20 ms, so that a test can act within it.
pub fn slow(engines: usize) -> StackOptions {
    StackOptions {
        engine_arguments: arguments(&["--decode-step-ms=20"]),
        ..quick(engines)
    }
}

/// A setup of a picker and this Envoy, for backends that a test brings along.
pub fn bare(envoy: EnvoyOptions) -> StackOptions {
    StackOptions { envoy, ..quick(0) }
}

/// The standalone Envoy, which shows the picker the body of so many percent of the responses.
pub fn sampling(sample_percent: f64) -> EnvoyOptions {
    EnvoyOptions {
        sample_percent,
        ..EnvoyOptions::default()
    }
}

/// A gateway that is not the standalone Envoy.
pub fn imitating(imitation: Imitation) -> EnvoyOptions {
    EnvoyOptions {
        imitation,
        ..EnvoyOptions::default()
    }
}

/// The two gateways that show the picker the bodies of all responses: the standalone Envoy, in pieces
/// that wait for their answers, and one that speaks full duplex.
pub fn seeing_all() -> [EnvoyOptions; 2] {
    [sampling(100.0), imitating(Imitation::FullDuplex)]
}

/// Lets an engine play these faults from now on, and no others.
pub async fn set_faults(engine: &Engine, faults: &[&str]) -> Result<()> {
    let client = Client::new(engine.address, Protocol::Http1);
    let body = json!({ "faults": faults }).to_string();
    let reply = client.post("/fault", body).await?;
    ensure!(reply.status.is_success(), "{reply:?}");
    Ok(())
}

/// A command line of these words.
pub fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The last lines of every log in `folder`.
fn log_ends(folder: &Path) -> String {
    let mut logs: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    let mut text = String::new();
    for log in logs {
        let content = fs::read(&log).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        let lines: Vec<&str> = content.lines().collect();
        text.push_str(&format!("--- the end of {}\n", log.display()));
        for line in lines
            .iter()
            .skip(lines.len().saturating_sub(LOG_LINES_SHOWN))
        {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

static TURNS: Semaphore = Semaphore::const_new(SETUPS_MAX);

/// Setups that run at once.
const SETUPS_MAX: usize = 2;

const LOG_LINES_SHOWN: usize = 30;
