//! How far a comparison is: a bar at a terminal, a line for each cell elsewhere.

use crate::progress::Progress;

/// Shows a comparison on stderr.
pub(super) struct Display {
    bar: Progress,
    requests: u64,
    /// Requests of the measurements that are over.
    done: u64,
}

impl Display {
    /// A comparison of so many measurements with so many requests each.
    pub(super) fn start(measurements: u64, requests: u64) -> Self {
        Self {
            bar: Progress::start(measurements.saturating_mul(requests), TEMPLATE),
            requests,
            done: 0,
        }
    }

    /// A cell begins.
    pub(super) fn cell(&self, title: &str) {
        self.bar.line(title);
        self.bar.name(title);
    }

    /// A picker gets ready.
    pub(super) fn warm_up(&self, picker: &str) {
        self.bar.tell(format!("warm-up: {picker}"));
    }

    /// A picker's turn begins.
    pub(super) fn turn(&self, picker: &str, round: u16) {
        self.bar.tell(format!("round {round}: {picker}"));
    }

    /// So many requests of this turn are over.
    pub(super) fn update(&self, ended: u64) {
        self.bar.reach(self.done + ended.min(self.requests));
    }

    /// The turn is over, perhaps before all its requests were sent.
    pub(super) fn end_turn(&mut self) {
        self.done += self.requests;
        self.bar.reach(self.done);
    }
}

const TEMPLATE: &str = "{prefix}  {wide_bar} {percent:>3} %  {msg}";
