//! Parents that send many children at once.

use serde::Deserialize;

use super::Piece;
use super::arrivals::{Arrivals, Clock, WholeMs};
use super::distribution::Distribution;
use super::number::Count;
use super::planner::{Draft, Planner, beneath};
use super::spec::{Adapters, Size, drawn};
use crate::scenario::units::Millis;

/// Parents that send many children at once, all with the parent's context before their own tasks.
/// The parent's own requests are not part of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FanOutSpec {
    /// The name of the class in measures.
    #[serde(default = "name")]
    pub name: String,
    /// How many parents there are.
    pub parents: Count,
    /// When they send their children.
    pub arrivals: Arrivals,
    /// When the arrivals start.
    #[serde(default)]
    pub start_ms: Millis,
    /// Whether they come at whole milliseconds.
    #[serde(default)]
    pub whole_ms: WholeMs,
    /// Children of each parent. They are one session.
    pub children: Count,
    /// Tokens of a parent's context, drawn once for each parent, and at least 1.
    pub prefix_tokens: Distribution,
    /// Tokens of a child's own task, drawn for each child.
    pub suffix_tokens: Distribution,
    /// Tokens of the answer, drawn for each child.
    pub output_tokens: Distribution,
    /// The adapters of parents, if any. A parent's children ask for the same.
    #[serde(default)]
    pub adapters: Option<Adapters>,
}

impl FanOutSpec {
    /// The expected size of the plan.
    pub(crate) fn size(&self) -> Size {
        let children = f64::from(self.parents.get()) * f64::from(self.children.get());
        Size {
            requests: children,
            pieces: children,
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        let adapters = self.adapters.map(Adapters::choice);
        let mut clock = Clock::new(self.arrivals, self.start_ms, self.whole_ms);
        for _ in 0..self.parents.get() {
            let at = clock.next(&mut planner.times);
            let session = planner.session();
            let adapter = drawn(adapters.as_ref(), &mut planner.lengths);
            let prefix = Piece {
                key: beneath(planner.root(), u64::from(session)),
                end_tokens: self.prefix_tokens.draw_whole(&mut planner.lengths).max(1),
            };
            for _ in 0..self.children.get() {
                let suffix_tokens = self.suffix_tokens.draw_whole(&mut planner.lengths);
                let draft = Draft {
                    pieces: vec![prefix],
                    prompt_tokens: prefix.end_tokens + suffix_tokens,
                    output_tokens: self.output_tokens.draw_whole(&mut planner.lengths),
                    adapter,
                    class: 0,
                    session: Some(session),
                };
                planner.arrive(at, draft);
            }
        }
    }
}

fn name() -> String {
    "fan_out".to_owned()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;
    use serde_json::json;

    use super::*;
    use crate::workload::Workload;
    use crate::workload::spec::WorkloadSpec;

    #[test]
    fn children_come_at_once_and_share_exactly_the_parents_context() {
        let spec = json!({
            "parents": 10,
            "arrivals": {"constant": {"gap_ms": 250}},
            "start_ms": 200,
            "children": 16,
            "prefix_tokens": 3000,
            "suffix_tokens": {"uniform": [50, 150]},
            "output_tokens": {"uniform": [60, 120]},
            "adapters": {"count": 3},
        });
        let spec = WorkloadSpec::FanOut(serde_json::from_value(spec).unwrap());
        let workload = Workload::plan(&[spec], &mut Pcg64Mcg::seed_from_u64(4));
        assert_eq!(workload.arrivals.len(), 160);
        let mut prefixes = Vec::new();
        for (parent, children) in workload.arrivals.chunks(16).enumerate() {
            let first = &workload.plans[children[0].plan];
            for child in children {
                let at = Millis::new(200.0 + 250.0 * parent as f64).moment();
                assert_eq!(child.at, at);
                let plan = &workload.plans[child.plan];
                assert_eq!((&plan.pieces, plan.session), (&first.pieces, first.session));
                assert_eq!(plan.adapter, first.adapter);
                assert_eq!(plan.pieces[0].end_tokens, 3000);
                assert!((3050..3150).contains(&plan.prompt_tokens.get()));
            }
            prefixes.push(first.pieces[0].key);
        }
        prefixes.sort_unstable();
        prefixes.dedup();
        assert_eq!(prefixes.len(), 10);
    }
}
