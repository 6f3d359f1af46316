//! Bounded waits for real conditions.

use core::future::Future;
use core::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::{Instant, sleep, timeout};

/// Asks again and again until `check` gives a value, at most `wait_max`. The error says what was
/// waited for, and what was missing at the end.
pub async fn until<T>(
    what: &str,
    wait_max: Duration,
    check: impl AsyncFn() -> Result<T>,
) -> Result<T> {
    let deadline = Instant::now() + wait_max;
    loop {
        match check().await {
            Ok(value) => return Ok(value),
            Err(missing) if Instant::now() >= deadline => {
                return Err(missing.context(format!("{what}: not within {wait_max:?}")));
            }
            Err(_) => sleep(POLL_INTERVAL).await,
        }
    }
}

/// What `future` gives, at most [`ANSWER_MAX`] from now.
pub async fn answer<T>(what: &str, future: impl Future<Output = T>) -> Result<T> {
    timeout(ANSWER_MAX, future)
        .await
        .with_context(|| format!("{what}: not within {ANSWER_MAX:?}"))
}

/// Far more than anything takes on a busy machine: what takes longer hangs.
pub const ANSWER_MAX: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(10);
