//! A request's way: picker, network, engine, and back.

use pointsman_domain::block::BlockKey;
use pointsman_domain::decision::{Decision, Destination};
use pointsman_domain::endpoint::{EndpointId, EndpointSpec, SubsetEntry};
use pointsman_domain::event::Event;
use pointsman_domain::facts::RequestId;
use pointsman_domain::observation::{EndCause, Observation as Seen, Usage};
use pointsman_domain::units::Tokens;
use pointsman_engine::job::{Content, Job, Piece, Refusal};
use pointsman_pipeline::pool::{Detail, Input, Output};

use super::World;
use super::moments::What;
use crate::outcome::Ending;
use crate::prompt;
use crate::scenario::Observation;
use crate::scenario::engine::{Engine, Mode};
use crate::workload::Plan;

impl World<'_> {
    /// A request comes to a picker.
    pub(super) fn arrives(&mut self, plan: usize) {
        let picker = self.pickers.assign(self.flights.chance(plan, 2));
        if self.setup.pickers.scrape_ms.value() <= 0.0 {
            self.scrape_all(picker);
        }
        let member = &mut self.pickers.members[picker];
        member.open += 1;
        let flight = &mut self.flights.flights[plan];
        flight.record.arrived = Some(self.now);
        flight.picker = Some((picker, member.life));
        flight.is_open = true;
        let config = member.pool.config();
        let size = config.block_size;
        let own = prompt::own_content(plan);
        let planned = self.flights.plan(plan);
        let blocks = prompt::blocks(planned, own, size, BLOCKS_MAX);
        let mut facts = Box::new(prompt::facts(planned, blocks, size));
        facts.subset = self.subset(plan);
        facts.observation = self.flights.mode(plan);
        let detail = if self.watch.explained == Some(plan) {
            Detail::Explained
        } else {
            Detail::Brief
        };
        if let Some(reported) = &mut self.engines.reported {
            let shared_end = planned.pieces.last().map_or(0, |piece| piece.end_tokens);
            let parts = engine_parts(planned, plan, &self.setup.fleet.engine);
            // Nobody asks for what no piece covers, so it needs no name.
            let parts = parts.into_iter().take_while(|&(_, end)| end <= shared_end);
            prompt::name_keys(parts, &facts.block_keys(facts.model.name()), size, reported);
        }
        if let Some(leavers) = self.setup.leavers
            && self.flights.is_leaving(plan)
        {
            let at = self.now.plus(leavers.after_ms.duration());
            self.moments.push(at, What::Leaves(plan));
        }
        let id = RequestId(plan as u64);
        self.pickers
            .input(picker, self.now, Input::Offer { id, facts, detail });
    }

    /// The gateway's subset hint for a request whose endpoint is given.
    fn subset(&self, plan: usize) -> Option<Vec<SubsetEntry>> {
        let endpoint = *self.flights.followed.get(plan)?;
        let address = self.engines.members.get(endpoint)?.spec.address;
        Some(vec![SubsetEntry {
            ip: address.ip(),
            port: Some(address.port()),
        }])
    }

    /// Looks at everything that the pools have answered.
    pub(super) fn settle(&mut self) {
        while let Some((picker, output)) = self.pickers.outputs.pop_front() {
            match output {
                Output::Decided { id, decision } => self.decided(id.0 as usize, decision),
                Output::Endpoints { added, removed } => {
                    self.lives_changed(picker, &added, &removed);
                }
                Output::Event(Event::Picked(picked)) if picked.scores.is_some() => {
                    self.watch.reasons = Some(*picked);
                }
                Output::Event(Event::FirstOutput { .. }) => self.watch.seen.first_outputs += 1,
                Output::Event(Event::Completed(completed)) => {
                    let seen = &mut self.watch.seen;
                    seen.usages += u64::from(completed.usage.is_some());
                    let timings = completed.timings;
                    seen.visible_outputs += u64::from(timings.first_visible.is_some());
                    seen.ends_of_output += u64::from(timings.finished.is_some());
                }
                Output::Event(_) => {}
            }
        }
        self.schedule_deadlines();
    }

    fn lives_changed(
        &mut self,
        picker: usize,
        added: &[(EndpointId, EndpointSpec)],
        removed: &[EndpointId],
    ) {
        let ids = &mut self.pickers.members[picker].ids;
        for known in ids.iter_mut() {
            known.take_if(|id| removed.contains(id));
        }
        for (id, spec) in added {
            let mut members = self.engines.members.iter();
            if let Some(place) = members.position(|m| m.spec.address == spec.address) {
                self.pickers.members[picker].ids[place] = Some(*id);
                self.introduce_cache(picker, place);
            }
        }
    }

    /// A picked request reaches the first of its endpoints that takes it, as the gateway tries them
    /// in their order.
    pub(super) fn reaches(&mut self, plan: usize) {
        while self.flights.flights[plan].is_open {
            let flight = &mut self.flights.flights[plan];
            if flight.destinations.is_empty() {
                return self.fails_with(plan, 503);
            }
            let (endpoint, _) = flight.destinations[flight.tries];
            match self.send(plan, endpoint) {
                Sent::Taken => return,
                Sent::Refused(status) => {
                    if !self.goes_on(plan) {
                        return self.fails_with(plan, status);
                    }
                }
            }
        }
    }

    /// An endpoint's error comes back.
    pub(super) fn fails(&mut self, plan: usize) {
        let flight = &mut self.flights.flights[plan];
        if !flight.is_open {
            return;
        }
        if let Some(endpoint) = flight.record.endpoint {
            self.engines.members[endpoint].in_flight -= 1;
        }
        flight.record.endpoint = None;
        if self.goes_on(plan) {
            self.reaches(plan);
        } else {
            self.fails_with(plan, 500);
        }
    }

    /// The gateway turns to the next endpoint of the request's list; false if there is none.
    fn goes_on(&mut self, plan: usize) -> bool {
        let flight = &mut self.flights.flights[plan];
        let has_next = flight.tries + 1 < flight.destinations.len();
        if has_next {
            flight.tries += 1;
            flight.record.retries += 1;
        }
        has_next
    }

    fn send(&mut self, plan: usize, endpoint: usize) -> Sent {
        let planned = &self.flights.workload.plans[plan];
        let member = &mut self.engines.members[endpoint];
        if member.condition.refuses {
            return Sent::Refused(503);
        }
        if let Some(after) = member.condition.errors_after {
            member.assigned += 1;
            member.in_flight += 1;
            self.flights.flights[plan].record.endpoint = Some(endpoint);
            self.moments.push(self.now.plus(after), What::Fails(plan));
            return Sent::Taken;
        }
        match member
            .engine
            .submit(job(planned, plan, &self.setup.fleet.engine))
        {
            Ok(id) => {
                member.accepted(id, plan);
                let flight = &mut self.flights.flights[plan];
                flight.record.endpoint = Some(endpoint);
                flight.job = Some(id);
                self.engines.wake(endpoint);
                Sent::Taken
            }
            // The request is wrong, not the endpoint.
            Err(Refusal::Oversized { .. }) => Sent::Refused(400),
            Err(Refusal::QueueFull { .. }) => Sent::Refused(503),
        }
    }

    fn fails_with(&mut self, plan: usize, status: u16) {
        self.answered_with(plan, status);
        self.ends(plan, EndCause::EngineError, Ending::Failed);
    }

    /// The client leaves, wherever its request is.
    pub(super) fn leaves(&mut self, plan: usize) {
        let flight = &self.flights.flights[plan];
        if !flight.is_open {
            return;
        }
        if let (Some(endpoint), Some(job)) = (flight.record.endpoint, flight.job) {
            self.engines.members[endpoint].engine.cancel(job);
            self.engines.wake(endpoint);
        }
        self.ends(plan, EndCause::Cut, Ending::Left);
    }

    /// The engine's process is gone, and the request with it.
    pub(super) fn cut(&mut self, plan: usize) {
        self.ends(plan, EndCause::Cut, Ending::Failed);
    }

    pub(super) fn first_token(&mut self, plan: usize) {
        self.flights.flights[plan].record.first_token = Some(self.now);
        self.answered_with(plan, 200);
        if self.flights.is_observed(plan) {
            self.observed(plan, Seen::FirstOutput);
            // No engine here thinks first.
            self.observed(plan, Seen::FirstVisible);
        }
    }

    pub(super) fn finished(&mut self, plan: usize) {
        if self.flights.is_observed(plan) {
            let planned = self.flights.plan(plan);
            let cached = self.flights.flights[plan].record.cached_tokens;
            let usage = Usage {
                prompt: Tokens(u64::from(planned.prompt_tokens.get())),
                output: Tokens(u64::from(planned.output_tokens.get())),
                cached: Some(Tokens(u64::from(cached))),
                reasoning: None,
            };
            self.observed(plan, Seen::Usage(usage));
            self.observed(plan, Seen::Finished);
        }
        self.ends(plan, EndCause::Complete, Ending::Complete);
    }

    fn decided(&mut self, plan: usize, decision: Decision) {
        self.flights.flights[plan].record.decisions += 1;
        match decision {
            Decision::Picked(pick) => {
                let place = |destination: &Destination| {
                    let mut members = self.engines.members.iter();
                    let place = members.position(|m| m.spec.address == destination.address)?;
                    Some((place, destination.endpoint))
                };
                let destinations = pick.destinations.iter().filter_map(place).collect();
                let flight = &mut self.flights.flights[plan];
                flight.destinations = destinations;
                flight.life = pick.destinations.first().map(|first| first.endpoint);
                flight.record.picked = Some(self.now);
                self.watch.picked(self.now, plan, &flight.destinations);
                let network = self.setup.network_ms.duration();
                if network.is_zero() {
                    self.reaches(plan);
                } else {
                    self.moments
                        .push(self.now.plus(network), What::Reaches(plan));
                }
            }
            Decision::Refused(_) => {
                // The pool has nothing of it any more, so there is nothing to end there.
                self.close(plan, Ending::Refused);
            }
        }
    }

    fn answered_with(&mut self, plan: usize, status: u16) {
        if self.setup.observation == Observation::EndOnly {
            return;
        }
        let flight = &mut self.flights.flights[plan];
        if flight.tries > 0 {
            let (endpoint, life) = flight.destinations[flight.tries];
            flight.life = Some(life);
            let address = self.engines.members[endpoint].spec.address;
            self.observed(plan, Seen::Served(address));
        }
        self.observed(plan, Seen::Answered { status });
    }

    fn observed(&mut self, plan: usize, observation: Seen) {
        if let Some((picker, life)) = self.flights.flights[plan].picker
            && self.pickers.members[picker].life == life
        {
            let id = RequestId(plan as u64);
            let input = Input::Observed { id, observation };
            self.pickers.input(picker, self.now, input);
        }
    }

    fn ends(&mut self, plan: usize, cause: EndCause, ending: Ending) {
        let flight = &self.flights.flights[plan];
        if let Some(endpoint) = flight.record.endpoint {
            self.engines.members[endpoint].in_flight -= 1;
        }
        if let Some((picker, life)) = flight.picker
            && self.pickers.members[picker].life == life
        {
            let id = RequestId(plan as u64);
            self.pickers
                .input(picker, self.now, Input::Ended { id, cause });
        }
        self.close(plan, ending);
    }

    fn close(&mut self, plan: usize, ending: Ending) {
        if let Some((picker, life)) = self.flights.flights[plan].picker {
            let member = &mut self.pickers.members[picker];
            if member.life == life {
                member.open -= 1;
            }
        }
        self.watch.ended(self.now, plan, ending);
        if let Some(next) = self.flights.end(plan, self.now, ending) {
            self.moments.push(next.at, What::Arrives(next.plan));
        }
    }

    fn schedule_deadlines(&mut self) {
        for (picker, member) in self.pickers.members.iter_mut().enumerate() {
            let due = member.pool.next_deadline();
            if let Some(at) = due
                && member.deadline.is_none_or(|deadline| at < deadline)
            {
                member.deadline = Some(at);
                self.moments
                    .push(at.max(self.now), What::Expires { picker });
            }
        }
    }
}

/// What an endpoint did with a request.
enum Sent {
    /// An answer will come.
    Taken,
    /// It did not take it, with this status.
    Refused(u16),
}

/// The request as its engine sees it.
fn job(planned: &Plan, plan: usize, engine: &Engine) -> Job {
    let parts = engine_parts(planned, plan, engine).into_iter();
    let content = match engine.mode {
        Mode::Article { .. } => Content::Pieces(
            parts
                .map(|(key, end_tokens)| Piece { key, end_tokens })
                .collect(),
        ),
        Mode::Continuous { .. } => Content::Blocks(parts.map(|(key, _)| key).collect()),
    };
    Job {
        content,
        prompt_tokens: planned.prompt_tokens,
        output_tokens: planned.output_tokens,
        adapter: planned.adapter,
    }
}

/// The parts of the prompt by the engine's own keys, each with its end in tokens. What one adapter has
/// computed is of no use to another one, so its number is in the keys.
fn engine_parts(planned: &Plan, plan: usize, engine: &Engine) -> Vec<(BlockKey, u32)> {
    let scope = planned
        .adapter
        .map_or(0, |adapter| u64::from(adapter.0) + 1);
    match engine.mode {
        Mode::Article { .. } => {
            let named = |piece: &crate::workload::Piece| {
                let key = prompt::mixed(piece.key.0, scope);
                (BlockKey(key), piece.end_tokens)
            };
            planned.pieces.iter().map(named).collect()
        }
        Mode::Continuous { .. } => {
            let own = prompt::own_content(plan);
            prompt::engine_keys(planned, own, BlockKey(scope), engine.block_size())
        }
    }
}

/// As the picker's parser: later blocks of a prompt are not looked up.
const BLOCKS_MAX: usize = pointsman_domain::block::BLOCKS_MAX;
