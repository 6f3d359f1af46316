//! The member that names the model, and where it stands.

use pointsman_domain::facts::ModelName;
use pointsman_json::lexer::Kind;

use super::form::ModelRule;
use super::scalar::Scalar;
use crate::rejection::Rejection;

/// What the last member with the model says.
pub(crate) struct Model {
    said: Said,
    /// Its value lies in these bytes.
    place: Option<(u64, u64)>,
}

enum Said {
    Nothing,
    Wrong,
    Empty,
    /// A name that is too long or no text at all, so that the engine gets to answer.
    Unusable,
    Name(Box<str>),
}

impl Model {
    /// Before any member.
    pub(crate) const fn missing() -> Self {
        Self {
            said: Said::Nothing,
            place: None,
        }
    }

    /// The value of the next member with the model's name, where `scalar` is the text that it is.
    pub(crate) fn of(kind: Kind, scalar: &Scalar, place: (u64, u64)) -> Self {
        let said = match kind {
            Kind::Null => Said::Nothing,
            Kind::String => match scalar.whole() {
                Some([]) => Said::Empty,
                Some(name) => core::str::from_utf8(name)
                    .map_or(Said::Unusable, |name| Said::Name(name.into())),
                None => Said::Unusable,
            },
            _ => Said::Wrong,
        };
        Self {
            said,
            place: Some(place),
        }
    }

    /// Where the value lies: its first byte and the one behind it.
    pub(crate) const fn place(&self) -> Option<(u64, u64)> {
        self.place
    }

    /// The name, as far as the dialect demands one.
    pub(crate) fn name(self, rule: ModelRule) -> Result<ModelName, Rejection> {
        const FIELD: &str = "model";
        const EXPECTED: &str = "a string that names a model";
        match (self.said, rule) {
            (_, ModelRule::Unread) => Ok(ModelName::Unread),
            (Said::Name(name), _) => Ok(ModelName::Named(name)),
            (Said::Nothing | Said::Empty | Said::Wrong, ModelRule::Kept) => Ok(ModelName::Unread),
            (Said::Unusable, _) | (_, ModelRule::Optional) => Ok(ModelName::Absent),
            // A rule may give one.
            (Said::Nothing | Said::Empty, ModelRule::Demanded) => Ok(ModelName::Missing),
            (Said::Wrong, ModelRule::Demanded) => Err(Rejection::WrongType {
                field: FIELD,
                expected: EXPECTED,
            }),
        }
    }
}
