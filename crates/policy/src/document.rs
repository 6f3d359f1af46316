//! From text to a tree of values. JSON is read too, as every JSON text is YAML.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::problem::{Findings, quoted};

/// Reads a text into a tree; null for a text without content.
///
/// A syntax error is one problem. Duplicate keys and numbers that are not finite are problems with
/// their paths, and reading goes on.
pub(crate) fn read(text: &str, findings: &mut Findings) -> Option<Value> {
    if !is_short_enough(text, findings) {
        return None;
    }
    if text.lines().all(is_blank) {
        return Some(Value::Null);
    }
    let mut room = EXPANDED_BYTES_MAX;
    let tree = Tree {
        path: String::new(),
        room: &mut room,
        findings,
    };
    match tree.deserialize(serde_yaml::Deserializer::from_str(text)) {
        Ok(value) => Some(value),
        Err(error) => {
            findings.problem("", syntax(&error));
            None
        }
    }
}

/// Reads a text of any number of documents, each into a tree as [`read`] does; the paths of their
/// problems begin with [`path_of`] their place. Reading ends at a syntax error.
pub(crate) fn read_all(text: &str, findings: &mut Findings) -> Vec<Value> {
    let mut trees = Vec::new();
    if !is_short_enough(text, findings) || text.lines().all(is_blank) {
        return trees;
    }
    let mut room = EXPANDED_BYTES_MAX;
    for (index, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let tree = Tree {
            path: path_of(index),
            room: &mut room,
            findings,
        };
        match tree.deserialize(document) {
            Ok(value) => trees.push(value),
            Err(error) => {
                findings.problem("", syntax(&error));
                break;
            }
        }
    }
    trees
}

/// The path of a document of several, counted from 0.
pub(crate) fn path_of(index: usize) -> String {
    format!("documents[{index}]")
}

fn is_short_enough(text: &str, findings: &mut Findings) -> bool {
    if text.len() > TEXT_BYTES_MAX {
        findings.problem(
            "",
            format!(
                "the text has {} bytes and the limit is {TEXT_BYTES_MAX}: make it smaller",
                text.len()
            ),
        );
        return false;
    }
    true
}

/// Whether a line says nothing.
fn is_blank(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    line.is_empty() || line.starts_with('#') || line == "---"
}

fn syntax(error: &serde_yaml::Error) -> String {
    let text = error.to_string();
    match error.location() {
        Some(place) if !text.contains("at line ") => {
            format!("{text} at line {} column {}", place.line(), place.column())
        }
        _ => text,
    }
}

/// One value and all below it.
struct Tree<'a> {
    path: String,
    room: &'a mut usize,
    findings: &'a mut Findings,
}

impl Tree<'_> {
    fn child(&mut self, path: String) -> Tree<'_> {
        Tree {
            path,
            room: self.room,
            findings: self.findings,
        }
    }

    /// Charges a value, so that aliases of aliases cannot fill the memory.
    fn charge<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        match self.room.checked_sub(bytes + VALUE_BYTES) {
            Some(room) => {
                *self.room = room;
                Ok(())
            }
            None => Err(E::custom(
                "aliases make the text too long: write less with them",
            )),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<Value, E> {
        self.charge(0)?;
        let number = Number::from_f64(value);
        if number.is_none() {
            self.findings.problem(self.path, "must be a finite number");
        }
        Ok(number.map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Value, E> {
        self.charge(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(mut self) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.charge(0)?;
        let mut list = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, list.len());
            match items.next_element_seed(self.child(path))? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.charge(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.charge(key.len())?;
            let path = join(&self.path, &key);
            let value = entries.next_value_seed(self.child(path.clone()))?;
            if map.contains_key(&key) {
                self.findings
                    .problem(path, format!("{} is written twice: keep one", quoted(&key)));
            } else {
                map.insert(key, value);
            }
        }
        Ok(Value::Object(map))
    }
}

/// The path of the field `name` of the mapping at `path`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The longest text, as for an endpoints file and for an object of the Kubernetes API.
pub(crate) const TEXT_BYTES_MAX: usize = 1 << 20;

/// How much the text may become by aliases. A text without aliases always stays below.
const EXPANDED_BYTES_MAX: usize = 8 * TEXT_BYTES_MAX;

/// What a value without text counts.
const VALUE_BYTES: usize = 7;

#[cfg(test)]
mod tests;
