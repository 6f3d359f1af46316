//! One run of the process: configuration, start, signals, drain.

use std::path::Path;

use anyhow::{Context, Result};
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::record;
use pointsman_policy::config::{self, Compiled};
use pointsman_policy::rewrites;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::flags::Flags;
use crate::picker::Picker;

/// Runs the picker until it is told to end.
pub async fn run(flags: Flags, warnings: Vec<String>) -> Result<()> {
    for warning in warnings {
        warn!("{warning}");
    }
    let configured = configuration(&flags).await?;
    for warning in &configured.compiled.warnings {
        warn!("configuration: {warning}");
    }
    let mut interrupt = signal(SignalKind::interrupt()).context("listen to SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("listen to SIGTERM")?;

    let told_to_end = async {
        tokio::select! {
            _ = interrupt.recv() => info!("SIGINT"),
            _ = terminate.recv() => info!("SIGTERM"),
        }
    };
    tokio::pin!(told_to_end);
    let (picker, opening) = Picker::new(flags, configured)?;
    let opened = tokio::select! {
        opened = picker.open(opening) => Some(opened),
        () = &mut told_to_end => None,
    };
    match opened {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            picker.discard().await;
            return Err(error);
        }
        // Nothing has been promised to anybody yet.
        None => {
            picker.stop().await;
            return Ok(());
        }
    }
    told_to_end.await;
    info!("draining");
    picker.drain().await;
    Ok(())
}

async fn configuration(flags: &Flags) -> Result<Configured> {
    let (text, from) = match (&flags.config_file, &flags.config_text) {
        (Some(path), _) => {
            let read = tokio::fs::read_to_string(path).await;
            let text = read.with_context(|| format!("read --config-file {}", path.display()))?;
            (text, path.display().to_string())
        }
        (None, Some(text)) => (text.clone(), "--config-text".to_owned()),
        (None, None) => (String::new(), "the built-in configuration".to_owned()),
    };
    let attachment = if flags.eds_port.is_some() {
        Attachment::Standalone
    } else {
        Attachment::Gateway
    };
    let mut compiled = config::load(&text, attachment)
        .map_err(|problems| anyhow::Error::new(Unusable { from, problems }))?;
    let mut given = record::Configuration::new(text, attachment);
    if let Some(path) = &flags.model_rewrites {
        given = given.with_rewrites(model_rewrites(path, &mut compiled).await?);
    }
    Ok(Configured { given, compiled })
}

/// Adds the model rewrites in a file to a configuration; gives their text.
async fn model_rewrites(path: &Path, compiled: &mut Compiled) -> Result<String> {
    let read = tokio::fs::read_to_string(path).await;
    let text = read.with_context(|| format!("read --model-rewrites {}", path.display()))?;
    let from = path.display().to_string();
    let rewrites = rewrites::compile(&text)
        .map_err(|problems| anyhow::Error::new(Unusable { from, problems }))?;
    compiled.runtime.rewrites = rewrites.rewrites;
    compiled.warnings.extend(rewrites.warnings);
    Ok(text)
}

/// The configuration as it was given, and what follows from it.
pub(crate) struct Configured {
    pub(crate) given: record::Configuration,
    pub(crate) compiled: Compiled,
}

/// A configuration that cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct Unusable {
    from: String,
    problems: pointsman_policy::problem::Problems,
}

impl core::fmt::Display for Unusable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is not usable:\n{}", self.from, self.problems)
    }
}

impl core::error::Error for Unusable {}
