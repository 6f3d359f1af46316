//! Load views of a pool, and what reports, failures and other pickers do to them.

use std::collections::BTreeMap;

use pointsman_domain::load::LoadSample;
use pointsman_schedule::candidate::Candidate;
use pointsman_schedule::load_view::LoadView;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::picker::least_outstanding::LeastOutstanding;
use pointsman_schedule::picker::ranking::TieBreak;
use proptest::prelude::*;

use super::super::*;
use super::builders::*;

/// A configuration that sends to the least loaded by `load`, to the lowest slot of equal ones.
fn by(load: LoadView) -> RuntimeConfig {
    let mut config = config();
    let tie_break = TieBreak::First;
    config.profile.scorers.clear();
    config.profile.picker = Picker::LeastOutstanding(LeastOutstanding { load, tie_break });
    config
}

fn pickers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// What a decision would see of each endpoint now.
fn candidates(pool: &mut TestPool) -> Vec<Candidate> {
    pool.pool.gather(pool.now, &chat(&[]));
    pool.pool.scratch.candidates.clone()
}

fn picks(pool: &mut TestPool, requests: core::ops::Range<u64>) -> Vec<u32> {
    requests.map(|id| pool.pick(id, chat(&[id])).slot).collect()
}

#[test]
fn a_report_alone_sends_all_to_one_until_the_next_report() {
    let mut pool = pool_with(by(LoadView::Reported), 2);
    pool.scrape(first_life(0), sample(0, 3));
    pool.scrape(first_life(1), sample(0, 2));
    assert_eq!(picks(&mut pool, 0..6), [1; 6]);
    pool.scrape(first_life(1), sample(0, 8));
    assert_eq!(picks(&mut pool, 6..9), [0; 3]);
}

#[test]
fn dispatches_since_the_report_count_until_the_next_report_even_when_they_end() {
    let mut pool = pool_with(by(LoadView::ReportedAndDispatched), 2);
    pool.scrape(first_life(0), sample(0, 3));
    pool.scrape(first_life(1), sample(0, 2));
    assert_eq!(picks(&mut pool, 0..3), [1, 0, 1]);
    (0..3).for_each(|id| drop(pool.end(id)));
    assert_eq!(picks(&mut pool, 3..5), [0, 1]);
    pool.scrape(first_life(0), sample(0, 0));
    assert_eq!(picks(&mut pool, 5..8), [0; 3]);
}

#[test]
fn with_more_pickers_each_dispatch_counts_for_all_of_them() {
    let mut pool = pool_with(by(LoadView::Scaled), 2);
    pool.scrape(first_life(0), sample(0, 0));
    pool.scrape(first_life(1), sample(0, 3));
    assert_eq!(picks(&mut pool, 0..4), [0, 0, 0, 0]);
    (0..4).for_each(|id| drop(pool.end(id)));
    pool.input(Input::Pickers(pickers(4)));
    assert_eq!(picks(&mut pool, 4..7), [0, 1, 0]);
}

/// How many of 160 requests each of four endpoints gets, of which three are read anew before every
/// `period`th request and the last one has never answered.
fn shares_with_a_silent_endpoint(load: LoadView, period: u64) -> [u32; 4] {
    let mut pool = pool_with(by(load), 4);
    let mut sent = [0; 4];
    for id in 0..160 {
        for slot in 0..3 {
            if id % period == 0 {
                pool.scrape(first_life(slot), sample(0, sent[slot as usize] + 5));
            }
        }
        sent[pool.pick(id, chat(&[id])).index()] += 1;
    }
    sent
}

#[test]
fn an_endpoint_that_reports_nothing_gets_its_share_where_our_own_requests_count_exactly() {
    for load in [LoadView::Outstanding, LoadView::Own, LoadView::Scaled] {
        for period in [1, 4, 40] {
            let sent = shares_with_a_silent_endpoint(load, period);
            let is_fair = sent.iter().all(|n| (39..=41).contains(n));
            assert!(is_fair, "{load:?} {period} {sent:?}");
        }
    }
}

#[test]
fn an_endpoint_that_reports_nothing_takes_no_burst_where_dispatches_count() {
    for period in [4, 16, 40] {
        let sent = shares_with_a_silent_endpoint(LoadView::ReportedAndDispatched, period);
        assert!((1..=41).contains(&sent[3]), "{period} {sent:?}");
    }
}

#[test]
fn without_any_fresh_report_each_view_but_the_reported_one_follows_our_own_requests() {
    for load in [
        LoadView::Outstanding,
        LoadView::ReportedAndDispatched,
        LoadView::Own,
        LoadView::Scaled,
    ] {
        let mut pool = pool_with(by(load), 4);
        pool.input(Input::Pickers(pickers(3)));
        (0..4).for_each(|slot| drop(pool.scrape(first_life(slot), sample(slot * 9, 0))));
        pool.at_millis(60_000);
        let mut sent = [0; 4];
        picks(&mut pool, 0..40)
            .into_iter()
            .for_each(|slot| sent[slot as usize] += 1);
        assert_eq!(sent, [10; 4], "{load:?}");
    }
}

#[test]
fn a_page_without_counts_leaves_the_report_before_it_in_force() {
    let mut pool = pool_with(by(LoadView::Scaled), 1);
    pool.scrape(first_life(0), sample(0, 6));
    pool.pick(0, chat(&[0]));
    pool.scrape(first_life(0), LoadSample::default());
    assert_eq!(candidates(&mut pool)[0].own_at_report, 0);
    pool.scrape(first_life(0), sample(0, 7));
    assert_eq!(candidates(&mut pool)[0].own_at_report, 1);
}

#[test]
fn after_a_panic_the_last_reports_count_as_made_now() {
    let mut pool = pool_with(by(LoadView::Scaled), 2);
    for slot in 0..2 {
        pool.pick(u64::from(slot), chat(&[u64::from(slot)]));
        pool.scrape(first_life(slot), sample(0, 3));
    }
    pool.recover(None);
    for candidate in candidates(&mut pool) {
        assert_eq!(candidate.foreign_requests, 2);
        for load in [
            LoadView::Outstanding,
            LoadView::Scaled,
            LoadView::ReportedAndDispatched,
        ] {
            assert_eq!(load.requests(&candidate, pickers(5)), 3);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    End(u64),
    /// An engine tells some load beside the answer to this request.
    Told(u64, u32),
    Foreign(u32, u32),
    Begun(u32),
    Done(u32),
    Failed(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let slot = 0u32..3;
    prop_oneof![
        4 => Just(Step::Send),
        3 => (0u64..40).prop_map(Step::End),
        1 => (0u64..40, 0u32..50).prop_map(|(id, count)| Step::Told(id, count)),
        1 => (slot.clone(), 0u32..9).prop_map(|(slot, count)| Step::Foreign(slot, count)),
        2 => slot.clone().prop_map(Step::Begun),
        2 => slot.clone().prop_map(Step::Done),
        1 => slot.prop_map(Step::Failed),
    ]
}

/// Engines that report exactly what they had when the read began: the same of each of `pickers`
/// pickers, which all do what ours does, and what comes from elsewhere.
struct Engines {
    pickers: u32,
    places: BTreeMap<u64, u32>,
    sent: u64,
    foreign: [u32; 3],
    /// Of the read on its way: requests, those from elsewhere, those that we had sent to it before.
    reads: [Option<[u32; 3]>; 3],
    /// Of the last one that came.
    reports: [[u32; 3]; 3],
    sent_to: [u32; 3],
}

impl Engines {
    fn own(&self, slot: u32) -> u32 {
        self.places.values().filter(|&&place| place == slot).count() as u32
    }

    fn take(&mut self, pool: &mut TestPool, step: Step) {
        match step {
            Step::Send => {
                let slot = pool.pick(self.sent, chat(&[])).slot;
                self.places.insert(self.sent, slot);
                self.sent += 1;
                self.sent_to[slot as usize] += 1;
            }
            Step::End(id) => {
                self.places.remove(&id);
                pool.end(id);
            }
            Step::Told(id, count) => {
                pool.observe(id, Observation::Load(sample(count, count)));
            }
            Step::Foreign(slot, count) => self.foreign[slot as usize] = count,
            Step::Begun(slot) => {
                let at = slot as usize;
                let foreign = self.foreign[at];
                let requests = self.pickers * self.own(slot) + foreign;
                self.reads[at] = Some([requests, foreign, self.sent_to[at]]);
                pool.input(Input::ScrapeBegun(first_life(slot)));
            }
            Step::Done(slot) => {
                if let Some(read) = self.reads[slot as usize].take() {
                    self.reports[slot as usize] = read;
                    pool.input(Input::ScrapeDone(
                        first_life(slot),
                        Box::new(sample(0, read[0]).into()),
                    ));
                }
            }
            Step::Failed(slot) => {
                self.reads[slot as usize] = None;
                let fault = ScrapeFault::Unusable;
                pool.input(Input::ScrapeFailed(first_life(slot), fault));
            }
        }
    }
}

proptest! {
    /// Nothing is lost and nothing counted twice, in any order of sends, ends and reads.
    #[test]
    fn views_agree_with_the_engines_whatever_the_order(
        steps in proptest::collection::vec(step(), 0..120),
        count in 1u32..4,
        seed: u64,
    ) {
        let mut pool = seeded(seed, 3);
        pool.input(Input::Pickers(pickers(count)));
        let mut engines = Engines {
            pickers: count,
            places: BTreeMap::new(),
            sent: 0,
            foreign: [0; 3],
            reads: [None; 3],
            reports: [[0; 3]; 3],
            sent_to: [0; 3],
        };
        let first = (0..3).flat_map(|slot| [Step::Begun(slot), Step::Done(slot)]);
        for step in first.chain(steps) {
            engines.take(&mut pool, step);
            let candidates = candidates(&mut pool);
            let in_flight: u32 = candidates
                .iter()
                .map(|candidate| LoadView::Own.requests(candidate, pickers(count)))
                .sum();
            prop_assert_eq!(in_flight as usize, pool.pool.sizes().in_flight);
            for (slot, candidate) in (0..).zip(&candidates) {
                if candidate.load.sampled_at.is_none() {
                    continue;
                }
                let of = |view: LoadView| view.requests(candidate, pickers(count));
                let [requests, foreign, sent_before] = engines.reports[slot as usize];
                let sent = engines.sent_to[slot as usize] - sent_before;
                prop_assert_eq!(of(LoadView::Reported), requests);
                prop_assert_eq!(of(LoadView::ReportedAndDispatched), requests + sent);
                prop_assert_eq!(of(LoadView::Scaled), count * engines.own(slot) + foreign);
                prop_assert!(of(LoadView::Outstanding) <= engines.own(slot) + requests);
            }
        }
    }
}
