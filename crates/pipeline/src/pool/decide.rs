//! One decision: candidates, their prefix matches, the profile, and the reservation, in one step.

use core::time::Duration;

use pointsman_domain::decision::{Decision, Destination, Pick, Refusal};
use pointsman_domain::event::{Event, Picked};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::load::EndpointLoad;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Tokens, Unit};
use pointsman_ledger::reservations::{Phase, Reservation};
use pointsman_prefix::index::Matches;
use pointsman_schedule::candidate::Candidate;
use pointsman_schedule::profile::Scores;

use crate::pool::requests::Request;
use crate::pool::{Detail, Output, Pool};

/// Space that every decision uses again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    matches: Matches,
    candidates: Vec<Candidate>,
    scores: Scores,
}

impl Pool {
    /// Picks for a request, or refuses it when the gateway's subset leaves nobody.
    pub(super) fn decide(
        &mut self,
        now: Timestamp,
        id: RequestId,
        mut request: Request,
        outputs: &mut Vec<Output>,
    ) {
        let Some(facts) = request.facts.take() else {
            return;
        };
        let keys = facts.block_keys();
        self.index.lookup(&keys, &mut self.scratch.matches);
        self.gather(now, &facts);

        let Scratch {
            candidates, scores, ..
        } = &mut self.scratch;
        let wanted = self.config.destinations_max;
        let order = self
            .config
            .profile
            .run(&facts, candidates, wanted, scores, &mut self.rng);
        let chosen = order.iter().filter_map(|&index| candidates.get(index));
        request.destinations = chosen
            .map(|c| Destination {
                endpoint: c.id,
                address: c.address,
            })
            .collect();
        let Some(&best) = order.first().and_then(|&index| candidates.get(index)) else {
            self.refuse(now, id, request.arrived, Refusal::NoEndpoints, outputs);
            return;
        };

        let prompt_tokens = facts.prompt.tokens;
        self.ledger.reserve(
            id,
            Reservation {
                endpoint: best.id,
                uncached_tokens: prompt_tokens.minus(best.cached_tokens),
                phase: Phase::Prefill,
            },
        );
        // Predicted here, so that the next request of a burst already finds the prefix.
        self.index.insert(best.id, &keys, blocks_max(&best, &facts));

        let explained = request.detail == Detail::Explained;
        let picked = Picked {
            request: id,
            endpoint: best.id,
            address: best.address,
            waited: now.since(request.arrived),
            prompt_tokens,
            cached_tokens: best.cached_tokens,
            candidates: self.scratch.candidates.len(),
            scores: explained.then(|| {
                self.config
                    .profile
                    .explain(&self.scratch.candidates, &self.scratch.scores)
            }),
        };
        let pick = Pick {
            destinations: request.destinations.clone(),
        };
        outputs.push(Output::Decided {
            id,
            decision: Decision::Picked(pick),
        });
        outputs.push(Output::Event(Event::Picked(Box::new(picked))));
        self.requests.insert(id, request);
    }

    /// Fills the scratch with the endpoints that may serve: in the gateway's subset, and not ejected
    /// unless nobody else is left.
    fn gather(&mut self, now: Timestamp, facts: &RequestFacts) {
        let Self {
            endpoints,
            ledger,
            scratch,
            ..
        } = self;
        let block_tokens = facts.prompt.block_size.tokens().0;
        let admitted = |address| {
            let subset = facts.subset.as_ref();
            subset.is_none_or(|subset| subset.iter().any(|entry| entry.admits(address)))
        };
        scratch.candidates.clear();
        scratch.candidates.extend(
            endpoints
                .iter()
                .filter(|member| admitted(member.spec.address))
                .map(|member| {
                    let matched = u64::from(scratch.matches.blocks(member.id));
                    Candidate {
                        id: member.id,
                        address: member.spec.address,
                        load: member.load.load(),
                        own: ledger.own(member.id),
                        foreign_requests: ledger.foreign(member.id),
                        cached_tokens: Tokens(matched.saturating_mul(block_tokens)),
                    }
                }),
        );
        let usable = |candidate: &Candidate| !endpoints.is_ejected(candidate.id, now);
        if scratch.candidates.iter().any(usable) {
            scratch.candidates.retain(usable);
        }
        replace_stale_loads(now, &mut scratch.candidates);
    }
}

/// Gives candidates without a fresh report the median of those that have one, so that an unknown
/// load is neither the best nor the worst. Where nobody has one, all count as idle alike, and own
/// requests and prefixes decide.
fn replace_stale_loads(now: Timestamp, candidates: &mut [Candidate]) {
    let is_fresh = |candidate: &Candidate| !candidate.load.is_stale(now, LOAD_AGE_MAX);
    if candidates.iter().all(is_fresh) {
        return;
    }
    let fresh: Vec<Candidate> = candidates
        .iter()
        .filter(|candidate| is_fresh(candidate))
        .copied()
        .collect();
    let of_requests = |value: fn(&Candidate) -> u32| median(fresh.iter().map(value), u32::cmp);
    let waiting = of_requests(|candidate| candidate.load.waiting);
    let running = of_requests(|candidate| candidate.load.running);
    let foreign_requests = of_requests(|candidate| candidate.foreign_requests);
    let kv_usage = fresh
        .iter()
        .map(|candidate| candidate.load.kv_usage.value());
    let kv_usage = Unit::clamped(median(kv_usage, f64::total_cmp));
    for candidate in candidates
        .iter_mut()
        .filter(|candidate| !is_fresh(candidate))
    {
        candidate.load = EndpointLoad {
            waiting,
            running,
            kv_usage,
            ..candidate.load
        };
        candidate.foreign_requests = foreign_requests;
    }
}

/// The upper median; the default value of an empty set.
fn median<T: Copy + Default>(
    values: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> core::cmp::Ordering,
) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(compare);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// How many blocks the endpoint's engine can keep, where it told the size of its cache.
fn blocks_max(candidate: &Candidate, facts: &RequestFacts) -> Option<usize> {
    let tokens = candidate.load.kv_tokens?.0;
    let blocks = tokens / facts.prompt.block_size.tokens().0.max(1);
    Some(usize::try_from(blocks).unwrap_or(usize::MAX))
}

/// A report older than this says nothing about now.
const LOAD_AGE_MAX: Duration = Duration::from_secs(2);
