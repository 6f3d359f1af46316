//! Endpoints reach the pool and the standalone Envoy in an order in which no pick is unknown to
//! Envoy: who leaves is not picked before Envoy forgets it, who joins is known before it is picked.

use core::time::Duration;
use std::sync::Arc;

use pointsman_domain::endpoint::EndpointSpec;
use pointsman_pipeline::pool::Input;

use crate::eds::EdsTable;
use crate::pool::PoolDoor;

/// Brings sets of endpoints out.
#[derive(Clone, Debug)]
pub(crate) struct Rollout {
    door: Arc<PoolDoor>,
    eds: Arc<EdsTable>,
}

impl Rollout {
    /// A rollout to `door` and `eds`.
    pub(crate) const fn new(door: Arc<PoolDoor>, eds: Arc<EdsTable>) -> Self {
        Self { door, eds }
    }

    /// Brings out the first set: nobody is connected who could not know it.
    pub(crate) fn start(&self, specs: Vec<EndpointSpec>) {
        self.eds.publish(&specs);
        self.door.input(Input::Endpoints(specs));
    }

    /// Replaces the `present` set by `next`.
    pub(crate) async fn replace(&self, present: &[EndpointSpec], next: Vec<EndpointSpec>) {
        let stays =
            |spec: &&EndpointSpec| next.iter().any(|other| other.identity() == spec.identity());
        let staying: Vec<EndpointSpec> = present.iter().filter(stays).cloned().collect();
        if staying.len() < present.len() {
            self.door.input(Input::Endpoints(staying));
        }
        let version = self.eds.publish(&next);
        // An Envoy that does not answer is not waited for: its picks fall to the next in the list.
        let _late = tokio::time::timeout(ACKNOWLEDGED_MAX, self.eds.acknowledged(version)).await;
        self.door.input(Input::Endpoints(next));
    }
}

/// How long a new endpoint waits for Envoy's acknowledgement.
const ACKNOWLEDGED_MAX: Duration = Duration::from_millis(200);
