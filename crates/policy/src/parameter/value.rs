//! Parameters that are neither numbers nor text.

use serde_json::Value;

use super::Kind;
use crate::fields::Readable;

/// True or false.
pub(crate) struct Flag {
    pub(crate) default: bool,
}

impl Kind for Flag {
    type Value = bool;

    fn absent(&self) -> bool {
        self.default
    }

    fn read(&self, value: &Value) -> Result<bool, String> {
        bool::read(value)
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn range_text(&self) -> String {
        "true or false".to_owned()
    }
}

/// Any value.
pub(crate) struct Anything;

impl Kind for Anything {
    type Value = Option<Value>;

    fn absent(&self) -> Option<Value> {
        None
    }

    fn read(&self, value: &Value) -> Result<Option<Value>, String> {
        Ok(Some(value.clone()))
    }

    fn default_text(&self) -> String {
        "none".to_owned()
    }

    fn range_text(&self) -> String {
        "any value".to_owned()
    }
}
