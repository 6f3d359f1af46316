//! The heap of moments.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use pointsman_domain::time::Timestamp;

use super::script::Step;

/// What will happen, in the order of time, then of kind, then of scheduling.
#[derive(Debug, Default)]
pub(super) struct Moments {
    heap: BinaryHeap<Reverse<Moment>>,
    scheduled: u64,
    /// How many of those in the heap can bring a request forward.
    progress: usize,
}

/// What can happen. Requests are named by their place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A step of this engine ends, or it has to be looked at.
    StepEnds(usize),
    /// Something that the scenario demands.
    Script(Step),
    /// The picker reads all endpoints' metrics.
    Scrape {
        /// Which picker.
        picker: usize,
    },
    /// What was read arrives at the picker.
    Report {
        /// Which picker.
        picker: usize,
        /// Of which endpoint.
        endpoint: usize,
    },
    /// The next of the planned arrivals.
    NextArrives,
    /// A request that follows another one arrives.
    Arrives(usize),
    /// A picked request reaches its engine.
    Reaches(usize),
    /// An endpoint's error comes back.
    Fails(usize),
    /// A client leaves.
    Leaves(usize),
    /// The picker's next deadline.
    Expires {
        /// Which picker.
        picker: usize,
    },
    /// The spread of load is measured.
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    at: Timestamp,
    /// The kind's rank, then the number of the scheduling.
    order: u64,
    what: What,
}

impl Moments {
    pub(super) fn push(&mut self, at: Timestamp, what: What) {
        let order = what.rank() << RANK_SHIFT | self.scheduled;
        self.scheduled += 1;
        self.progress += usize::from(what.is_progress());
        self.heap.push(Reverse(Moment { at, order, what }));
    }

    pub(super) fn next(&mut self) -> Option<(Timestamp, What)> {
        let Reverse(moment) = self.heap.pop()?;
        self.progress -= usize::from(moment.what.is_progress());
        Some((moment.at, moment.what))
    }

    /// Whether anything is left that can bring a request forward.
    pub(super) const fn has_progress(&self) -> bool {
        self.progress > 0
    }

    /// Whether something else happens at this very moment.
    pub(super) fn has_at(&self, at: Timestamp) -> bool {
        self.heap
            .peek()
            .is_some_and(|Reverse(moment)| moment.at == at)
    }
}

impl What {
    /// Scrapes and measurements go on for ever and end no request.
    const fn is_progress(self) -> bool {
        !matches!(self, Self::Scrape { .. } | Self::Report { .. } | Self::Tick)
    }

    const fn rank(self) -> u64 {
        match self {
            Self::StepEnds(_) => 0,
            Self::Script(_) => 1,
            Self::Scrape { .. } | Self::Report { .. } => 2,
            Self::NextArrives
            | Self::Arrives(_)
            | Self::Reaches(_)
            | Self::Fails(_)
            | Self::Leaves(_)
            | Self::Expires { .. } => 3,
            Self::Tick => 4,
        }
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Room for more moments than any run schedules.
const RANK_SHIFT: u32 = 56;
