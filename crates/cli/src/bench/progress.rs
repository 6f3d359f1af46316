//! How far a comparison is: a bar at a terminal, a line for each cell elsewhere.

use std::io::{self, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows a comparison on stderr.
pub(super) struct Display {
    bar: ProgressBar,
    requests: u64,
    /// Requests of the measurements that are over.
    done: u64,
}

impl Display {
    /// A comparison of so many measurements with so many requests each.
    pub(super) fn start(measurements: u64, requests: u64) -> Self {
        let total = measurements.saturating_mul(requests);
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self {
            bar,
            requests,
            done: 0,
        }
    }

    /// A cell begins.
    pub(super) fn cell(&self, title: &str) {
        if self.bar.is_hidden() {
            let _ = writeln!(io::stderr(), "{title}");
        }
        self.bar.set_prefix(title.to_owned());
    }

    /// A picker gets ready.
    pub(super) fn warm_up(&self, picker: &str) {
        self.bar.set_message(format!("warm-up: {picker}"));
    }

    /// A picker's turn begins.
    pub(super) fn turn(&self, picker: &str, round: u16) {
        self.bar.set_message(format!("round {round}: {picker}"));
    }

    /// So many requests of this turn are over.
    pub(super) fn update(&self, ended: u64) {
        self.bar.set_position(self.done + ended.min(self.requests));
    }

    /// The turn is over, perhaps before all its requests were sent.
    pub(super) fn end_turn(&mut self) {
        self.done += self.requests;
        self.bar.set_position(self.done);
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

const TEMPLATE: &str = "{prefix}  {wide_bar} {percent:>3} %  {msg}";
