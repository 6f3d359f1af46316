//! Policies: picker configurations that the simulator knows by name.

use pointsman_pipeline::config::Attachment;
use pointsman_policy::config::Compiled;
use pointsman_policy::problem::Problems;

/// A picker configuration under a name.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name in tables.
    pub name: String,
    /// What it compiles to.
    pub compiled: Compiled,
}

/// A policy that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinPolicy {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The picker's configuration file.
    pub text: &'static str,
}

impl Policy {
    /// Compiles a picker's configuration file.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        let compiled = pointsman_policy::config::load(text, Attachment::Gateway)?;
        Ok(Self {
            name: name.to_owned(),
            compiled,
        })
    }
}

/// The built-in policy of this name.
pub fn find(name: &str) -> Option<&'static BuiltinPolicy> {
    BUILTIN.iter().find(|policy| policy.name == name)
}

macro_rules! builtin {
    ($name:literal, $about:literal) => {
        BuiltinPolicy {
            name: $name,
            about: $about,
            text: include_str!(concat!("../policies/", $name, ".yaml")),
        }
    };
}

/// All built-in policies, in the order of lists.
pub static BUILTIN: &[BuiltinPolicy] = &[
    builtin!("default", "The picker without any configuration."),
    builtin!(
        "llm-d",
        "llm-d's default profile: queue 2, KV cache 2, prefix 3."
    ),
    builtin!("random", "Any endpoint."),
    builtin!("round-robin", "Each endpoint in turn."),
    builtin!("least-outstanding", "Fewest requests in flight."),
    builtin!(
        "least-outstanding-first",
        "As least-outstanding, equal ones by their order, as the article has it."
    ),
    builtin!(
        "least-reported",
        "Fewest requests by the last report, however old it is."
    ),
    builtin!(
        "least-dispatched",
        "As least-reported, and own dispatches since then."
    ),
    builtin!(
        "least-own",
        "Fewest own requests in flight, those of other pickers unseen."
    ),
    builtin!(
        "least-scaled",
        "Last report, and the change of own requests times the pickers."
    ),
    builtin!(
        "two-choices",
        "The better of two random endpoints by requests in flight."
    ),
    builtin!(
        "two-choices-reported",
        "The better of two by the last report."
    ),
    builtin!(
        "two-choices-dispatched",
        "The better of two, own dispatches since the report too."
    ),
    builtin!(
        "token-load",
        "Fewest prompt tokens to compute, by own requests and this one."
    ),
    builtin!("least-kv", "Most free KV memory by the last report."),
    builtin!(
        "least-kv-first",
        "As least-kv, equal ones by their order, as the article has it."
    ),
    builtin!(
        "prefix-affinity",
        "The holder of the prefix, unless more than 4 requests busier."
    ),
    builtin!(
        "prefix-affinity-first",
        "As prefix-affinity, equal ones by their order, as the article has it."
    ),
    builtin!(
        "prefix-affinity-gap-2-first",
        "As prefix-affinity-first, unless more than 2 requests busier."
    ),
    builtin!(
        "prefix-affinity-own",
        "As prefix-affinity, by own requests alone."
    ),
    builtin!(
        "prefix-affinity-scaled",
        "As prefix-affinity, by least-scaled's count."
    ),
    builtin!(
        "prefix-affinity-predicted",
        "As prefix-affinity, by what was sent there in the place of cache reports."
    ),
    builtin!(
        "prefix-only",
        "The holder of the prefix, however busy it is."
    ),
    builtin!(
        "prefix-only-first",
        "As prefix-only, equal ones by their order, as the article has it."
    ),
    builtin!(
        "consistent-hash",
        "The endpoint that the prefix hashes to, with bounded load."
    ),
    builtin!(
        "consistent-hash-least-loaded",
        "As consistent-hash, past its bound to the least loaded."
    ),
];

#[cfg(test)]
mod tests;
