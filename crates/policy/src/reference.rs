//! The reference of the configuration file, rendered from the tables that do the reading.

mod config_fields;

use core::fmt::Write;

use self::config_fields::{CONFIG_FIELDS, ENDPOINT_FIELDS};
use crate::config::PREFIX_BYTES_MAX;
use crate::config::profile::default_scorers;
use crate::parameter::Row;
use crate::plugin::picker::{LOAD_ROWS, LoadRow};
use crate::plugin::{PluginType, Role, State};
use crate::registry::PLUGIN_TYPES;

/// The text of `docs/configuration.md`.
pub fn markdown() -> String {
    let mut out = String::from(INTRODUCTION);
    field_table(&mut out, CONFIG_FIELDS);
    defaults(&mut out);
    out.push_str("\n## Plugins that are built\n");
    for role in Role::ALL {
        role_section(&mut out, role);
        match role {
            Role::Picker => load_section(&mut out),
            Role::Extractor => out.push_str(ENGINES),
            _ => {}
        }
    }
    out.push_str(ACCEPTED);
    accepted_table(&mut out);
    out.push_str(NOT_BUILT);
    not_built_table(&mut out);
    out.push_str(ENDPOINTS);
    field_table(&mut out, ENDPOINT_FIELDS);
    out
}

/// A field of a file.
struct Field {
    path: &'static str,
    values: &'static str,
    default: fn() -> String,
    about: &'static str,
}

fn field_table(out: &mut String, fields: &[Field]) {
    out.push_str("\n| field | values | default | meaning |\n|---|---|---|---|\n");
    for Field {
        path,
        values,
        default,
        about,
    } in fields
    {
        line(
            out,
            format_args!("| `{path}` | {values} | {} | {about} |", default()),
        );
    }
}

fn defaults(out: &mut String) {
    out.push_str(DEFAULTS);
    for (name, _, weight) in default_scorers() {
        line(out, format_args!("| `{name}` | {weight} |"));
    }
    line(
        out,
        format_args!(
            "\nThe picker is `max-score-picker`. The prefix index has a budget of {} MiB, whatever the \
             configuration.",
            PREFIX_BYTES_MAX >> 20
        ),
    );
}

fn role_section(out: &mut String, role: Role) {
    let mut heading = Some(role);
    for plugin_type in PLUGIN_TYPES
        .iter()
        .filter(|plugin_type| plugin_type.role == role)
    {
        let PluginType {
            name,
            state: State::Built(built),
            ..
        } = plugin_type
        else {
            continue;
        };
        if let Some(role) = heading.take() {
            line(
                out,
                format_args!("\n### {}", capitalized(&role.to_string())),
            );
        }
        line(out, format_args!("\n#### `{name}`\n\n{}", built.about));
        if !built.parameters.is_empty() {
            parameter_table(out, built.parameters);
        }
    }
}

/// What the parameter `load` of pickers means.
fn load_section(out: &mut String) {
    out.push_str(LOAD);
    for LoadRow {
        name,
        formula,
        about,
    } in LOAD_ROWS
    {
        line(out, format_args!("| `{name}` | `{formula}` | {about} |"));
    }
}

fn parameter_table(out: &mut String, rows: &[&dyn Row]) {
    out.push_str("\n| parameter | unit | default | range | meaning |\n|---|---|---|---|---|\n");
    for row in rows {
        let (unit, default, range) = (row.unit(), row.default_text(), row.range_text());
        let (name, about) = (row.name(), row.about());
        line(
            out,
            format_args!("| `{name}` | {unit} | {default} | {range} | {about} |"),
        );
    }
}

fn accepted_table(out: &mut String) {
    out.push_str("\n| type | kind | parameters | why nothing changes |\n|---|---|---|---|\n");
    for PluginType { name, role, state } in PLUGIN_TYPES {
        if let State::Accepted(accepted) = state {
            let parameters: Vec<_> = accepted
                .parameters
                .iter()
                .map(|row| format!("`{}`", row.name()))
                .collect();
            let (parameters, why) = (parameters.join(", "), accepted.why);
            line(
                out,
                format_args!("| `{name}` | {role} | {parameters} | {why} |"),
            );
        }
    }
}

fn not_built_table(out: &mut String) {
    out.push_str("\n| kind | types |\n|---|---|\n");
    for role in Role::ALL {
        let names: Vec<_> = PLUGIN_TYPES
            .iter()
            .filter(|known| known.role == role && matches!(known.state, State::NotBuilt))
            .map(|known| format!("`{}`", known.name))
            .collect();
        if !names.is_empty() {
            line(out, format_args!("| {role} | {} |", names.join(", ")));
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}

/// Adds a line. Writing to a string cannot fail.
fn line(out: &mut String, text: core::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated by `cargo xtask generate` from the tables of `crates/policy`; change those. -->

The configuration file is llm-d's `EndpointPickerConfig`, in YAML or JSON. It is read strictly: an
unknown field, plugin type or parameter, a wrong type or a value out of range is a problem. All
problems of a file are told at once, one line each with the path of the field. What is accepted and
has no effect is a warning.

- A duration is written as in Go: `200ms`, `5s`, `1m30s`.
- A quantity is written as in Kubernetes: `100`, `512Mi`, `1G`.
- A field that is `null` counts as absent.

## Fields
";

const DEFAULTS: &str = "
## Without a profile

A configuration that lists no profile, scorer or picker uses the built-in profile:

| scorer | weight |
|---|---|
";

const LOAD: &str = "
#### The parameter `load`

How many requests a picker takes an endpoint to have. `own` are our own requests there now and `own'`
those when the last report's read began, `report` all requests in that report and `foreign` what of
it was not ours, `sent` what we sent there since, and `N` the pickers that serve the pool. An endpoint
whose report is missing or too old counts with the medians of the others.

| value | formula | meaning |
|---|---|---|
";

const ENGINES: &str = "
#### The parameter `engineConfigs`

Each entry says what one kind of engine calls its metrics. A metric is written `name{label=value,...}`;
only samples that have these labels count. A field that is absent or empty leaves its fact unknown. An
entry with the name of a known engine takes its place. A counter may have `_total` behind its name.

| field | meaning |
|---|---|
| `name` | The word in the label of endpoints; not `default`. |
| `queuedRequestsSpec` | Requests that wait. |
| `runningRequestsSpec` | Requests in the batch. |
| `kvUsageSpec` | Share of the KV cache in use, from 0 to 1. |
| `loraSpec` | Metric with the labels `running_lora_adapters`, `waiting_lora_adapters` and `max_lora`, whose value is the time of that. |
| `cacheInfoSpec` | Metric whose labels describe the KV cache: `cacheBlockSizeLabelName` names that of the tokens of a block, `cacheNumBlocksLabelName` that of the number of blocks. |
| `cacheBlockSizeSpec` | Tokens of a block, as a value. |
| `cacheNumBlocksSpec` | Number of blocks, as a value. |
| `customMetrics` | *Not active.* |
";

const ACCEPTED: &str = "
## Plugins that are accepted without effect

These are llm-d's defaults, or describe what happens anyway. Listing one gives a warning.
";

const NOT_BUILT: &str = "
## Plugins that are not built in this version

These are types of llm-d. Listing one is a problem, as the result would not be what the file asks
for.
";

const ENDPOINTS: &str = "
## The endpoints file

The file of `file-discovery`, in YAML or JSON, of at most 1 MiB. A broken file changes nothing: the
last good one stays in force.
";

#[cfg(test)]
mod tests;
