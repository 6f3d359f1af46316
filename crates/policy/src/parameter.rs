//! Parameters of plugins as values: the same value reads the field and makes its row in the
//! reference, so that the two cannot differ.

pub(crate) mod choice;
pub(crate) mod number;
pub(crate) mod text;
pub(crate) mod value;

use core::fmt::Display;

use serde_json::Value;

use crate::fields::{Fields, REQUIRED};

/// One parameter of a plugin.
pub(crate) struct Parameter<K> {
    /// Its name in the file, with a dot where it is in a mapping of the parameters.
    pub(crate) name: &'static str,
    /// What it is counted in; empty for what is no number.
    pub(crate) unit: &'static str,
    /// Which values it takes.
    pub(crate) kind: K,
    /// One sentence.
    pub(crate) about: &'static str,
}

/// A parameter that is checked and otherwise changes nothing.
pub(crate) struct Inactive<K>(pub(crate) Parameter<K>);

/// Which values a parameter takes.
pub(crate) trait Kind {
    /// What is read.
    type Value: PartialEq;

    /// Whether the parameter must be there.
    const REQUIRED: bool = false;

    /// The value when the parameter is absent.
    fn absent(&self) -> Self::Value;

    /// The value, or what is wrong with it.
    fn read(&self, value: &Value) -> Result<Self::Value, String>;

    /// The default, for the reference.
    fn default_text(&self) -> String;

    /// The range, for the reference.
    fn range_text(&self) -> String;
}

impl<K: Kind> Parameter<K> {
    /// Reads the parameter from its plugin's fields.
    pub(crate) fn of(&self, fields: &mut Fields<'_>) -> K::Value {
        self.given(fields).unwrap_or_else(|| self.kind.absent())
    }

    fn given(&self, fields: &mut Fields<'_>) -> Option<K::Value> {
        let Some(value) = fields.value(self.name) else {
            if K::REQUIRED {
                fields.problem(self.name, REQUIRED);
            }
            return None;
        };
        self.kind
            .read(value)
            .map_err(|message| fields.problem(self.name, message))
            .ok()
    }
}

impl<K: Kind> Inactive<K> {
    /// Checks the parameter, and warns if it asks for anything.
    pub(crate) fn check(&self, fields: &mut Fields<'_>) {
        let Self(parameter) = self;
        if parameter
            .given(fields)
            .is_some_and(|value| value != parameter.kind.absent())
        {
            fields.warning(parameter.name, "is not active in this version");
        }
    }
}

/// A row of the reference, which can also read its parameter.
pub(crate) trait Row: Sync {
    /// Its name in the file.
    fn name(&self) -> &'static str;
    /// What it is counted in.
    fn unit(&self) -> &'static str;
    /// The default.
    fn default_text(&self) -> String;
    /// The range.
    fn range_text(&self) -> String;
    /// One sentence.
    fn about(&self) -> String;
    /// Reads the parameter for its problems only.
    fn check(&self, fields: &mut Fields<'_>);
}

impl<K: Kind + Sync> Row for Parameter<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn unit(&self) -> &'static str {
        self.unit
    }

    fn default_text(&self) -> String {
        if K::REQUIRED {
            "required".to_owned()
        } else {
            self.kind.default_text()
        }
    }

    fn range_text(&self) -> String {
        self.kind.range_text()
    }

    fn about(&self) -> String {
        self.about.to_owned()
    }

    fn check(&self, fields: &mut Fields<'_>) {
        self.given(fields);
    }
}

impl<K: Kind + Sync> Row for Inactive<K> {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn unit(&self) -> &'static str {
        self.0.unit
    }

    fn default_text(&self) -> String {
        self.0.kind.default_text()
    }

    fn range_text(&self) -> String {
        self.0.kind.range_text()
    }

    fn about(&self) -> String {
        format!("{} *Not active.*", self.0.about)
    }

    fn check(&self, fields: &mut Fields<'_>) {
        Self::check(self, fields);
    }
}

/// The message for a value that is out of range.
fn outside(value: &impl Display, range: &str) -> String {
    format!("{value} is out of range: must be {range}")
}
