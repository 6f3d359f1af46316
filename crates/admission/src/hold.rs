//! Held requests, in the order they came. Waiting is data: the caller sleeps until
//! [`Hold::next_deadline`].

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use pointsman_domain::decision::Refusal;
use pointsman_domain::facts::RequestId;
use pointsman_domain::time::Timestamp;

/// How much may wait, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldLimits {
    /// Requests that may wait at once; 0 holds nothing, so that a request is refused at once.
    pub requests_max: usize,
    /// Body bytes of waiting requests.
    pub bytes_max: u64,
    /// The longest wait; `None` waits for ever.
    pub wait_max: Option<Duration>,
}

impl HoldLimits {
    /// Holds nothing.
    pub const OFF: Self = Self {
        requests_max: 0,
        bytes_max: 0,
        wait_max: None,
    };
}

/// The answer to a request that cannot be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits.
    Hold,
    /// It is refused.
    Shed(Refusal),
}

/// The waiting requests of one pool.
#[derive(Debug)]
pub struct Hold {
    limits: HoldLimits,
    line: BTreeMap<Ticket, Waiting>,
    tickets: BTreeMap<RequestId, Ticket>,
    deadlines: BTreeSet<(Timestamp, Ticket)>,
    bytes: u64,
    next: Ticket,
}

type Ticket = u64;

#[derive(Debug)]
struct Waiting {
    request: RequestId,
    bytes: u64,
    deadline: Option<Timestamp>,
}

impl Hold {
    /// Nobody waits.
    pub const fn new(limits: HoldLimits) -> Self {
        Self {
            limits,
            line: BTreeMap::new(),
            tickets: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            bytes: 0,
            next: 0,
        }
    }

    /// Other limits from now on. Those who wait keep their place and their deadline.
    pub const fn set_limits(&mut self, limits: HoldLimits) {
        self.limits = limits;
    }

    /// Asks for a place for `request`, whose body has `bytes` bytes.
    pub fn offer(&mut self, request: RequestId, bytes: u64, now: Timestamp) -> Verdict {
        if self.limits.requests_max == 0 {
            return Verdict::Shed(Refusal::NoEndpoints);
        }
        let bytes_after = self.bytes.saturating_add(bytes);
        if self.line.len() >= self.limits.requests_max || bytes_after > self.limits.bytes_max {
            return Verdict::Shed(Refusal::HoldFull);
        }
        let ticket = self.next;
        self.next += 1;
        let deadline = self.limits.wait_max.map(|wait| now.plus(wait));
        self.line.insert(
            ticket,
            Waiting {
                request,
                bytes,
                deadline,
            },
        );
        self.tickets.insert(request, ticket);
        self.deadlines.extend(deadline.map(|at| (at, ticket)));
        self.bytes = bytes_after;
        Verdict::Hold
    }

    /// Lets the first in line go.
    pub fn release(&mut self) -> Option<RequestId> {
        let (&ticket, _) = self.line.first_key_value()?;
        self.remove(ticket)
    }

    /// Takes a request out of the line, wherever it stands; `false` if it does not wait.
    pub fn withdraw(&mut self, request: RequestId) -> bool {
        let ticket = self.tickets.get(&request).copied();
        ticket.and_then(|ticket| self.remove(ticket)).is_some()
    }

    /// Whether the request waits.
    pub fn contains(&self, request: RequestId) -> bool {
        self.tickets.contains_key(&request)
    }

    /// One request whose time is over, if there is any.
    pub fn expire(&mut self, now: Timestamp) -> Option<RequestId> {
        let &(deadline, ticket) = self.deadlines.first()?;
        if deadline <= now {
            self.remove(ticket)
        } else {
            None
        }
    }

    /// When [`expire`](Self::expire) next has something to give.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Body bytes of those who wait.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn remove(&mut self, ticket: Ticket) -> Option<RequestId> {
        let waiting = self.line.remove(&ticket)?;
        self.tickets.remove(&waiting.request);
        if let Some(deadline) = waiting.deadline {
            self.deadlines.remove(&(deadline, ticket));
        }
        self.bytes = self.bytes.saturating_sub(waiting.bytes);
        Some(waiting.request)
    }
}

#[cfg(test)]
mod tests;
