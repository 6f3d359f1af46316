//! Why one request of a run went where it went.

use pointsman_domain::event::Picked;

use crate::outcome::{Record, Violation};
use crate::policy::Policy;
use crate::scenario::Setup;
use crate::workload::Plan;
use crate::world::World;

/// One request, what became of it, and the reasons of its pick.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What was asked.
    pub plan: Plan,
    /// What became of it.
    pub record: Record,
    /// All candidates with their scores; `None` if it was not picked for.
    pub picked: Option<Picked>,
}

/// Runs a case once more and asks about the request at this place of the plan. `None` if there is no
/// such request.
pub fn explain(
    setup: &Setup,
    policy: &Policy,
    seed: u64,
    plan: usize,
) -> Result<Option<Explanation>, Violation> {
    let mut world = World::new(setup, policy, seed);
    world.explain(plan);
    let mut outcome = world.run()?;
    if plan >= outcome.records.len() {
        return Ok(None);
    }
    Ok(Some(Explanation {
        plan: outcome.workload.plans.swap_remove(plan),
        record: outcome.records.swap_remove(plan),
        picked: outcome.reasons,
    }))
}
