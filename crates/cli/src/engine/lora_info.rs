//! What vLLM tells of the adapters in use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pointsman_engine::job::AdapterId;
use pointsman_engine::stats::Adapters;

/// vLLM's gauge for adapters: it names the running and the waiting ones in its labels, so each pair
/// of lists that was ever seen is a series. The value is the time at which the pair was seen last,
/// and the newest one tells the present. vLLM keeps all of them; here the oldest of too many goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoraInfo {
    /// Of the adapters in use.
    names: BTreeMap<AdapterId, Arc<str>>,
    /// In the order in which they were first seen.
    series: Vec<Series>,
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Names of adapters of running requests, with commas between.
    pub(crate) running: String,
    /// Names of adapters of waiting requests, with commas between.
    pub(crate) waiting: String,
    /// When it was seen last, as Unix time in seconds.
    pub(crate) seen_seconds: f64,
}

impl LoraInfo {
    /// An adapter comes into use under this name.
    pub(crate) fn name(&mut self, adapter: AdapterId, name: Arc<str>) {
        self.names.insert(adapter, name);
    }

    /// Takes note of the adapters in use.
    pub(crate) fn note(&mut self, in_use: &Adapters, seen_seconds: f64) {
        self.names.retain(|adapter, _| {
            in_use.running.contains(adapter) || in_use.waiting.contains(adapter)
        });
        self.see(Series {
            running: self.list(&in_use.running),
            waiting: self.list(&in_use.waiting),
            seen_seconds,
        });
    }

    /// All series.
    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    /// Each name once, in order. One that was unloaded and loaded again can be two adapters.
    fn list(&self, adapters: &[AdapterId]) -> String {
        let names = adapters.iter().filter_map(|id| self.names.get(id));
        let names: BTreeSet<&str> = names.map(|name| &**name).collect();
        names.into_iter().collect::<Vec<_>>().join(",")
    }

    fn see(&mut self, seen: Series) {
        let same =
            |known: &&mut Series| known.running == seen.running && known.waiting == seen.waiting;
        if let Some(known) = self.series.iter_mut().find(same) {
            known.seen_seconds = seen.seen_seconds;
            return;
        }
        if self.series.len() >= SERIES_MAX {
            let ages = self.series.iter().enumerate();
            let oldest = ages.min_by(|(_, a), (_, b)| a.seen_seconds.total_cmp(&b.seen_seconds));
            if let Some((oldest, _)) = oldest {
                self.series.remove(oldest);
            }
        }
        self.series.push(seen);
    }
}

const SERIES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn in_use(running: &[u32], waiting: &[u32]) -> Adapters {
        let ids = |ids: &[u32]| ids.iter().copied().map(AdapterId).collect();
        Adapters {
            running: ids(running),
            waiting: ids(waiting),
        }
    }

    fn named(names: &[&str]) -> LoraInfo {
        let mut info = LoraInfo::default();
        for (id, name) in names.iter().enumerate() {
            info.name(AdapterId(u32::try_from(id).unwrap()), (*name).into());
        }
        info
    }

    fn pairs(info: &LoraInfo) -> Vec<(&str, &str, f64)> {
        let series = info.series().iter();
        series
            .map(|of| (of.running.as_str(), of.waiting.as_str(), of.seen_seconds))
            .collect()
    }

    #[test]
    fn a_pair_that_comes_again_is_the_same_series_with_a_new_time() {
        let mut info = named(&["a", "b"]);
        info.note(&in_use(&[0], &[1]), 1.0);
        info.note(&in_use(&[0, 1], &[]), 2.0);
        info.note(&in_use(&[0], &[1]), 3.0);
        assert_eq!(pairs(&info), [("a", "b", 3.0), ("a,b", "", 2.0)]);
    }

    #[test]
    fn an_adapter_that_is_out_of_use_is_forgotten() {
        let mut info = named(&["a", "b"]);
        info.note(&in_use(&[0], &[1]), 1.0);
        info.note(&in_use(&[1], &[]), 2.0);
        assert_eq!(info.names.len(), 1);
        info.note(&in_use(&[], &[]), 3.0);
        assert!(info.names.is_empty());
        assert_eq!(pairs(&info)[1..], [("b", "", 2.0), ("", "", 3.0)]);
    }

    #[test]
    fn two_adapters_of_one_name_are_listed_once() {
        let mut info = named(&["b", "a", "b"]);
        info.note(&in_use(&[0, 1, 2], &[2]), 1.0);
        assert_eq!(pairs(&info), [("a,b", "b", 1.0)]);
    }

    #[test]
    fn of_too_many_the_one_that_was_not_seen_for_longest_goes() {
        let mut info = LoraInfo::default();
        let mut see = |id: u32, at: f64| {
            info.name(AdapterId(id), id.to_string().into());
            info.note(&in_use(&[id], &[]), at);
        };
        let most = u32::try_from(SERIES_MAX).unwrap();
        for id in 0..most {
            see(id, f64::from(id));
        }
        see(0, 1e6);
        see(most, 2e6);
        assert_eq!(info.series().len(), SERIES_MAX);
        let has = |id: u32| info.series().iter().any(|s| s.running == id.to_string());
        assert!(has(0) && has(most) && !has(1));
    }
}
