//! Reading the fields of a mapping: what is wrong is noted and reading goes on.

use serde_json::{Map, Value};

use crate::document::join;
use crate::problem::{Findings, quoted};

/// The fields of one mapping.
pub(crate) struct Fields<'a> {
    object: Option<&'a Map<String, Value>>,
    path: &'a str,
    /// The names that were asked for; any other name is unknown.
    asked: Vec<&'static str>,
    findings: &'a mut Findings,
}

/// Reads the mapping `value` by `read`, then notes the fields that `read` did not ask for.
///
/// An absent value is a mapping without fields; `None` if it is something else.
pub(crate) fn within<T>(
    value: Option<&Value>,
    path: &str,
    findings: &mut Findings,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Option<T> {
    let object = match value {
        None | Some(Value::Null) => None,
        Some(Value::Object(object)) => Some(object),
        Some(other) => {
            findings.problem(path, format!("must be a mapping, not {}", kind(other)));
            return None;
        }
    };
    let mut fields = Fields {
        object,
        path,
        asked: Vec::new(),
        findings,
    };
    let result = read(&mut fields);
    fields.finish();
    Some(result)
}

impl<'a> Fields<'a> {
    /// The value of `name`; null counts as absent. In `outer.inner` the inner name is one of the
    /// mapping that the outer one names.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        let value = match name.split_once('.') {
            Some((outer, inner)) => self.object?.get(outer)?.get(inner),
            None => self.object?.get(name),
        };
        value.filter(|value| !value.is_null())
    }

    /// A field that may be absent.
    pub(crate) fn optional<T: Readable>(&mut self, name: &'static str) -> Option<T> {
        let value = self.value(name)?;
        T::read(value)
            .map_err(|message| self.problem(name, message))
            .ok()
    }

    /// A field that must be there; `None` after a problem.
    pub(crate) fn required<T: Readable>(&mut self, name: &'static str) -> Option<T> {
        if self.value(name).is_none() {
            self.problem(name, REQUIRED);
            return None;
        }
        self.optional(name)
    }

    /// A mapping that may be absent.
    pub(crate) fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        let value = self.value(name)?;
        within(Some(value), &self.path_of(name), self.findings, read)
    }

    /// A list of mappings; an entry that is something else becomes `T`'s default, so that the others
    /// keep their places.
    pub(crate) fn list<T: Default>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Vec<T> {
        self.items(name, |item, path, findings| {
            within(Some(item), path, findings, &mut read).unwrap_or_default()
        })
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.items(name, |item, path, findings| {
            String::read(item)
                .map_err(|message| findings.problem(path, message))
                .ok()
        })
        .into_iter()
        .flatten()
        .collect()
    }

    /// A mapping of texts.
    pub(crate) fn entries(&mut self, name: &'static str) -> Vec<(String, String)> {
        let path = self.path_of(name);
        match self.value(name) {
            None => Vec::new(),
            Some(Value::Object(object)) => {
                let read = |(key, value): (&String, &Value)| match String::read(value) {
                    Ok(text) => Some((key.clone(), text)),
                    Err(message) => {
                        self.findings.problem(join(&path, key), message);
                        None
                    }
                };
                object.iter().filter_map(read).collect()
            }
            Some(other) => {
                self.problem(name, format!("must be a mapping, not {}", kind(other)));
                Vec::new()
            }
        }
    }

    /// Notes a problem with the field `name`.
    pub(crate) fn problem(&mut self, name: &str, message: impl Into<String>) {
        let path = self.path_of(name);
        self.findings.problem(path, message);
    }

    /// Notes that the field `name` has no effect.
    pub(crate) fn warning(&mut self, name: &str, message: impl Into<String>) {
        let path = self.path_of(name);
        self.findings.warning(path, message);
    }

    /// The path of the field `name`.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(self.path, name)
    }

    /// The names that were asked for, in the order of asking.
    #[cfg(test)]
    pub(crate) fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    fn items<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&Value, &str, &mut Findings) -> T,
    ) -> Vec<T> {
        let path = self.path_of(name);
        match self.value(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| read(item, &format!("{path}[{index}]"), self.findings))
                .collect(),
            Some(other) => {
                self.problem(name, format!("must be a list, not {}", kind(other)));
                Vec::new()
            }
        }
    }

    fn finish(self) {
        let Self {
            object,
            path,
            asked,
            findings,
        } = self;
        let names = || {
            asked
                .iter()
                .map(|name| name.split_once('.').unwrap_or((name, "")))
        };
        let outer: Vec<_> = names().map(|(outer, _)| outer).collect();
        for (name, value) in object.into_iter().flatten() {
            check_known(name, path, &outer, findings);
            let inner = names().filter(|(outer, inner)| outer == name && !inner.is_empty());
            let inner: Vec<_> = inner.map(|(_, inner)| inner).collect();
            if !inner.is_empty() {
                check_mapping(value, &join(path, name), &inner, findings);
            }
        }
    }
}

/// Notes what is wrong with a mapping whose fields were asked for by names with a dot.
fn check_mapping(value: &Value, path: &str, known: &[&str], findings: &mut Findings) {
    match value {
        Value::Null => {}
        Value::Object(object) => {
            let names = object.keys();
            names.for_each(|name| check_known(name, path, known, findings));
        }
        other => findings.problem(path, format!("must be a mapping, not {}", kind(other))),
    }
}

fn check_known(name: &str, path: &str, known: &[&str], findings: &mut Findings) {
    if !known.contains(&name) {
        let end = findings.suggestion(name, known.iter().copied(), "remove it");
        let message = format!("is not a field here{end}");
        findings.problem(join(path, name), message);
    }
}

/// A value that one field can hold.
pub(crate) trait Readable: Sized {
    /// The value, or what is wrong with it.
    fn read(value: &Value) -> Result<Self, String>;
}

impl Readable for String {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => Err(format!(
                "must be text, not {}: put it in quotes",
                kind(value)
            )),
            other => Err(format!("must be text, not {}", kind(other))),
        }
    }
}

impl Readable for bool {
    fn read(value: &Value) -> Result<Self, String> {
        value
            .as_bool()
            .ok_or_else(|| format!("must be true or false, not {}", kind(value)))
    }
}

impl Readable for i64 {
    fn read(value: &Value) -> Result<Self, String> {
        value
            .as_i64()
            .ok_or_else(|| format!("must be a whole number, not {}", kind(value)))
    }
}

impl Readable for f64 {
    fn read(value: &Value) -> Result<Self, String> {
        value
            .as_f64()
            .ok_or_else(|| format!("must be a number, not {}", kind(value)))
    }
}

impl Readable for Value {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(value.clone())
    }
}

/// Text that may be written as a number.
pub(crate) struct Scalar(pub(crate) String);

impl Readable for Scalar {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => Ok(Self(number.to_string())),
            Value::String(text) => Ok(Self(text.clone())),
            other => Err(format!("must be text or a number, not {}", kind(other))),
        }
    }
}

/// What a value is, for messages.
pub(crate) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {}", quoted(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// The message for a missing field.
pub(crate) const REQUIRED: &str = "is required: add it";
