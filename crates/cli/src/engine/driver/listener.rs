//! Who hears of one job, and what the driver knows of it.

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::handle::Progress;
use crate::engine::measures::{Course, FinishReason};

/// Who hears of one job, and what is known of it.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) progress: mpsc::UnboundedSender<Progress>,
    pub(super) choice: usize,
    pub(super) finish_reason: FinishReason,
    pub(super) course: Course,
}

impl Listener {
    /// The job got a slot.
    pub(super) fn admitted(&mut self, cached_tokens: u32, at: Instant) {
        self.course.admit(at);
        self.tell(Progress::Admitted { cached_tokens });
    }

    /// The job has one more token.
    pub(super) fn token(&self, index: u32) {
        let choice = self.choice;
        self.tell(Progress::Token { choice, index });
    }

    fn tell(&self, progress: Progress) {
        // A client that has just left is cancelled by its own drop.
        let _ = self.progress.send(progress);
    }
}
