//! `round-robin-picker`: each candidate in turn, whatever its load.

use super::ranking::Order;
use crate::question::Question;

/// Remembers whose turn it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundRobin {
    last_slot: Option<u32>,
}

impl RoundRobin {
    /// Picks the next candidates, in the order of their slots.
    pub(super) fn pick(&mut self, question: &Question<'_>) -> Order {
        let candidates = question.candidates;
        let start = self
            .last_slot
            .and_then(|last| {
                candidates
                    .iter()
                    .position(|candidate| candidate.id.slot > last)
            })
            .unwrap_or(0);
        let order: Order = (start..candidates.len())
            .chain(0..start)
            .take(question.wanted)
            .collect();
        if let Some(first) = order.first().and_then(|&index| candidates.get(index)) {
            self.last_slot = Some(first.id.slot);
        }
        order
    }
}
