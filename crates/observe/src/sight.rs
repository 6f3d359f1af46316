//! What one JSON text of a response says: a whole body, or one event of a stream.
//!
//! The dialects do not use one member for different things, so one table of members serves them all.
//! Nothing is kept but flags, counts and a few short words, whatever the length of the text.

mod facts;
mod member;

use pointsman_json::lexer::{Kind, Lexer, Visit};

use crate::counts::Counts;
use crate::word::Word;
pub(crate) use facts::{Answers, Facts, Shape};
use member::Member;

/// A text that is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    lexer: Lexer,
    sight: Sight,
    is_blank: bool,
}

/// Why a text says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is none but white space.
    Blank,
    /// It is no JSON, or not all of it came.
    Broken,
}

impl Reading {
    /// At the beginning of a text of which `scope` is wanted.
    pub(crate) const fn new(scope: Scope) -> Self {
        Self {
            lexer: Lexer::new(),
            sight: Sight::new(scope),
            is_blank: true,
        }
    }

    /// Takes the next piece. What is no JSON is told at the end.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.is_blank &= piece.trim_ascii().is_empty();
        // After a fault the lexer takes nothing more, and says so again at the end.
        let _ = self.lexer.push(piece, &mut self.sight);
    }

    /// What the text says, if it is JSON and complete.
    pub(crate) fn finish(mut self) -> Result<Facts, Unread> {
        match self.lexer.finish(&mut self.sight) {
            Ok(()) => Ok(self.sight.facts),
            Err(_) if self.is_blank => Err(Unread::Blank),
            Err(_) => Err(Unread::Broken),
        }
    }

    /// What a text says that lies in one piece.
    pub(crate) fn of(text: &[u8], scope: Scope) -> Result<Facts, Unread> {
        let mut reading = Self::new(scope);
        reading.push(text);
        reading.finish()
    }
}

/// What is wanted of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All facts.
    Event,
    /// Counts only.
    Counts,
}

/// One answer of an event, while its members come.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    index: u64,
    has_role: bool,
    /// It has an empty text: so looks a token that is a part of a character only, and so does what
    /// comes with the role before all tokens.
    has_empty_text: bool,
    has_text: bool,
    has_thought: bool,
    is_finished: bool,
}

/// The visitor: where it is in the text, and what it has seen.
#[derive(Debug)]
struct Sight {
    scope: Scope,
    facts: Facts,
    /// The containers that are open, as far as they are looked into.
    path: [Member; PATH_MAX],
    depth: usize,
    /// Containers that are open and not looked into.
    skipped: u32,
    /// What the key before the next value says that it is.
    next: Member,
    /// The text of the token that is open, if it is wanted.
    word: Word,
    is_wanted: bool,
    answer: Answer,
    /// Whose counts come: those of the innermost usage.
    counts: Counts,
}

impl Sight {
    const fn new(scope: Scope) -> Self {
        Self {
            scope,
            facts: Facts::NONE,
            path: [Member::Ignored; PATH_MAX],
            depth: 0,
            skipped: 0,
            next: Member::Ignored,
            word: Word::NONE,
            is_wanted: false,
            answer: Answer {
                index: 0,
                has_role: false,
                has_empty_text: false,
                has_text: false,
                has_thought: false,
                is_finished: false,
            },
            counts: Counts::NONE,
        }
    }

    /// The innermost container.
    fn container(&self) -> Option<Member> {
        self.path.get(self.depth.checked_sub(1)?).copied()
    }

    /// What the value is that begins or ends now.
    fn value(&self) -> Member {
        match self.container() {
            None => Member::Root,
            Some(Member::Choices) => Member::Choice,
            Some(Member::Root) if self.facts.shape == Shape::Array => Member::BatchItem,
            Some(Member::Text | Member::Thought) => Member::Ignored,
            Some(_) => self.next,
        }
    }

    fn open(&mut self, member: Member, kind: Kind) {
        let is_object = kind == Kind::Object;
        let is_seen = match member {
            Member::Root => {
                self.facts.shape = if is_object {
                    Shape::Empty
                } else {
                    Shape::Array
                };
                true
            }
            Member::Choices if !is_object => {
                self.facts.choices = Some(0);
                true
            }
            Member::Choice => {
                self.answer = Answer::default();
                self.facts.choices = self.facts.choices.map(|choices| choices.saturating_add(1));
                is_object
            }
            Member::Usage | Member::EnvelopeUsage | Member::Meta => {
                self.counts = Counts::NONE;
                is_object
            }
            Member::Text | Member::Thought => {
                // An array may be empty; its first element tells.
                if is_object {
                    self.note_text(member);
                }
                !is_object
            }
            Member::BatchItem
            | Member::Delta
            | Member::Details
            | Member::Envelope
            | Member::Subject => is_object,
            Member::Error => {
                self.facts.error = true;
                false
            }
            Member::Finish => {
                self.answer.is_finished = true;
                false
            }
            _ => false,
        };
        match self.path.get_mut(self.depth).filter(|_| is_seen) {
            Some(place) => {
                *place = member;
                self.depth += 1;
            }
            None => self.skipped = 1,
        }
    }

    fn close(&mut self) {
        let member = self.container();
        self.depth = self.depth.saturating_sub(1);
        match member {
            Some(Member::Choice) => self.close_answer(),
            Some(Member::Usage) => self.facts.usage = self.counts,
            Some(Member::EnvelopeUsage) => self.facts.envelope_usage = self.counts,
            Some(Member::Meta) => self.facts.meta.add(self.counts),
            // Where an event has no list of answers, it is one itself.
            Some(Member::Root) if self.facts.choices.is_none() => self.close_answer(),
            _ => {}
        }
    }

    fn close_answer(&mut self) {
        let answer = core::mem::take(&mut self.answer);
        let is_token = answer.has_empty_text && !answer.has_role;
        self.facts.output |=
            answer.has_text || answer.has_thought || answer.is_finished || is_token;
        self.facts.visible |= answer.has_text;
        if answer.is_finished {
            self.facts.finished.insert(answer.index);
        }
    }

    fn note_text(&mut self, member: Member) {
        match member {
            Member::Thought => self.answer.has_thought = true,
            _ => self.answer.has_text = true,
        }
    }

    fn scalar(&mut self, member: Member, kind: Kind) {
        let is_text = kind == Kind::String;
        let is_empty = self.word.is_empty();
        let is_given = kind != Kind::Null && !(is_text && is_empty);
        match member {
            Member::Text | Member::Thought if is_text && is_empty => {
                self.answer.has_empty_text = true;
            }
            Member::Text | Member::Thought if is_text => self.note_text(member),
            Member::Role => self.answer.has_role |= is_text && !is_empty,
            Member::Finish => self.answer.is_finished |= is_given,
            Member::Index if kind == Kind::Number => {
                self.answer.index = self.word.number().unwrap_or(u64::MAX);
            }
            Member::Kind if is_text => self.facts.kind = self.word,
            Member::SubjectKind if is_text => self.facts.subject = self.word,
            Member::SubjectText => self.facts.subject_has_text |= is_text && !is_empty,
            Member::Stop => self.facts.stopped |= is_given,
            Member::Error => self.facts.error |= is_given,
            Member::Count(count) if kind == Kind::Number => {
                self.counts
                    .read(count, self.word.bytes().unwrap_or_default());
            }
            _ => {}
        }
    }
}

impl Visit for Sight {
    #[inline]
    fn begin(&mut self, kind: Kind, _: u64) {
        let is_container = matches!(kind, Kind::Object | Kind::Array);
        if self.skipped > 0 {
            self.skipped = self.skipped.saturating_add(u32::from(is_container));
            return;
        }
        if kind == Kind::Key {
            self.word.clear();
            self.is_wanted = true;
            return;
        }
        if let Some(list @ (Member::Text | Member::Thought)) = self.container() {
            self.note_text(list);
        }
        let member = self.value();
        if is_container {
            self.open(member, kind);
        } else {
            self.word.clear();
            self.is_wanted = member != Member::Ignored;
        }
    }

    #[inline]
    fn part(&mut self, part: &[u8]) {
        if self.is_wanted {
            self.word.push(part);
        }
    }

    #[inline]
    fn end(&mut self, kind: Kind, _: u64) {
        let is_wanted = core::mem::take(&mut self.is_wanted);
        match kind {
            Kind::Object | Kind::Array => match self.skipped.checked_sub(1) {
                Some(skipped) => self.skipped = skipped,
                None => self.close(),
            },
            Kind::Key if is_wanted => {
                let container = self.container().unwrap_or(Member::Ignored);
                let name = self.word.bytes().unwrap_or_default();
                self.next = Member::of(container, name, self.scope);
                if container == Member::Root {
                    let is_known = self.next != Member::Ignored;
                    self.facts.shape = match self.facts.shape {
                        Shape::Empty | Shape::Unknown if !is_known => Shape::Unknown,
                        _ => Shape::Known,
                    };
                }
            }
            _ if is_wanted => self.scalar(self.value(), kind),
            _ => {}
        }
    }
}

/// The deepest place that is looked into is an array in `choices[].delta`.
const PATH_MAX: usize = 6;

#[cfg(test)]
mod tests;
