//! What has entered and left a prefix cache and is not reported yet.

use std::vec::Drain;

use pointsman_domain::block::BlockKey;

use crate::config::CacheReports;

/// What has entered and left a prefix cache, in this order, since the last report. It is reported
/// once in each step, so what one step can change bounds it.
#[derive(Debug)]
pub(crate) struct CacheLog {
    reports: CacheReports,
    changes: Vec<CacheChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheChange {
    Cached(BlockKey),
    Evicted(BlockKey),
}

impl CacheLog {
    pub(crate) const fn new(reports: CacheReports) -> Self {
        Self {
            reports,
            changes: Vec::new(),
        }
    }

    pub(crate) fn note(&mut self, change: CacheChange) {
        match self.reports {
            CacheReports::Changes => self.changes.push(change),
            CacheReports::Nothing => {}
        }
    }

    pub(crate) fn drain(&mut self) -> Drain<'_, CacheChange> {
        self.changes.drain(..)
    }
}
