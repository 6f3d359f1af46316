//! Pools in the middle of their work.

use std::net::SocketAddr;

use pointsman_domain::block::BlockSize;
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::load::LoadSample;
use pointsman_domain::observation::EndCause;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::{Detail, Input, Output, Pool};
use pointsman_policy::config;
use pointsman_request::read;

use crate::body::{self, Request};

/// A pool, and what comes next.
#[derive(Debug)]
pub struct Moment {
    /// The pool.
    pub pool: Box<Pool>,
    /// The time.
    pub now: Timestamp,
    /// What comes next.
    pub input: Input,
    /// Room for what the pool answers.
    pub outputs: Vec<Output>,
}

/// A pool of the default configuration and so many endpoints, just before the next turn of a
/// conversation is offered.
///
/// Each endpoint has reported its load, has answered one conversation and is answering another; the
/// prefix index holds all of them.
pub fn before_offer(endpoints: u32) -> Moment {
    let mut moment = Moment::new(endpoints);
    for number in 0..endpoints {
        moment.report(number);
    }
    for number in 0..2 * endpoints {
        moment.play(offer(number, facts(&body::conversation(number, 6))));
        if number % 2 == 0 {
            moment.play(ended(number));
        }
    }
    moment.input = offer(2 * endpoints, facts(&body::conversation(0, 8)));
    moment
}

/// The same pool after that offer, just before the request ends.
pub fn before_end(endpoints: u32) -> Moment {
    let mut moment = before_offer(endpoints);
    let offered = std::mem::replace(&mut moment.input, ended(2 * endpoints));
    moment.play(offered);
    moment
}

/// What is known of a request.
///
/// # Panics
/// If its body is refused.
#[expect(clippy::expect_used, reason = "the bodies are our own")]
pub fn facts(request: &Request) -> RequestFacts {
    read::with_body(&request.head, &request.body, BlockSize::DEFAULT)
        .expect("the body is refused")
        .facts
}

impl Moment {
    /// Lets it happen.
    #[inline]
    pub fn take(self) -> (Box<Pool>, Vec<Output>) {
        let Self {
            mut pool,
            now,
            input,
            mut outputs,
        } = self;
        pool.input(now, input, &mut outputs);
        (pool, outputs)
    }

    #[expect(clippy::expect_used, reason = "an empty configuration has no problems")]
    fn new(endpoints: u32) -> Self {
        let compiled = config::load("", Attachment::Gateway).expect("the default does not compile");
        let mut moment = Self {
            pool: Box::new(Pool::new(compiled.runtime, SEED)),
            now: Timestamp::ZERO,
            input: Input::Expire,
            outputs: Vec::with_capacity(OUTPUTS_MAX),
        };
        moment.play(Input::Endpoints((0..endpoints).map(endpoint).collect()));
        moment
    }

    /// Lets a millisecond pass and plays `input`.
    fn play(&mut self, input: Input) {
        self.now = self.now.plus(core::time::Duration::from_millis(1));
        self.outputs.clear();
        self.pool.input(self.now, input, &mut self.outputs);
    }

    fn report(&mut self, number: u32) {
        let endpoint = EndpointId {
            slot: number,
            generation: 1,
        };
        let sample = LoadSample {
            waiting: Some(number % 3),
            running: Some(number % 11),
            kv_usage: Some(Unit::clamped(f64::from(number % 7) / 8.0)),
            kv_block_tokens: Some(16),
            kv_blocks: Some(27_000),
            ..LoadSample::default()
        };
        self.play(Input::ScrapeBegun(endpoint));
        self.play(Input::ScrapeDone(endpoint, Box::new(sample.into())));
    }
}

fn offer(number: u32, facts: RequestFacts) -> Input {
    Input::Offer {
        id: RequestId(number.into()),
        facts: Box::new(facts),
        detail: Detail::Brief,
    }
}

fn ended(number: u32) -> Input {
    Input::Ended {
        id: RequestId(number.into()),
        cause: EndCause::Complete,
    }
}

fn endpoint(number: u32) -> EndpointSpec {
    let [.., third, fourth] = number.to_be_bytes();
    let address = SocketAddr::from(([10, 0, third, fourth], 8000));
    EndpointSpec::new(format!("default/engine-{number:03}"), address)
}

/// Of the pool's choices among equals.
const SEED: u64 = 1;

/// More than one input of these brings.
const OUTPUTS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use pointsman_domain::event::Event;
    use pointsman_domain::units::Tokens;

    use super::*;

    #[test]
    fn the_offer_finds_all_endpoints_and_its_earlier_turns_in_cache() {
        for endpoints in [8, 256] {
            let mut moment = before_offer(endpoints);
            assert_eq!(moment.pool.sizes().endpoints, endpoints as usize);
            assert_eq!(moment.pool.sizes().in_flight, endpoints as usize);
            moment.outputs.clear();
            let (_, outputs) = moment.take();
            let picked = outputs.iter().find_map(|output| match output {
                Output::Event(Event::Picked(picked)) => Some(picked),
                _ => None,
            });
            let picked = picked.expect("nothing was picked");
            assert_eq!(picked.candidates, endpoints as usize);
            assert!(picked.cached_tokens >= Tokens(2048), "{picked:?}");
        }
    }

    #[test]
    fn the_end_is_that_of_a_request_in_flight() {
        let Moment {
            mut pool,
            now,
            input,
            mut outputs,
        } = before_end(8);
        assert_eq!(pool.sizes().in_flight, 9);
        pool.input(now, input, &mut outputs);
        assert_eq!(pool.sizes().in_flight, 8);
    }
}
