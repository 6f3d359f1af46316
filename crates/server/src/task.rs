//! Every task of the process has a name, a shutdown path and a joiner.

use core::future::Future;
use std::io;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Starts a thread for work that may block for long, such as writing a file. What comes back is ready
/// when the work is done.
pub(crate) fn thread(
    name: &'static str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, finished) = oneshot::channel();
    let work = move || {
        work();
        // Nobody needs to wait for it.
        let _unwatched = done.send(());
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)?;
    Ok(finished)
}

/// Tasks that end together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    cancel: CancellationToken,
}

impl Tasks {
    /// Starts a task that is dropped at its next wait when the tasks are stopped.
    pub(crate) fn spawn(
        &self,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let cancel = self.cancel.clone();
        let work = async move { cancel.run_until_cancelled(work).await.unwrap_or_default() };
        #[expect(clippy::disallowed_methods, reason = "this is the shell's task module")]
        tokio::spawn(
            self.tracker
                .track_future(work.instrument(tracing::info_span!("task", name))),
        );
    }

    /// Waits for all tasks to end by themselves.
    pub(crate) async fn finished(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// Tells all tasks to end, and waits for them.
    pub(crate) async fn stop(&self) {
        self.cancel.cancel();
        self.finished().await;
    }
}
