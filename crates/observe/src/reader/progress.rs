//! How far an answer is.

use pointsman_domain::facts::Dialect;
use pointsman_domain::observation::Observation;

use super::Expected;
use crate::assembly::{Assembly, Data};
use crate::counts::Counts;
use crate::event::{Event, Finish, Last, Token};
use crate::needles::Needles;
use crate::sight::{Answers, Facts, Reading, Scope, Unread};

/// How far the answer is, and what of that is told.
#[derive(Debug)]
pub(super) struct Progress {
    dialect: Dialect,
    choices: u32,
    token: Token,
    finished: Answers,
    is_finished: bool,
    counts: Counts,
    is_settled: bool,
}

impl Progress {
    pub(super) const fn new(expected: Expected) -> Self {
        Self {
            dialect: expected.dialect,
            choices: expected.choices.get(),
            token: Token::None,
            finished: Answers::NONE,
            is_finished: false,
            counts: Counts::NONE,
            is_settled: false,
        }
    }

    /// Whether all is told that will be.
    pub(super) const fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Takes a byte of a body that comes when the answer is complete, or of which nothing is known.
    pub(super) fn output(&mut self, seen: &mut impl FnMut(Observation)) {
        self.token(Token::Visible, seen);
    }

    /// Takes what the whole body says.
    pub(super) fn body(&mut self, facts: &Facts) {
        self.counts.update(facts.envelope_usage);
        self.counts.update(facts.meta);
        self.counts.update(facts.usage);
    }

    /// Takes the data of an event.
    pub(super) fn data(
        &mut self,
        data: Data<'_>,
        needles: &Needles,
        seen: &mut impl FnMut(Observation),
    ) {
        if self.is_settled {
            return;
        }
        let facts = match data {
            Data::Text(text) if is_done(text) => {
                return self.event(Event::DONE, Counts::NONE, seen);
            }
            Data::Text(text) => {
                if self.may_skip(text, needles) {
                    return;
                }
                Reading::of(text, Scope::Event)
            }
            Data::Read(reading) => reading.finish(),
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(Unread::Blank) => return,
            Err(Unread::Broken) => return self.event(Event::UNKNOWN, Counts::NONE, seen),
        };
        let event = Event::of(&facts, facts.usage.usage(self.dialect).is_some());
        let mut counts = facts.envelope_usage;
        counts.update(facts.usage);
        counts.update(self.meta(facts.meta, facts.finished));
        self.event(event, counts, seen);
    }

    /// Whether an event can be seen to say nothing new. One that is too long to be carried over a
    /// border is read wherever it is cut, so it is read here too.
    fn may_skip(&self, text: &[u8], needles: &Needles) -> bool {
        let is_known_token = match self.token {
            Token::None => false,
            Token::Hidden => needles.show_thought(text),
            Token::Visible => true,
        };
        is_known_token && Assembly::may_carry(text) && !needles.are_in(text, self.is_finished)
    }

    /// The counts of all answers of SGLang, when a further report of one of them came.
    fn meta(&self, meta: Counts, finished: Answers) -> Counts {
        if self.choices == 1 {
            return meta;
        }
        let mut answers = self.finished;
        if !answers.extend(finished) {
            return Counts::NONE;
        }
        let mut sum = self.counts;
        sum.add(meta);
        sum
    }

    /// Takes what an event means, and the counts that it reports.
    pub(super) fn event(
        &mut self,
        event: Event,
        counts: Counts,
        seen: &mut impl FnMut(Observation),
    ) {
        self.counts.update(counts);
        let is_finished = match event.finish {
            Finish::Nothing => false,
            Finish::Answers(answers) => {
                self.finished.extend(answers);
                self.finished.len() >= self.choices
            }
            Finish::All => true,
        };
        self.token(event.token, seen);
        if is_finished {
            self.finish(seen);
        }
        let is_last = match event.last {
            Last::No => false,
            Last::IfFinished => self.is_finished,
            Last::Yes => true,
        };
        if is_last {
            self.settle(seen);
        }
    }

    fn token(&mut self, token: Token, seen: &mut impl FnMut(Observation)) {
        if self.is_finished {
            return;
        }
        if self.token == Token::None && token > Token::None {
            seen(Observation::FirstOutput);
        }
        if self.token < Token::Visible && token == Token::Visible {
            seen(Observation::FirstVisible);
        }
        self.token = self.token.max(token);
    }

    fn finish(&mut self, seen: &mut impl FnMut(Observation)) {
        if self.is_finished {
            return;
        }
        // An answer that was nothing but thoughts has been seen as far as it will be.
        if self.token > Token::None {
            self.token(Token::Visible, seen);
        }
        self.is_finished = true;
        seen(Observation::Finished);
    }

    /// Tells what is not told yet: nothing more comes.
    pub(super) fn settle(&mut self, seen: &mut impl FnMut(Observation)) {
        if self.is_settled {
            return;
        }
        self.finish(seen);
        self.cut(seen);
    }

    /// Tells the counts, if they are not told yet.
    pub(super) fn cut(&mut self, seen: &mut impl FnMut(Observation)) {
        if core::mem::replace(&mut self.is_settled, true) {
            return;
        }
        if let Some(usage) = self.counts.usage(self.dialect) {
            seen(Observation::Usage(usage));
        }
    }
}

/// Whether the data of an event is the mark that ends OpenAI's streams.
fn is_done(text: &[u8]) -> bool {
    text.len() <= 2 * DONE.len() && text.trim_ascii() == DONE
}

const DONE: &[u8] = b"[DONE]";
