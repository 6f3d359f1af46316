//! Scenarios that are built in, with the files that they name.

use crate::scenario::{Scenario, Unreadable};

/// One built-in scenario.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinScenario {
    /// Its name.
    pub name: &'static str,
    /// The scenario file.
    pub text: &'static str,
}

impl BuiltinScenario {
    /// Reads it.
    pub fn scenario(&self) -> Result<Scenario, Unreadable> {
        Scenario::parse(self.text, &read)
    }
}

/// The built-in scenario of this name.
pub fn find(name: &str) -> Option<&'static BuiltinScenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// The built-in file of this name.
pub fn read(name: &str) -> Result<String, String> {
    let file = FILES.iter().find(|(file, _)| *file == name);
    file.map(|(_, text)| (*text).to_owned())
        .ok_or_else(|| format!("there is no built-in file `{name}`"))
}

macro_rules! builtin {
    ($name:literal) => {
        BuiltinScenario {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".yaml")),
        }
    };
}

/// All built-in scenarios, in the order of lists.
pub static SCENARIOS: &[BuiltinScenario] = &[
    builtin!("s01"),
    builtin!("s02"),
    builtin!("s03"),
    builtin!("s04"),
    builtin!("s06"),
    builtin!("s12"),
    builtin!("s14"),
    builtin!("s16"),
    builtin!("s17"),
    builtin!("s18"),
    builtin!("s19"),
];

static FILES: &[(&str, &str)] = &[("lab1_trace.csv", include_str!("../golden/lab1_trace.csv"))];

#[cfg(test)]
mod tests;
