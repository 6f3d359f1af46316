//! Reports of engines on what their caches hold.

use pointsman_domain::block::BlockKey;
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::{Event, Late};

use crate::pool::{Output, Pool};

/// What an engine's cache did.
#[derive(Clone, Copy, Debug)]
pub(super) enum CacheReport<'a> {
    Stored(&'a [BlockKey]),
    Removed(&'a [BlockKey]),
    Cleared,
}

impl Pool {
    /// Takes a report over where the configuration wants them. It is exact, so that the size of the
    /// engine's cache limits nothing here.
    pub(super) fn cache_reported(
        &mut self,
        endpoint: EndpointId,
        report: CacheReport<'_>,
        outputs: &mut Vec<Output>,
    ) {
        if self.endpoints.get(endpoint).is_none() {
            let what = Late::CacheReport;
            outputs.push(Output::Event(Event::Dropped { what }));
        } else if self.config.prefix_source.is_reported() {
            match report {
                CacheReport::Stored(keys) => self.index.insert(endpoint, keys, None),
                CacheReport::Removed(keys) => self.index.forget(endpoint, keys),
                CacheReport::Cleared => self.index.remove(endpoint),
            }
        }
    }
}
