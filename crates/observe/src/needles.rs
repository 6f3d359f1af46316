//! Cheap searches that tell which events are worth reading.
//!
//! Most events are tokens. Once the first has been seen, an event matters only if it finishes an
//! answer or reports counts, and most can be seen not to, without reading them as JSON. In a JSON text
//! a quote within a string is escaped, so a name with both its quotes is a member's or a whole value.

use memchr::memmem::Finder;
use pointsman_domain::facts::Dialect;

/// What an event must have in it to be worth reading.
#[derive(Debug)]
pub(crate) struct Needles {
    finish: Option<Needle>,
    usage: Option<Needle>,
    thoughts: Thoughts,
}

/// How a token is seen to be a thought.
#[derive(Debug)]
enum Thoughts {
    /// It is not.
    Unknown,
    /// One of these is in its event.
    With(Vec<Needle>),
    /// None of these is in its event.
    Without(Vec<Needle>),
}

#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    value: Value,
}

/// What must follow a name.
#[derive(Clone, Copy, Debug)]
enum Value {
    Anything,
    /// A value that is neither null nor empty.
    Given,
    Object,
}

impl Needles {
    /// The needles of a dialect. In one whose events are not known each is worth reading.
    pub(crate) fn of(dialect: Dialect) -> Self {
        let usage = || Some(Needle::new("\"usage\"", Value::Object));
        let finish = || Some(Needle::new("\"finish_reason\"", Value::Given));
        let list = |names: &[&'static str], value| {
            names.iter().map(|name| Needle::new(name, value)).collect()
        };
        match dialect {
            Dialect::ChatCompletions => Self {
                finish: finish(),
                usage: usage(),
                thoughts: Thoughts::Without(list(&VISIBLE_MEMBERS, Value::Given)),
            },
            Dialect::Completions | Dialect::Generate => Self {
                finish: finish(),
                usage: usage(),
                thoughts: Thoughts::Unknown,
            },
            // Each of its events has counts; those that come with the end are the last.
            Dialect::SglangGenerate => Self {
                finish: finish(),
                usage: None,
                thoughts: Thoughts::Unknown,
            },
            // Only events about the whole response have it, and one of those is the last.
            Dialect::Responses => Self {
                finish: None,
                usage: Some(Needle::new("\"response\"", Value::Object)),
                thoughts: Thoughts::With(list(&RESPONSE_THOUGHTS, Value::Anything)),
            },
            // Events about the whole message; tokens come in blocks of its content.
            Dialect::Messages => Self {
                finish: None,
                usage: Some(Needle::new("\"message_", Value::Anything)),
                thoughts: Thoughts::With(list(&MESSAGE_THOUGHTS, Value::Anything)),
            },
            _ => Self {
                finish: None,
                usage: Some(Needle::new("", Value::Anything)),
                thoughts: Thoughts::Unknown,
            },
        }
    }

    /// Whether an event may say more than that there is another token.
    pub(crate) fn are_in(&self, event: &[u8], is_finished: bool) -> bool {
        let is_in = |needle: &Option<Needle>| needle.as_ref().is_some_and(|one| one.is_in(event));
        (!is_finished && is_in(&self.finish)) || is_in(&self.usage)
    }

    /// Whether an event has no token but a thought for certain.
    pub(crate) fn show_thought(&self, event: &[u8]) -> bool {
        match &self.thoughts {
            Thoughts::Unknown => false,
            Thoughts::With(needles) => needles.iter().any(|needle| needle.is_in(event)),
            Thoughts::Without(needles) => !needles.iter().any(|needle| needle.is_in(event)),
        }
    }
}

impl Needle {
    fn new(name: &'static str, value: Value) -> Self {
        Self {
            finder: Finder::new(name),
            value,
        }
    }

    fn is_in(&self, event: &[u8]) -> bool {
        let end = self.finder.needle().len();
        self.finder.find_iter(event).any(|at| {
            let rest = event.get(at + end..).unwrap_or_default();
            let value = rest.trim_ascii_start().strip_prefix(b":");
            let value = value.map(<[u8]>::trim_ascii_start);
            match self.value {
                Value::Anything => true,
                Value::Given => value.is_some_and(|value| {
                    let nothing = [&b"null"[..], b"\"\"", b"[]"];
                    !nothing.iter().any(|nothing| value.starts_with(nothing))
                }),
                Value::Object => value.is_some_and(|value| value.starts_with(b"{")),
            }
        })
    }
}

/// The members of a delta that are no thoughts.
const VISIBLE_MEMBERS: [&str; 5] = [
    "\"content\"",
    "\"tool_calls\"",
    "\"refusal\"",
    "\"function_call\"",
    "\"audio\"",
];

const RESPONSE_THOUGHTS: [&str; 2] = [
    "\"response.reasoning_text.delta\"",
    "\"response.reasoning_summary_text.delta\"",
];

const MESSAGE_THOUGHTS: [&str; 1] = ["\"thinking_delta\""];
