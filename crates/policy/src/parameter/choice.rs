//! Parameters that name one of a few things.

use serde_json::Value;

use super::Kind;
use crate::fields::Readable;
use crate::problem::quoted;

/// One of some names.
pub(crate) struct Choice<T: 'static> {
    pub(crate) default: T,
    /// The names, and what each means.
    pub(crate) names: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Value = T;

    fn absent(&self) -> T {
        self.default
    }

    fn read(&self, value: &Value) -> Result<T, String> {
        let written = String::read(value)?;
        let found = self.names.iter().find(|(name, _)| *name == written);
        found.map(|&(_, meant)| meant).ok_or_else(|| {
            let written = quoted(&written);
            format!("must be one of {}, not {written}", self.range_text())
        })
    }

    fn default_text(&self) -> String {
        let default = self.names.iter().find(|(_, meant)| *meant == self.default);
        default.map_or_else(String::new, |(name, _)| quoted(name))
    }

    fn range_text(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|(name, _)| quoted(name)).collect();
        names.join(", ")
    }
}
