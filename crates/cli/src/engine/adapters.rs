//! The adapters that requests can ask for by name, as vLLM's server keeps them.
//!
//! Loading makes an adapter known, and its first request brings it into one of the engine's slots.
//! Unloading makes it unknown; requests that run with it go on.

use std::sync::Arc;

use http::StatusCode;
use pointsman_engine::job::AdapterId;
use serde::Deserialize;

use super::problem::Problem;

/// The loaded adapters, in the order in which they were loaded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adapters {
    loaded: Vec<Adapter>,
    /// How many names the engine was given; one that is loaded again gets a new one.
    given: u32,
}

/// A loaded adapter.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// What the engine calls it.
    pub(crate) id: AdapterId,
    pub(crate) name: Arc<str>,
    pub(crate) path: String,
}

/// The body of `/v1/load_lora_adapter`.
#[derive(Debug, Deserialize)]
pub(crate) struct Load {
    #[serde(default)]
    lora_name: String,
    #[serde(default)]
    lora_path: String,
    #[serde(default)]
    load_inplace: bool,
}

/// The body of `/v1/unload_lora_adapter`.
#[derive(Debug, Deserialize)]
pub(crate) struct Unload {
    #[serde(default)]
    lora_name: String,
}

impl Adapters {
    /// The adapter that is called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&Adapter> {
        self.loaded.iter().find(|adapter| *adapter.name == *name)
    }

    /// All of them.
    pub(crate) fn loaded(&self) -> &[Adapter] {
        &self.loaded
    }

    /// Loads an adapter for the served `models`; returns what to answer.
    pub(crate) fn load(&mut self, load: Load, models: &[String]) -> Result<String, Problem> {
        let (name, path) = (load.lora_name, load.lora_path);
        if name.is_empty() || path.is_empty() {
            return Err(wrong("Both 'lora_name' and 'lora_path' must be provided."));
        }
        if name.len() > NAME_BYTES_MAX || path.len() > PATH_BYTES_MAX {
            return Err(wrong(format!(
                "'lora_name' has at most {NAME_BYTES_MAX} bytes and 'lora_path' {PATH_BYTES_MAX}."
            )));
        }
        if models.contains(&name) {
            return Err(wrong(format!(
                "The lora adapter name '{name}' conflicts with a served base model."
            )));
        }
        let success = format!("Success: LoRA adapter '{name}' added successfully.");
        if let Some(known) = self.loaded.iter_mut().find(|known| *known.name == *name) {
            if !load.load_inplace {
                return Err(wrong(format!(
                    "The lora adapter '{name}' has already been loaded. If you want to load the \
                     adapter in place, set 'load_inplace' to True."
                )));
            }
            known.path = path;
            return Ok(success);
        }
        if self.loaded.len() >= ADAPTERS_MAX {
            return Err(wrong(format!(
                "At most {ADAPTERS_MAX} adapters can be loaded."
            )));
        }
        self.loaded.push(Adapter {
            id: AdapterId(self.given),
            name: name.into(),
            path,
        });
        self.given = self.given.wrapping_add(1);
        Ok(success)
    }

    /// Unloads an adapter; returns what to answer.
    pub(crate) fn unload(&mut self, unload: &Unload) -> Result<String, Problem> {
        let name = &unload.lora_name;
        if name.is_empty() {
            return Err(wrong(
                "'lora_name' needs to be provided to unload a LoRA adapter.",
            ));
        }
        let place = self.loaded.iter().position(|known| *known.name == **name);
        let Some(place) = place else {
            let message = format!("The lora adapter '{name}' cannot be found.");
            return Err(Problem::status(StatusCode::NOT_FOUND).because(message));
        };
        self.loaded.remove(place);
        Ok(format!(
            "Success: LoRA adapter '{name}' removed successfully."
        ))
    }
}

impl Load {
    /// An adapter of this name, from a place of the same name.
    pub(crate) fn of_name(name: &str) -> Self {
        Self {
            lora_name: name.to_owned(),
            lora_path: name.to_owned(),
            load_inplace: false,
        }
    }
}

/// What vLLM says of the two bodies, unless they are no JSON.
fn wrong(message: impl Into<String>) -> Problem {
    Problem::bad_request(message, None).of_kind("InvalidUserInput")
}

/// vLLM sets no limits here.
const ADAPTERS_MAX: usize = 1000;
const NAME_BYTES_MAX: usize = 256;
const PATH_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn load(adapters: &mut Adapters, name: &str) -> Result<String, Problem> {
        adapters.load(Load::of_name(name), &["base".to_owned()])
    }

    #[test]
    fn no_more_than_the_most_adapters_are_loaded_until_one_is_unloaded() {
        let mut adapters = Adapters::default();
        for number in 0..ADAPTERS_MAX {
            load(&mut adapters, &number.to_string()).unwrap();
        }
        let full = load(&mut adapters, "more").unwrap_err();
        assert!(full.to_string().contains("At most 1000"), "{full}");
        let unload = Unload {
            lora_name: "7".to_owned(),
        };
        adapters.unload(&unload).unwrap();
        load(&mut adapters, "more").unwrap();
    }

    #[test]
    fn a_name_that_is_loaded_again_is_another_adapter_to_the_engine() {
        let mut adapters = Adapters::default();
        let mut ids = Vec::new();
        for _ in 0..2 {
            load(&mut adapters, "a").unwrap();
            ids.push(adapters.find("a").unwrap().id);
            let unload = Unload {
                lora_name: "a".to_owned(),
            };
            adapters.unload(&unload).unwrap();
        }
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn long_names_and_paths_are_refused() {
        let mut adapters = Adapters::default();
        let just = "n".repeat(NAME_BYTES_MAX);
        load(&mut adapters, &just).unwrap();
        assert!(load(&mut adapters, &format!("{just}n")).is_err());
        let body = Load {
            lora_path: "p".repeat(PATH_BYTES_MAX + 1),
            ..Load::of_name("a")
        };
        assert!(adapters.load(body, &[]).is_err());
    }
}
