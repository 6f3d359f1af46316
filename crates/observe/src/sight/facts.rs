//! What is found in a text.

use crate::counts::Counts;
use crate::word::Word;

/// What a text says.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) shape: Shape,
    /// The member `type`, where an event has one.
    pub(crate) kind: Word,
    /// The member `type` of what the event is about.
    pub(crate) subject: Word,
    /// What the event is about has a text already.
    pub(crate) subject_has_text: bool,
    /// The answer of Anthropic's form has a reason to stop.
    pub(crate) stopped: bool,
    /// How many answers are in the event; `None` in forms that do not list them.
    pub(crate) choices: Option<u32>,
    /// There is a token in it.
    pub(crate) output: bool,
    /// There is a token in it that is no thought.
    pub(crate) visible: bool,
    /// The answers that it finishes.
    pub(crate) finished: Answers,
    /// An error in place of an answer.
    pub(crate) error: bool,
    /// The usage at the top level.
    pub(crate) usage: Counts,
    /// The usage one level deeper.
    pub(crate) envelope_usage: Counts,
    /// What SGLang tells of each answer, added up.
    pub(crate) meta: Counts,
}

impl Facts {
    pub(super) const NONE: Self = Self {
        shape: Shape::Scalar,
        kind: Word::NONE,
        subject: Word::NONE,
        subject_has_text: false,
        stopped: false,
        choices: None,
        output: false,
        visible: false,
        finished: Answers::NONE,
        error: false,
        usage: Counts::NONE,
        envelope_usage: Counts::NONE,
        meta: Counts::NONE,
    };
}

/// What a text is at its top level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A text, a number or a word.
    Scalar,
    Array,
    /// An object without members.
    Empty,
    /// An object of which members are known here.
    Known,
    /// An object of which no member is known here.
    Unknown,
}

/// A set of answers, by their index. Of those with a high index only the number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    low: u128,
    high: u32,
}

impl Answers {
    pub(crate) const NONE: Self = Self { low: 0, high: 0 };

    /// One answer, of which it is not known which.
    pub(crate) const ONE: Self = Self { low: 0, high: 1 };

    pub(super) fn insert(&mut self, index: u64) {
        let bit = u32::try_from(index)
            .ok()
            .and_then(|index| 1_u128.checked_shl(index));
        match bit {
            Some(bit) => self.low |= bit,
            None => self.high = self.high.saturating_add(1),
        }
    }

    /// Takes in `others`. Whether one of them was not there.
    pub(crate) fn extend(&mut self, others: Self) -> bool {
        let before = *self;
        self.low |= others.low;
        self.high = self.high.saturating_add(others.high);
        *self != before
    }

    pub(crate) const fn len(self) -> u32 {
        self.low.count_ones().saturating_add(self.high)
    }
}
