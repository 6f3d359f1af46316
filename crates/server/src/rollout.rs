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
        let bridge = bridge(present, &next);
        if bridge.len() < present.len() {
            self.door.input(Input::Endpoints(bridge.clone()));
        }
        let is_gone = |old: &&EndpointSpec| next.iter().all(|new| new.address != old.address);
        let leaving: Vec<EndpointSpec> = bridge.iter().filter(is_gone).cloned().collect();
        let version = self.eds.publish(&[next.as_slice(), &leaving].concat());
        // An Envoy that does not answer is not waited for: its picks fall to the next in the list.
        let _late = tokio::time::timeout(ACKNOWLEDGED_MAX, self.eds.acknowledged(version)).await;
        self.door.input(Input::Endpoints(next.clone()));
        if !leaving.is_empty() {
            self.eds.publish(&next);
        }
    }
}

/// The endpoints that are picked until Envoy knows `next`: those that stay. Where nobody stays, all
/// that leave, as an empty pool would refuse requests that either set could serve.
fn bridge(present: &[EndpointSpec], next: &[EndpointSpec]) -> Vec<EndpointSpec> {
    let stays = |spec: &&EndpointSpec| next.iter().any(|other| other.identity() == spec.identity());
    let staying: Vec<EndpointSpec> = present.iter().filter(stays).cloned().collect();
    if staying.is_empty() && !next.is_empty() {
        present.to_vec()
    } else {
        staying
    }
}

/// How long a new endpoint waits for Envoy's acknowledgement.
const ACKNOWLEDGED_MAX: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> EndpointSpec {
        let port = name.bytes().map(u16::from).sum();
        EndpointSpec::new(name.to_owned(), ([10, 0, 0, 1], port).into())
    }

    #[test]
    fn those_who_stay_bridge_the_change_and_where_nobody_does_those_who_leave() {
        let [a, b, c] = ["a", "b", "c"].map(spec);
        let both = [a.clone(), b.clone()];
        assert_eq!(bridge(&both, &[b.clone(), c.clone()]), [b]);
        assert_eq!(bridge(&both, &[c]), both);
        assert_eq!(bridge(&both, &[]), []);
        assert_eq!(bridge(&[], &both), []);
    }
}
