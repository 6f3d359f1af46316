//! Requests that have no slot.

use std::collections::{BTreeMap, VecDeque};

use pointsman_domain::time::Timestamp;

use crate::config::{EngineConfig, Role, Speed, Transfer};
use crate::job::{AdapterId, JobId};
use crate::request::Request;

/// Requests that have no slot. Where prompts come from another engine, a request joins the line once
/// its prompt is there.
#[derive(Debug)]
pub(crate) struct Queue {
    transfer: Option<Transfer>,
    speed: Speed,
    /// Submitted, and the engine has not been told the time since.
    announced: Vec<Request>,
    /// By the time at which their prompts are there.
    in_transfer: BTreeMap<(Timestamp, JobId), Request>,
    line: VecDeque<Request>,
    /// So many at the head of the line are passed over.
    passed: usize,
}

impl Queue {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        let transfer = match config.role {
            Role::Decode(transfer) => Some(transfer),
            Role::Both | Role::Prefill => None,
        };
        Self {
            transfer,
            speed: config.speed,
            announced: Vec::new(),
            in_transfer: BTreeMap::new(),
            line: VecDeque::new(),
            passed: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.announced.len() + self.in_transfer.len() + self.line.len()
    }

    /// Those that are passed over, and those that are not in line yet.
    pub(crate) fn deferred(&self) -> usize {
        self.announced.len() + self.in_transfer.len() + self.passed
    }

    /// Puts a new request at the end, or begins the transfer of its prompt when the time is told.
    pub(crate) fn submit(&mut self, request: Request) {
        match self.transfer {
            Some(_) => self.announced.push(request),
            None => self.line.push_back(request),
        }
    }

    /// Begins the transfers for what was submitted since the last call.
    pub(crate) fn begin_transfers(&mut self, now: Timestamp) {
        let Some(transfer) = self.transfer else {
            return;
        };
        for request in self.announced.drain(..) {
            let time = transfer.time(request.job.prompt_tokens.get());
            let arrival = now.plus(self.speed.of(time));
            self.in_transfer.insert((arrival, request.id), request);
        }
    }

    /// Lets those join the line whose prompts are there, in the order of their arrival.
    pub(crate) fn let_in(&mut self, now: Timestamp) {
        while let Some(first) = self.in_transfer.first_entry()
            && first.key().0 <= now
        {
            self.line.push_back(first.remove());
        }
    }

    /// When the next prompt is there.
    pub(crate) fn next_arrival(&self) -> Option<Timestamp> {
        self.in_transfer
            .first_key_value()
            .map(|(&(arrival, _), _)| arrival)
    }

    /// The first request in line that `may_run`. Those before it are passed over from now on, until
    /// [`Self::reconsider`] is called.
    pub(crate) fn candidate(&mut self, may_run: impl Fn(&Request) -> bool) -> Option<&Request> {
        while !may_run(self.line.get(self.passed)?) {
            self.passed += 1;
        }
        self.line.get(self.passed)
    }

    /// Takes what [`Self::candidate`] has found last.
    pub(crate) fn take_candidate(&mut self) -> Option<Request> {
        self.line.remove(self.passed)
    }

    /// Something has changed for those that were passed over.
    pub(crate) const fn reconsider(&mut self) {
        self.passed = 0;
    }

    /// Puts a request at the head of the line.
    pub(crate) fn put_back(&mut self, request: Request) {
        self.line.push_front(request);
        self.reconsider();
    }

    /// Drops a request; returns whether it was here.
    pub(crate) fn cancel(&mut self, id: JobId) -> bool {
        if let Some(place) = self.line.iter().position(|request| request.id == id) {
            self.line.remove(place);
            self.passed -= usize::from(place < self.passed);
            return true;
        }
        let before = self.len();
        self.announced.retain(|request| request.id != id);
        self.in_transfer.retain(|_, request| request.id != id);
        self.len() < before
    }

    /// The adapters that requests here need, in no order.
    pub(crate) fn adapters(&self) -> impl Iterator<Item = AdapterId> {
        let announced = self.announced.iter();
        announced
            .chain(self.in_transfer.values())
            .chain(&self.line)
            .filter_map(|request| request.job.adapter)
    }
}
