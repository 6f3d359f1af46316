//! Events to metrics, logs and explanations. Nothing else makes any of them.

use std::collections::VecDeque;

use parking_lot::Mutex;
use pointsman_domain::event::{Event, Picked};
use tracing::{debug, info};

use crate::metrics::Metrics;

/// Takes every event of a pool.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The process's metrics.
    pub(crate) metrics: Metrics,
    explained: Mutex<VecDeque<Picked>>,
}

impl Recorder {
    /// A recorder that has seen nothing.
    pub(crate) const fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            explained: Mutex::new(VecDeque::new()),
        }
    }

    /// Takes one event.
    pub(crate) fn record(&self, event: Event) {
        self.metrics.count(&event);
        match event {
            Event::Picked(mut picked) if picked.scores.is_some() => {
                if let Some(scores) = &mut picked.scores {
                    scores.truncate(CANDIDATES_MAX);
                    scores.shrink_to_fit();
                }
                let mut explained = self.explained.lock();
                explained.truncate(EXPLAINED_MAX - 1);
                explained.push_front(*picked);
            }
            Event::EndpointsChanged { endpoints } => info!(endpoints, "endpoints changed"),
            Event::Ejected { endpoint, out } => info!(%endpoint, out, "endpoint ejection changed"),
            Event::Refused {
                request, refusal, ..
            } => {
                debug!(
                    request = request.0,
                    reason = refusal.reason(),
                    "request refused"
                );
            }
            _ => {}
        }
    }

    /// The newest explained picks, newest first.
    pub(crate) fn explained(&self, limit: usize) -> Vec<Picked> {
        self.explained.lock().iter().take(limit).cloned().collect()
    }
}

/// Candidates kept in an explanation, best first.
const CANDIDATES_MAX: usize = 16;
/// Explanations kept; older ones leave.
const EXPLAINED_MAX: usize = 256;
