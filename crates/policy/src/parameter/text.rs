//! Parameters that are written as text.

use core::time::Duration;

use serde_json::Value;

use super::{Kind, outside};
use crate::duration;
use crate::fields::Readable;
use crate::problem::quoted;

/// Any text.
pub(crate) struct Text {
    pub(crate) default: &'static str,
}

impl Kind for Text {
    type Value = String;

    fn absent(&self) -> String {
        self.default.to_owned()
    }

    fn read(&self, value: &Value) -> Result<String, String> {
        String::read(value)
    }

    fn default_text(&self) -> String {
        code(self.default)
    }

    fn range_text(&self) -> String {
        "text".to_owned()
    }
}

/// The path of a file; it must be there.
pub(crate) struct FilePath;

impl Kind for FilePath {
    type Value = String;

    const REQUIRED: bool = true;

    fn absent(&self) -> String {
        String::new()
    }

    fn read(&self, value: &Value) -> Result<String, String> {
        let path = String::read(value)?;
        if path.is_empty() {
            Err("must name a file".to_owned())
        } else {
            Ok(path)
        }
    }

    fn default_text(&self) -> String {
        String::new()
    }

    fn range_text(&self) -> String {
        "path of a file".to_owned()
    }
}

/// The path of a URL.
pub(crate) struct UrlPath {
    pub(crate) default: &'static str,
}

impl Kind for UrlPath {
    type Value = String;

    fn absent(&self) -> String {
        self.default.to_owned()
    }

    fn read(&self, value: &Value) -> Result<String, String> {
        let path = String::read(value)?;
        let printable = path.bytes().all(|byte| byte.is_ascii_graphic());
        if path.starts_with('/') && printable {
            Ok(path)
        } else {
            Err(format!(
                "{} is not a path: write it like `{}`",
                quoted(&path),
                self.default
            ))
        }
    }

    fn default_text(&self) -> String {
        code(self.default)
    }

    fn range_text(&self) -> String {
        "begins with `/`".to_owned()
    }
}

/// The scheme of a URL, of which one is built.
pub(crate) struct Scheme;

impl Kind for Scheme {
    type Value = ();

    fn absent(&self) {}

    fn read(&self, value: &Value) -> Result<(), String> {
        match String::read(value)?.as_str() {
            "" | "http" => Ok(()),
            "https" => Err("`https` is not built in this version: use `http`".to_owned()),
            other => Err(format!("must be `http`, not {}", quoted(other))),
        }
    }

    fn default_text(&self) -> String {
        code("http")
    }

    fn range_text(&self) -> String {
        code("http")
    }
}

/// A duration that may be absent; empty text is absent too.
pub(crate) struct OptionalDuration {
    /// The default, in words.
    pub(crate) default: &'static str,
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

impl Kind for OptionalDuration {
    type Value = Option<Duration>;

    fn absent(&self) -> Option<Duration> {
        None
    }

    fn read(&self, value: &Value) -> Result<Option<Duration>, String> {
        let text = String::read(value)?;
        if text.is_empty() {
            return Ok(None);
        }
        let duration = duration::parse(&text)?;
        if (self.least..=self.most).contains(&duration) {
            Ok(Some(duration))
        } else {
            Err(outside(&text, &self.range_text()))
        }
    }

    fn default_text(&self) -> String {
        self.default.to_owned()
    }

    fn range_text(&self) -> String {
        format!(
            "{} to {}",
            duration::text(self.least),
            duration::text(self.most)
        )
    }
}

/// The name of another plugin.
pub(crate) struct Reference {
    /// The default, in words.
    pub(crate) default: &'static str,
    /// The types that it may have. A plugin of the first is there under that name without an entry.
    pub(crate) plugin_types: &'static [&'static str],
}

impl Kind for Reference {
    type Value = Option<String>;

    fn absent(&self) -> Option<String> {
        None
    }

    fn read(&self, value: &Value) -> Result<Option<String>, String> {
        String::read(value).map(|name| Some(name).filter(|name| !name.is_empty()))
    }

    fn default_text(&self) -> String {
        self.default.to_owned()
    }

    fn range_text(&self) -> String {
        format!("name of a plugin of type {}", any_of(self.plugin_types))
    }
}

/// Names in words: `a` or `b`.
pub(crate) fn any_of(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    quoted.join(" or ")
}

fn code(text: &str) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        format!("`{text}`")
    }
}
