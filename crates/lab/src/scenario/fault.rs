//! What goes wrong during a run, and when.

use pointsman_domain::time::Timestamp;
use serde::Deserialize;

use super::units::Millis;

/// One fault. Endpoints count from 0, in the order of the fleet's groups.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The endpoint accepts requests and answers 500 to each, `after_ms` later.
    Errors {
        /// Which one.
        endpoint: usize,
        /// From when on.
        from_ms: Millis,
        /// Until when.
        to_ms: Millis,
        /// How long an answer takes.
        #[serde(default)]
        after_ms: Millis,
    },
    /// Nobody listens at the endpoint.
    Refuses {
        /// Which one.
        endpoint: usize,
        /// From when on.
        from_ms: Millis,
        /// Until when.
        to_ms: Millis,
    },
    /// The engine stands still; what it was doing goes on afterwards.
    Stalls {
        /// Which one.
        endpoint: usize,
        /// From when on.
        from_ms: Millis,
        /// Until when.
        to_ms: Millis,
    },
    /// The engine's process restarts: requests in it are cut, its cache is empty.
    Restarts {
        /// Which one.
        endpoint: usize,
        /// When.
        at_ms: Millis,
    },
    /// Scrapes of the endpoint fail, for every picker.
    Unreadable {
        /// Which one.
        endpoint: usize,
        /// From when on.
        from_ms: Millis,
        /// Until when.
        to_ms: Millis,
    },
    /// A picker's process restarts: it has forgotten everything.
    PickerRestarts {
        /// Which one.
        picker: usize,
        /// When.
        at_ms: Millis,
    },
}

impl Fault {
    /// The endpoint that it befalls.
    pub(crate) const fn endpoint(&self) -> Option<usize> {
        match *self {
            Self::Errors { endpoint, .. }
            | Self::Refuses { endpoint, .. }
            | Self::Stalls { endpoint, .. }
            | Self::Restarts { endpoint, .. }
            | Self::Unreadable { endpoint, .. } => Some(endpoint),
            Self::PickerRestarts { .. } => None,
        }
    }

    /// When it begins, and when it ends if it does.
    pub(crate) fn times(&self) -> (Timestamp, Option<Timestamp>) {
        match *self {
            Self::Errors { from_ms, to_ms, .. }
            | Self::Refuses { from_ms, to_ms, .. }
            | Self::Stalls { from_ms, to_ms, .. }
            | Self::Unreadable { from_ms, to_ms, .. } => (from_ms.moment(), Some(to_ms.moment())),
            Self::Restarts { at_ms, .. } | Self::PickerRestarts { at_ms, .. } => {
                (at_ms.moment(), None)
            }
        }
    }

    /// The picker that it befalls; 0 for a fault of an endpoint.
    pub(crate) const fn picker(&self) -> usize {
        match *self {
            Self::PickerRestarts { picker, .. } => picker,
            _ => 0,
        }
    }

    /// Whether it is the same kind of fault of the same endpoint.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
            && self.endpoint() == other.endpoint()
    }
}
