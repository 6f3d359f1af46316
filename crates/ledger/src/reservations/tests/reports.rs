//! Any order of dispatches, ends and scrapes against the whole story read again.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::*;
use super::{NOW, sent_to};

#[derive(Clone, Copy, Debug)]
enum Step {
    Dispatch(u64, EndpointId),
    Advance(u64),
    Finish(u64),
    Relocate(u64, EndpointId),
    End(u64),
    Begun(EndpointId),
    Done(EndpointId, u32),
    Failed(EndpointId),
}

/// One of six lives in two slots.
fn life() -> impl Strategy<Value = EndpointId> {
    (0u32..2, 0u32..3).prop_map(|(slot, generation)| EndpointId { slot, generation })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..12, life()).prop_map(|(id, life)| Step::Dispatch(id, life)),
        1 => (0u64..12).prop_map(Step::Advance),
        1 => (0u64..12).prop_map(Step::Finish),
        1 => (0u64..12, life()).prop_map(|(id, life)| Step::Relocate(id, life)),
        3 => (0u64..12).prop_map(Step::End),
        2 => life().prop_map(Step::Begun),
        2 => (life(), 0u32..20).prop_map(|(life, count)| Step::Done(life, count)),
        1 => life().prop_map(Step::Failed),
    ]
}

/// What happened at one life, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    /// A request was sent there.
    Sent,
    /// So many of ours were there from then on.
    Own(u32),
    Begun,
    Done(u32),
    Failed,
}

/// All facts of all lives, and where each request is.
#[derive(Default)]
struct Story {
    places: BTreeMap<u64, EndpointId>,
    finished: BTreeSet<u64>,
    facts: Vec<(EndpointId, Fact)>,
}

impl Story {
    fn tell(&mut self, step: Step) {
        match step {
            Step::Dispatch(id, life) => self.send(id, life),
            Step::Relocate(id, life) if self.places.contains_key(&id) => self.send(id, life),
            Step::Relocate(..) | Step::Advance(_) => {}
            Step::Finish(id) => {
                if let Some(&place) = self.places.get(&id) {
                    self.finished.insert(id);
                    self.facts.push((place, Fact::Own(self.own(place))));
                }
            }
            Step::End(id) => {
                self.finished.remove(&id);
                if let Some(left) = self.places.remove(&id) {
                    self.facts.push((left, Fact::Own(self.own(left))));
                }
            }
            Step::Begun(life) => self.facts.push((life, Fact::Begun)),
            Step::Done(life, count) => self.facts.push((life, Fact::Done(count))),
            Step::Failed(life) => self.facts.push((life, Fact::Failed)),
        }
    }

    fn send(&mut self, id: u64, life: EndpointId) {
        let before = self.places.insert(id, life);
        if before == Some(life) {
            return;
        }
        if let Some(left) = before {
            self.facts.push((left, Fact::Own(self.own(left))));
        }
        self.facts.push((life, Fact::Sent));
        self.facts.push((life, Fact::Own(self.own(life))));
    }

    fn own(&self, life: EndpointId) -> u32 {
        let open = self
            .places
            .iter()
            .filter(|(id, _)| !self.finished.contains(id));
        open.filter(|&(_, &place)| place == life).count() as u32
    }

    /// What should be known beside the last report of a life.
    fn context(&self, life: EndpointId) -> ReportContext {
        let facts: Vec<_> = self
            .facts
            .iter()
            .filter(|(of, _)| *of == life)
            .map(|(_, fact)| *fact)
            .collect();
        let own_at = |end: usize| {
            let owns = facts[..end].iter().rev().find_map(|fact| match fact {
                Fact::Own(own) => Some(*own),
                _ => None,
            });
            owns.unwrap_or(0)
        };
        let mut last = None;
        let mut begun = None;
        for (at, fact) in facts.iter().enumerate() {
            match fact {
                Fact::Begun => begun = Some(at),
                Fact::Failed => begun = None,
                Fact::Done(count) => last = begun.take().map(|begun| (begun, at, *count)).or(last),
                Fact::Sent | Fact::Own(_) => {}
            }
        }
        let Some((begun, done, count)) = last else {
            return ReportContext {
                dispatched_since_report: own_at(facts.len()),
                ..ReportContext::default()
            };
        };
        let most = (begun..=done).map(own_at).max().unwrap_or(0);
        let sent = facts[begun..].iter().filter(|fact| **fact == Fact::Sent);
        ReportContext {
            requests: count,
            foreign: count.saturating_sub(most),
            own_at_report: own_at(begun),
            dispatched_since_report: sent.count() as u32,
        }
    }
}

fn take(ledger: &mut Ledger, step: Step) {
    match step {
        Step::Dispatch(id, life) => ledger.reserve(NOW, RequestId(id), sent_to(life, 1)),
        Step::Advance(id) => {
            ledger.advance(NOW, RequestId(id), Phase::Decode);
        }
        Step::Finish(id) => {
            ledger.advance(NOW, RequestId(id), Phase::Finished);
        }
        Step::Relocate(id, life) => ledger.relocate(NOW, RequestId(id), life),
        Step::End(id) => {
            ledger.release(NOW, RequestId(id));
        }
        Step::Begun(life) => ledger.scrape_begun(life),
        Step::Done(life, count) => ledger.scrape_done(life, count),
        Step::Failed(life) => ledger.scrape_failed(life),
    }
}

proptest! {
    /// Of each slot's newest life, which is the only one that is asked for.
    #[test]
    fn what_is_known_beside_a_report_is_what_the_story_tells(
        steps in proptest::collection::vec(step(), 0..80),
    ) {
        let mut ledger = Ledger::default();
        let mut story = Story::default();
        let mut newest = [0_u32; 2];
        for step in steps {
            if let Step::Dispatch(_, life) | Step::Relocate(_, life) | Step::Begun(life)
                | Step::Done(life, _) | Step::Failed(life) = step
            {
                // A pool reserves only at the present life, and asks no older one afterwards.
                let present = newest[life.slot as usize];
                let is_late = life.generation < present;
                if is_late && matches!(step, Step::Dispatch(..) | Step::Relocate(..)) {
                    continue;
                }
                newest[life.slot as usize] = present.max(life.generation);
            }
            take(&mut ledger, step);
            story.tell(step);
            for (slot, &generation) in (0..).zip(&newest) {
                let life = EndpointId { slot, generation };
                prop_assert_eq!(ledger.own(life, NOW).requests, story.own(life));
                prop_assert_eq!(ledger.report_context(life), story.context(life));
            }
        }
    }
}
