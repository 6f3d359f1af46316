//! The process's clock: the one place where the pool's time comes from.

use std::time::Instant;

use pointsman_domain::time::Timestamp;

/// Counts from when it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// The present moment.
    pub(crate) fn now(self) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The moment as the runtime's timers count.
    pub(crate) fn instant(self, at: Timestamp) -> tokio::time::Instant {
        (self.origin + at.since(Timestamp::ZERO)).into()
    }
}
