//! How far a run is: a bar at a terminal, a line at each end elsewhere.

use core::time::Duration;

use crate::load;
use crate::progress::Progress;

/// Shows one run on stderr.
pub(super) struct Display {
    name: &'static str,
    bar: Progress,
    duration: Duration,
}

impl Display {
    pub(super) fn start(name: &'static str, duration: Duration) -> Self {
        let bar = Progress::start(milliseconds(duration), TEMPLATE);
        bar.name(name);
        bar.line(&format!("{name}: {:.0} s of chats", duration.as_secs_f64()));
        Self {
            name,
            bar,
            duration,
        }
    }

    pub(super) fn update(&self, progress: load::Progress) {
        self.bar
            .reach(milliseconds(progress.elapsed.min(self.duration)));
        self.bar.tell(counts(progress));
    }

    pub(super) fn finish(self, progress: load::Progress) {
        let counts = counts(progress);
        self.bar.line(&format!("{}: {counts}", self.name));
        self.bar.keep(counts);
    }
}

fn counts(progress: load::Progress) -> String {
    format!("{} requests, {} failed", progress.finished, progress.failed)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const TEMPLATE: &str = "{prefix:12} {wide_bar} {percent:>3} %  {msg}";
