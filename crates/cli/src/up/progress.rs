//! How far a run is: a bar at a terminal, a line at each end elsewhere.

use core::time::Duration;
use std::io::{self, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::load::Progress;

/// Shows one run on stderr.
pub(super) struct Display {
    name: &'static str,
    bar: ProgressBar,
    duration: Duration,
}

impl Display {
    pub(super) fn start(name: &'static str, duration: Duration) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(milliseconds(duration)),
            ProgressDrawTarget::stderr(),
        );
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.set_prefix(name);
        let display = Self {
            name,
            bar,
            duration,
        };
        display.line(&format!("{name}: {:.0} s of chats", duration.as_secs_f64()));
        display
    }

    pub(super) fn update(&self, progress: Progress) {
        self.bar
            .set_position(milliseconds(progress.elapsed.min(self.duration)));
        self.bar.set_message(counts(progress));
    }

    pub(super) fn finish(self, progress: Progress) {
        self.bar.finish_with_message(counts(progress));
        self.line(&format!("{}: {}", self.name, counts(progress)));
    }

    /// Writes a line where there is no bar.
    fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

fn counts(progress: Progress) -> String {
    format!("{} requests, {} failed", progress.finished, progress.failed)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const TEMPLATE: &str = "{prefix:12} {wide_bar} {percent:>3} %  {msg}";
