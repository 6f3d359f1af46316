//! How far a scenario is: a bar if stderr is a terminal, else nothing.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for this many runs. It is removed at the end.
pub(super) struct Display(ProgressBar);

impl Display {
    pub(super) fn start(name: &str, runs: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Self(bar)
    }

    /// One more run is done.
    pub(super) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

const TEMPLATE: &str = "{prefix:8} {wide_bar} {pos}/{len} runs, {eta} left";
