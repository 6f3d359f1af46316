//! How far a command is: a bar on stderr, if that is a terminal.

use std::io::{self, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar. It is taken away when this is dropped, unless it is kept.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// At 0 of `total`, drawn as `template` says.
    pub(crate) fn start(total: u64, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// What the whole is called, in the template's `{prefix}`.
    pub(crate) fn name(&self, name: &str) {
        self.0.set_prefix(name.to_owned());
    }

    /// What happens now, in the template's `{msg}`.
    pub(crate) fn tell(&self, message: String) {
        self.0.set_message(message);
    }

    /// So much of the total is done.
    pub(crate) fn reach(&self, position: u64) {
        self.0.set_position(position);
    }

    /// One more of the total is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Writes a line where there is no bar.
    pub(crate) fn line(&self, text: &str) {
        if self.0.is_hidden() {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Leaves the bar as it is, with these last words.
    pub(crate) fn keep(self, message: String) {
        self.0.finish_with_message(message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !self.0.is_finished() {
            self.0.finish_and_clear();
        }
    }
}
