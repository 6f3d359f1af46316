//! What is in a recording, counted.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use pointsman_domain::decision::Decision;
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::pool::Output;
use pointsman_pipeline::record::{End, EndReason, Entry, Header};

/// Counts over a recording.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    header: Option<Header>,
    entries: u64,
    steps: BTreeMap<&'static str, u64>,
    decisions: u64,
    /// By name and address, as the same name may come back elsewhere.
    picks: BTreeMap<(String, SocketAddr), u64>,
    refusals: BTreeMap<&'static str, u64>,
    /// Names of the present lives.
    names: BTreeMap<EndpointId, String>,
    span: Option<(Timestamp, Timestamp)>,
    end: Option<End>,
}

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the pool, or early, for this reason.
    Told(EndReason),
    /// Without an end: the picker was killed, or still writes.
    Missing,
}

impl Summary {
    /// What the recorded pool was made of; `None` before the first line.
    pub const fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Entries.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Entries by the kind of their step.
    pub const fn steps(&self) -> &BTreeMap<&'static str, u64> {
        &self.steps
    }

    /// Requests that were decided.
    pub const fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Picks by name and address of the first choice.
    pub const fn picks(&self) -> &BTreeMap<(String, SocketAddr), u64> {
        &self.picks
    }

    /// Refusals by reason.
    pub const fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// The time from the first entry to the last.
    pub fn duration(&self) -> Duration {
        self.span
            .map_or(Duration::ZERO, |(first, last)| last.since(first))
    }

    /// How the recording ends.
    pub fn ending(&self) -> Ending {
        self.end
            .map_or(Ending::Missing, |end| Ending::Told(end.reason))
    }

    pub(super) fn begin(&mut self, header: Header) {
        self.header = Some(header);
    }

    pub(super) fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        *self.steps.entry(entry.step.kind()).or_default() += 1;
        let (first, _) = self.span.unwrap_or((entry.now, entry.now));
        self.span = Some((first, entry.now));
        for output in &entry.outputs {
            match output {
                Output::Decided { decision, .. } => self.decided(decision),
                Output::Endpoints { added, removed } => {
                    for id in removed {
                        self.names.remove(id);
                    }
                    for (id, spec) in added {
                        self.names.insert(*id, spec.name.clone());
                    }
                }
                Output::Event(_) => {}
            }
        }
    }

    pub(super) fn end(&mut self, end: End) {
        self.end = Some(end);
    }

    fn decided(&mut self, decision: &Decision) {
        self.decisions += 1;
        match decision {
            Decision::Refused(refusal) => {
                *self.refusals.entry(refusal.reason()).or_default() += 1;
            }
            Decision::Picked(pick) => {
                if let Some(first) = pick.destinations.first() {
                    let name = self.names.get(&first.endpoint).cloned().unwrap_or_default();
                    *self.picks.entry((name, first.address)).or_default() += 1;
                }
            }
        }
    }
}

impl Ending {
    /// Whether something may be missing at the end.
    pub const fn is_early(self) -> bool {
        match self {
            Self::Told(reason) => reason.is_early(),
            Self::Missing => true,
        }
    }
}
