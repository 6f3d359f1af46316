//! Where specifications write the requests that they plan.

use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::{BlockHash, BlockKey};
use pointsman_domain::time::Timestamp;
use pointsman_engine::job::AdapterId;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use super::{Arrival, Next, Piece, Plan, Workload};

/// What one specification plans with.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    workload: &'a mut Workload,
    names: &'a mut Names,
    /// For the times of arrivals. They have randomness of their own, so that another rate leaves
    /// the requests as they are.
    pub(crate) times: Pcg64Mcg,
    /// For everything else.
    pub(crate) lengths: Pcg64Mcg,
}

/// What earlier specifications have used up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    specs: u64,
    classes: usize,
    sessions: u32,
}

/// A request before it has its place in the workload.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) pieces: Vec<Piece>,
    /// 0 stands for 1.
    pub(crate) prompt_tokens: u32,
    /// 0 stands for 1.
    pub(crate) output_tokens: u32,
    pub(crate) adapter: Option<AdapterId>,
    /// Counted from 0 within the specification.
    pub(crate) class: usize,
    pub(crate) session: Option<u32>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        workload: &'a mut Workload,
        names: &'a mut Names,
        rng: &mut Pcg64Mcg,
    ) -> Self {
        Self {
            workload,
            names,
            times: Pcg64Mcg::from_rng(rng),
            lengths: Pcg64Mcg::from_rng(rng),
        }
    }

    /// What the names of all prompts of this specification begin with.
    pub(crate) fn root(&self) -> BlockKey {
        beneath(BlockKey(0), self.names.specs)
    }

    /// A session that no request belongs to yet.
    pub(crate) const fn session(&mut self) -> u32 {
        let session = self.names.sessions;
        self.names.sessions = session.saturating_add(1);
        session
    }

    /// Plans a request that comes at a time of its own, and returns its place.
    pub(crate) fn arrive(&mut self, at: Timestamp, draft: Draft) -> usize {
        let plan = self.add(draft);
        self.workload.arrivals.push(Arrival { at, plan });
        plan
    }

    /// Plans the request that follows the one at place `before`, and returns its place.
    pub(crate) fn follow(&mut self, before: usize, think: Duration, draft: Draft) -> usize {
        let plan = self.add(draft);
        if let Some(before) = self.workload.plans.get_mut(before) {
            before.next = Some(Next { think, plan });
        }
        plan
    }

    fn add(&mut self, draft: Draft) -> usize {
        self.workload.plans.push(Plan {
            pieces: draft.pieces,
            prompt_tokens: at_least_one(draft.prompt_tokens),
            output_tokens: at_least_one(draft.output_tokens),
            adapter: draft.adapter,
            class: self.names.classes + draft.class,
            session: draft.session,
            next: None,
        });
        self.workload.plans.len() - 1
    }
}

impl Names {
    /// A specification with this many classes is planned.
    pub(crate) const fn end_spec(&mut self, classes: usize) {
        self.specs += 1;
        self.classes += classes;
    }
}

/// The name of the prompt that begins as `parent` and goes on with `part`.
pub(crate) fn beneath(parent: BlockKey, part: u64) -> BlockKey {
    // 0 stands for no prompt.
    BlockKey(parent.then(BlockHash(part)).0.max(1))
}

fn at_least_one(tokens: u32) -> NonZeroU32 {
    NonZeroU32::new(tokens).unwrap_or(NonZeroU32::MIN)
}
