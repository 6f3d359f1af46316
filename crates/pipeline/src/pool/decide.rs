//! One decision: candidates, their prefix matches, the profile, and the reservation, in one step.

use pointsman_domain::decision::{Decision, Destination, Pick, Refusal};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::{Event, Picked};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;
use pointsman_prefix::index::Matches;
use pointsman_schedule::candidate::Candidate;
use pointsman_schedule::profile::Scores;
use pointsman_schedule::question::Question;

use crate::endpoints::Endpoints;
use crate::pool::requests::{Request, Sent};
use crate::pool::stale::Medians;
use crate::pool::{Detail, Output, Pool};

/// Space that every decision uses again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    matches: Matches,
    pub(super) candidates: Vec<Candidate>,
    medians: Medians,
    scores: Scores,
}

impl Scratch {
    /// Tokens of the prompt that the index says are in cache there.
    fn matched(&self, endpoint: EndpointId, facts: &RequestFacts) -> Tokens {
        tokens_of(&self.matches, endpoint, facts)
    }
}

impl Pool {
    /// Picks for a request, or refuses it when the gateway's subset leaves nobody or it lacks a model.
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
        let target = match self.config.rewrites.target(&facts, &mut self.rng) {
            Ok(target) => target,
            Err(refusal) => return self.refuse(now, id, request.arrived, refusal, outputs),
        };
        let keys = facts.block_keys(target);
        let rewritten = target.filter(|&target| facts.model.name() != Some(target));
        let model = rewritten.map(Box::from);
        self.index.lookup(&keys, &mut self.scratch.matches);
        self.gather(now, &facts);

        let Scratch {
            candidates, scores, ..
        } = &mut self.scratch;
        let question = Question {
            request: &facts,
            keys: &keys,
            candidates,
            pickers: self.pickers,
            wanted: self.config.destinations_max,
        };
        let order = self.config.profile.run(&question, scores, &mut self.rng);
        let chosen = order.iter().filter_map(|&index| candidates.get(index));
        request.destinations = chosen
            .map(|c| Destination {
                endpoint: c.id,
                address: c.address,
            })
            .collect();
        let Some(&best) = order.first().and_then(|&index| candidates.get(index)) else {
            return self.refuse(now, id, request.arrived, Refusal::NoEndpoints, outputs);
        };

        let sent = Sent {
            at: now,
            endpoint: best.id,
            uncached_tokens: facts.prompt.tokens.minus(best.cached_tokens),
            believed_tokens: self.scratch.matched(best.id, &facts),
            is_alone: best.load.waiting == 0 && best.own.before_first_token == 0,
            observation: facts.observation,
        };
        request.sent = Some(sent);
        self.ledger.reserve(now, id, request.reservation(sent));
        if self.config.prefix_source.is_predicted() {
            // Here, so that the next request of a burst already finds the prefix.
            self.index.insert(best.id, &keys, blocks_max(&best, &facts));
        } else {
            // What the engine stored long ago and still uses is the last that should leave.
            self.index.refresh(best.id, &keys);
        }
        let choice = Choice { facts, best, model };
        self.picked(now, id, request, choice, outputs);
    }

    /// Tells the decision. What stands in the table by then has its reservation.
    fn picked(
        &mut self,
        now: Timestamp,
        id: RequestId,
        request: Request,
        choice: Choice,
        outputs: &mut Vec<Output>,
    ) {
        let Choice { facts, best, model } = choice;
        let explained = request.detail == Detail::Explained;
        let picked = Picked {
            request: id,
            endpoint: best.id,
            address: best.address,
            waited: now.since(request.arrived),
            model: facts.model.into_name(),
            target_model: model.clone(),
            prompt_tokens: facts.prompt.tokens,
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
            model,
        };
        self.requests.insert(id, request);
        outputs.push(Output::Decided {
            id,
            decision: Decision::Picked(pick),
        });
        outputs.push(Output::Event(Event::Picked(Box::new(picked))));
    }

    /// Fills the scratch with the endpoints that may serve: in the gateway's subset, and not ejected
    /// unless nobody else is left.
    pub(super) fn gather(&mut self, now: Timestamp, facts: &RequestFacts) {
        let Self {
            endpoints,
            ledger,
            scratch,
            ..
        } = self;
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
                    let context = ledger.report_context(member.id);
                    ledger.settle(member.id, now);
                    let believed = tokens_of(&scratch.matches, member.id, facts);
                    Candidate {
                        id: member.id,
                        address: member.spec.address,
                        load: member.load.load(),
                        own: ledger.own(member.id, now),
                        reported_requests: context.requests,
                        foreign_requests: context.foreign,
                        own_at_report: context.own_at_report,
                        dispatched_since_report: context.dispatched_since_report,
                        cached_tokens: member.cache_trust.expected(believed),
                    }
                }),
        );
        let usable = |candidate: &Candidate| !endpoints.is_ejected(candidate.id, now);
        if scratch.candidates.iter().any(usable) {
            scratch.candidates.retain(usable);
        }
        spare_preempting(now, endpoints, &mut scratch.candidates);
        scratch
            .medians
            .replace_stale_loads(now, &mut scratch.candidates);
    }
}

/// Tokens of the matched blocks of an endpoint.
fn tokens_of(matches: &Matches, endpoint: EndpointId, facts: &RequestFacts) -> Tokens {
    let blocks = u64::from(matches.blocks(endpoint));
    Tokens(blocks.saturating_mul(facts.prompt.block_size.tokens().0))
}

/// Leaves out endpoints that preempt again and again, which need less to do, unless they are more than
/// half: then the others could not take their requests.
fn spare_preempting(now: Timestamp, endpoints: &Endpoints, candidates: &mut Vec<Candidate>) {
    let is_preempting = |candidate: &Candidate| {
        let member = endpoints.get(candidate.id);
        member.is_some_and(|member| member.load.is_preempting(now))
    };
    let preempting = candidates.iter().filter(|it| is_preempting(it)).count();
    if preempting > 0 && preempting * 2 <= candidates.len() {
        candidates.retain(|candidate| !is_preempting(candidate));
    }
}

/// What was chosen for a request.
struct Choice {
    facts: Box<RequestFacts>,
    best: Candidate,
    /// The model to ask for, where it is not the one that the body names.
    model: Option<Box<str>>,
}

/// How many blocks the endpoint's engine can keep, where it told the size of its cache.
fn blocks_max(candidate: &Candidate, facts: &RequestFacts) -> Option<usize> {
    let tokens = candidate.load.kv_tokens?.0;
    let blocks = tokens / facts.prompt.block_size.tokens().0.max(1);
    Some(usize::try_from(blocks).unwrap_or(usize::MAX))
}
