//! What pickers read of engines, and when.

use core::time::Duration;

use pointsman_pipeline::pool::{Input, ScrapeFault};

use super::World;
use super::moments::What;
use crate::scenario::Phases;

impl World<'_> {
    pub(super) fn schedule_scrapes(&mut self) {
        let interval = self.setup.pickers.scrape_ms;
        let count = self.pickers.members.len();
        for picker in 0..count {
            let share = match self.setup.pickers.phases {
                Phases::Together => 0.0,
                Phases::Staggered => picker as f64 / count as f64,
            };
            if interval.value() > 0.0 {
                let phase = interval.duration().mul_f64(share);
                self.moments
                    .push(self.now.plus(phase), What::Scrape { picker });
            }
        }
    }

    /// The picker reads every endpoint that it knows.
    pub(super) fn scrape_all(&mut self, picker: usize) {
        for endpoint in 0..self.engines.members.len() {
            self.scrape(picker, endpoint);
        }
        let interval = self.setup.pickers.scrape_ms.duration();
        if interval > Duration::ZERO {
            self.moments
                .push(self.now.plus(interval), What::Scrape { picker });
        }
    }

    /// What was read arrives.
    pub(super) fn report(&mut self, picker: usize, endpoint: usize) {
        let member = &mut self.pickers.members[picker];
        let sample = member.reports[endpoint].take();
        if let (Some(id), Some(sample)) = (member.ids[endpoint], sample) {
            self.pickers
                .input(picker, self.now, Input::ScrapeDone(id, Box::new(sample)));
        }
    }

    fn scrape(&mut self, picker: usize, endpoint: usize) {
        let reader = &self.pickers.members[picker];
        // A picker reads an endpoint again only after it has the report before.
        if reader.reports[endpoint].is_some() {
            return;
        }
        let Some(id) = reader.ids[endpoint] else {
            return;
        };
        let member = &self.engines.members[endpoint];
        self.pickers.input(picker, self.now, Input::ScrapeBegun(id));
        if member.condition.refuses || member.condition.unreadable {
            let fault = if member.condition.refuses {
                ScrapeFault::Unreachable
            } else {
                ScrapeFault::Unusable
            };
            self.pickers
                .input(picker, self.now, Input::ScrapeFailed(id, fault));
            return;
        }
        self.pickers.members[picker].reports[endpoint] = Some(member.sample());
        let delay = self.setup.pickers.scrape_delay_ms.duration();
        if delay.is_zero() {
            self.report(picker, endpoint);
        } else {
            let at = self.now.plus(delay);
            self.moments.push(at, What::Report { picker, endpoint });
        }
    }
}
