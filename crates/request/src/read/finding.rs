//! What single members say, and the facts that it makes together.

use core::num::NonZeroU32;

use pointsman_domain::block::SaltHash;
use pointsman_domain::facts::{Effort, NameHash, RequestFacts, Session, SessionSource};
use pointsman_domain::units::Tokens;
use pointsman_json::lexer::Kind;

use super::form::Fact;
use super::scalar::Scalar;

/// What a member says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing, or nothing of the right type.
    #[default]
    Nothing,
    /// That it is there.
    Present,
    /// A number of something.
    Count(u64),
    /// A text, hashed.
    Hash(u64),
    /// An effort.
    Effort(Effort),
}

impl Finding {
    /// What a member says that gives `fact`: its kind, its text or number if it is such, and how many
    /// elements or members it has if it holds some.
    pub(crate) fn of(fact: Fact, kind: Kind, scalar: &Scalar, children: u32) -> Self {
        match (fact, kind) {
            (Fact::Stream, Kind::True) => Self::Present,
            (Fact::Choices | Fact::OutputCap | Fact::Budget, Kind::Number) => {
                scalar.count().map_or(Self::Nothing, Self::Count)
            }
            (Fact::Salt, Kind::String) => Self::Hash(scalar.hash()),
            (Fact::CacheKey | Fact::User | Fact::Session, Kind::String) if !is_empty(scalar) => {
                Self::Hash(scalar.hash())
            }
            (Fact::Effort, Kind::String) => scalar
                .whole()
                .and_then(effort)
                .map_or(Self::Nothing, Self::Effort),
            (Fact::Switch, Kind::False) => Self::Effort(Effort::None),
            (Fact::Switch, Kind::String) if scalar.whole() == Some(b"disabled") => {
                Self::Effort(Effort::None)
            }
            (Fact::Tools, Kind::Array) => Self::Count(children.into()),
            (Fact::Format, Kind::True | Kind::Number) => Self::Present,
            (Fact::Format, Kind::String) if !is_empty(scalar) => Self::Present,
            (Fact::Format, Kind::Array | Kind::Object) if children > 0 => Self::Present,
            (Fact::FormatName, Kind::String) if scalar.whole() != Some(b"text") => Self::Present,
            (Fact::Arguments, Kind::Object) if children > 0 => Self::Present,
            (Fact::PromptElsewhere, kind) if kind != Kind::Null => Self::Present,
            _ => Self::Nothing,
        }
    }

    /// Completes `facts`, unless an earlier row has given the fact.
    pub(crate) fn give(self, fact: Fact, facts: &mut RequestFacts) {
        match (fact, self) {
            (Fact::Stream, Self::Present) => facts.stream = true,
            (Fact::Choices, Self::Count(count)) => {
                let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
                if facts.choices == NonZeroU32::MIN {
                    facts.choices = count.unwrap_or(NonZeroU32::MIN);
                }
            }
            (Fact::OutputCap, Self::Count(count)) => {
                facts.output_tokens_max.get_or_insert(Tokens(count));
            }
            (Fact::Budget, Self::Count(count)) => {
                facts.reasoning.budget.get_or_insert(Tokens(count));
            }
            (Fact::Effort | Fact::Switch, Self::Effort(effort)) => {
                facts.reasoning.effort.get_or_insert(effort);
            }
            (Fact::Salt, Self::Hash(hash)) => {
                let salt = SaltHash::of_hash(hash);
                facts.cache_salt.get_or_insert(salt);
            }
            (Fact::CacheKey, Self::Hash(hash)) => {
                facts.prompt_cache_key.get_or_insert(NameHash(hash));
            }
            (Fact::User, Self::Hash(hash)) => {
                facts.user.get_or_insert(NameHash(hash));
            }
            (Fact::Session, Self::Hash(hash)) => {
                facts.session.get_or_insert(Session {
                    id: NameHash(hash),
                    source: SessionSource::Body,
                });
            }
            (Fact::Tools, Self::Count(count)) => {
                facts.features.tools = u32::try_from(count).unwrap_or(u32::MAX);
            }
            (Fact::Format | Fact::FormatName, Self::Present) => {
                facts.features.response_format = true;
            }
            (Fact::Arguments, Self::Present) => facts.features.template_arguments = true,
            _ => {}
        }
    }
}

fn is_empty(scalar: &Scalar) -> bool {
    scalar.whole() == Some(&[])
}

fn effort(word: &[u8]) -> Option<Effort> {
    match word {
        b"none" => Some(Effort::None),
        b"minimal" => Some(Effort::Minimal),
        b"low" => Some(Effort::Low),
        b"medium" => Some(Effort::Medium),
        b"high" => Some(Effort::High),
        b"xhigh" | b"max" => Some(Effort::Max),
        _ => None,
    }
}
