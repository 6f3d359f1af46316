//! What tells a command to end.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for ctrl-c, SIGTERM or the end of the terminal. A command that starts children ends them
/// then; without it they would live on.
pub(crate) async fn interrupted() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}
