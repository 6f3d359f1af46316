//! The one place where the floor starts tasks.

use core::future::Future;

/// Starts the task of one stream. It ends with the stream.
pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    #[expect(clippy::disallowed_methods, reason = "this is the shell's task module")]
    tokio::spawn(future);
}
