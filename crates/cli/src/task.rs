//! The one place where this program starts tasks.

use std::future::Future;

use tokio::task::JoinHandle;
use tracing::{Instrument as _, debug_span};

/// Starts a task whose log lines carry `name`. The caller keeps the handle, or another way to know
/// that the task has ended.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the `task` module that the rule refers to"
)]
pub(crate) fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(future.instrument(debug_span!("task", name)))
}
