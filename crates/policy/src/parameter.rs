//! Parameters of plugins as values: the same value reads the field and makes its row in the
//! reference, so that the two cannot differ.

use core::fmt::Display;
use core::time::Duration;

use serde_json::Value;

use crate::duration;
use crate::fields::{Fields, REQUIRED, Readable, kind};
use crate::problem::quoted;

/// One parameter of a plugin.
pub(crate) struct Parameter<K> {
    /// Its name in the file.
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
        self.kind.read(value).map_err(|message| fields.problem(self.name, message)).ok()
    }
}

impl<K: Kind> Inactive<K> {
    /// Checks the parameter, and warns if it asks for anything.
    pub(crate) fn check(&self, fields: &mut Fields<'_>) {
        let Self(parameter) = self;
        if parameter.given(fields).is_some_and(|value| value != parameter.kind.absent()) {
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
        if K::REQUIRED { "required".to_owned() } else { self.kind.default_text() }
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

/// A number.
pub(crate) struct Number {
    pub(crate) default: f64,
    pub(crate) range: NumberRange,
}

/// The range of a [`Number`].
#[derive(Clone, Copy)]
pub(crate) enum NumberRange {
    /// Above this, and finite.
    Above(f64),
    /// From the first to the second, both included.
    Within(f64, f64),
}

impl Kind for Number {
    type Value = f64;

    fn absent(&self) -> f64 {
        self.default
    }

    fn read(&self, value: &Value) -> Result<f64, String> {
        let number = f64::read(value)?;
        let inside = match self.range {
            NumberRange::Above(least) => number > least,
            NumberRange::Within(least, most) => (least..=most).contains(&number),
        };
        if inside { Ok(number) } else { Err(outside(&number, &self.range_text())) }
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn range_text(&self) -> String {
        match self.range {
            NumberRange::Above(least) => format!("above {least}"),
            NumberRange::Within(least, most) => format!("{least} to {most}"),
        }
    }
}

/// A whole number.
pub(crate) struct Count {
    pub(crate) default: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Kind for Count {
    type Value = u64;

    fn absent(&self) -> u64 {
        self.default
    }

    fn read(&self, value: &Value) -> Result<u64, String> {
        count(value, self.least, self.most)
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn range_text(&self) -> String {
        counts(self.least, self.most)
    }
}

/// A whole number whose default depends on something else.
pub(crate) struct OptionalCount {
    /// The default, in words.
    pub(crate) default: &'static str,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Kind for OptionalCount {
    type Value = Option<u64>;

    fn absent(&self) -> Option<u64> {
        None
    }

    fn read(&self, value: &Value) -> Result<Option<u64>, String> {
        count(value, self.least, self.most).map(Some)
    }

    fn default_text(&self) -> String {
        self.default.to_owned()
    }

    fn range_text(&self) -> String {
        counts(self.least, self.most)
    }
}

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
        if path.is_empty() { Err("must name a file".to_owned()) } else { Ok(path) }
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
            Err(format!("{} is not a path: write it like `{}`", quoted(&path), self.default))
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
        format!("{} to {}", duration::text(self.least), duration::text(self.most))
    }
}

/// The name of another plugin.
pub(crate) struct Reference {
    /// The type of that plugin, which is also the name that is meant when the parameter is absent.
    pub(crate) plugin_type: &'static str,
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
        code(self.plugin_type)
    }

    fn range_text(&self) -> String {
        format!("name of a plugin of type `{}`", self.plugin_type)
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

fn count(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let whole = || format!("must be a whole number, not {}", kind(value));
    let Some(number) = value.as_u64() else {
        return Err(value.as_i64().map_or_else(whole, |low| outside(&low, &counts(least, most))));
    };
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(outside(&number, &counts(least, most)))
    }
}

fn counts(least: u64, most: u64) -> String {
    if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") }
}

fn outside(value: &impl Display, range: &str) -> String {
    format!("{value} is out of range: must be {range}")
}

fn code(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("`{text}`") }
}
