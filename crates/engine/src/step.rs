//! A step, and what is at hand at the moment when one begins or ends.

use pointsman_domain::time::Timestamp;

use crate::cache_log::{CacheChange, CacheLog};
use crate::config::EngineConfig;
use crate::event::EngineEvent;
use crate::job::{AdapterId, JobId};
use crate::queue::Queue;
use crate::stats::EngineTotals;

/// A step in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) begin: Timestamp,
    pub(crate) end: Timestamp,
    /// Slots that are in use.
    pub(crate) slots: usize,
    /// Whether it computes a part of a prompt.
    pub(crate) prefills: bool,
    /// Whether it decodes for anybody.
    pub(crate) decodes: bool,
}

/// What is at hand at the moment when a step begins or ends.
pub(crate) struct Moment<'a> {
    pub(crate) at: Timestamp,
    pub(crate) config: &'a EngineConfig,
    pub(crate) queue: &'a mut Queue,
    pub(crate) totals: &'a mut EngineTotals,
    pub(crate) events: &'a mut Vec<EngineEvent>,
}

impl Step {
    /// Adds this step, which has ended, to `totals`.
    pub(crate) fn count(&self, totals: &mut EngineTotals) {
        totals.steps += 1;
        totals.busy = totals.busy.saturating_add(self.end.since(self.begin));
        totals.steps_with_prefill += u64::from(self.prefills);
        totals.steps_without_decode += u64::from(!self.decodes);
        totals.slot_steps += self.slots as u64;
    }
}

impl Moment<'_> {
    /// A request got a slot for the first time: `looked_up` tokens were looked up in the cache.
    pub(crate) fn admitted(&mut self, id: JobId, looked_up: u32, cached_tokens: u32) {
        self.totals.prefix_query_tokens += u64::from(looked_up);
        self.totals.prefix_hit_tokens += u64::from(cached_tokens);
        let at = self.at;
        self.events.push(EngineEvent::Admitted {
            id,
            at,
            cached_tokens,
        });
    }

    pub(crate) fn adapter_loaded(&mut self, adapter: AdapterId) {
        self.totals.adapter_loads += 1;
        let at = self.at;
        self.events.push(EngineEvent::AdapterLoaded { adapter, at });
    }

    /// Tells of a token, without counting it.
    pub(crate) fn report_token(&mut self, id: JobId, index: u32) {
        let at = self.at;
        self.events.push(EngineEvent::Token { id, at, index });
    }

    pub(crate) fn finished(&mut self, id: JobId) {
        self.totals.finished += 1;
        let at = self.at;
        self.events.push(EngineEvent::Finished { id, at });
    }

    /// Tells what has changed in the cache.
    pub(crate) fn report_changes(&mut self, log: &mut CacheLog) {
        let at = self.at;
        self.events.extend(log.drain().map(|change| match change {
            CacheChange::Cached(key) => EngineEvent::Cached { key, at },
            CacheChange::Evicted(key) => EngineEvent::Evicted { key, at },
        }));
    }
}
