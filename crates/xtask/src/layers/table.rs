//! Who may use whom. The rows that name a crate which does not exist yet keep its place.

/// One crate and the crates of the workspace that its code may use.
pub(super) struct Row {
    /// The package name without `pointsman-`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) may_use: &'static [&'static str],
}

/// What a crate may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No runtime, sockets, files, clock, entropy, locks or global state.
    Pure,
    /// Owns those, and calls pure crates.
    Shell,
    /// For development only: no product crate may use it.
    Tool,
}

/// The row of a crate.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// The one tool that tests of every crate may use.
pub(super) const TESTKIT: &str = "testkit";

pub(super) const TABLE: &[Row] = &[
    pure("domain", &[]),
    pure("json", &[]),
    pure("request", &["domain", "json", "proto"]),
    pure("observe", &["domain", "json", "proto"]),
    pure("telemetry", &["domain"]),
    pure("prefix", &["domain"]),
    pure("admission", &["domain"]),
    pure("schedule", &["domain"]),
    pure("ledger", &["domain"]),
    pure(
        "pipeline",
        &[
            "domain",
            "telemetry",
            "prefix",
            "admission",
            "schedule",
            "ledger",
        ],
    ),
    pure("api", &[]),
    pure(
        "policy",
        &[
            "api",
            "domain",
            "telemetry",
            "pipeline",
            "schedule",
            "admission",
        ],
    ),
    pure("proto", &[]),
    pure("extproc", &["domain", "proto", "request", "observe"]),
    pure("engine", &["domain"]),
    pure("lab", &["domain", "engine", "pipeline", "policy", "api"]),
    shell("feeds", &["domain", "telemetry", "proto"]),
    shell("floor", &[]),
    shell("cluster", &["domain", "api"]),
    shell(
        "server",
        &[
            "domain",
            "json",
            "request",
            "observe",
            "telemetry",
            "prefix",
            "admission",
            "schedule",
            "ledger",
            "pipeline",
            "api",
            "policy",
            "proto",
            "extproc",
            "feeds",
            "cluster",
        ],
    ),
    shell(
        "operator",
        &["api", "policy", "cluster", "domain", "telemetry", "proto"],
    ),
    shell(
        "cli",
        &[
            "domain",
            "json",
            "request",
            "observe",
            "telemetry",
            "prefix",
            "admission",
            "schedule",
            "ledger",
            "pipeline",
            "api",
            "policy",
            "proto",
            "extproc",
            "engine",
            "lab",
            "feeds",
            "floor",
            "cluster",
            "server",
            "operator",
        ],
    ),
    tool(
        TESTKIT,
        &[
            "domain",
            "json",
            "request",
            "observe",
            "telemetry",
            "prefix",
            "admission",
            "schedule",
            "ledger",
            "pipeline",
            "api",
            "policy",
            "proto",
            "extproc",
            "engine",
        ],
    ),
    tool(
        "counts",
        &[
            "domain",
            "request",
            "telemetry",
            "pipeline",
            "policy",
            "proto",
            "extproc",
        ],
    ),
    tool("e2e", &["cli", "domain", "proto"]),
    tool("xtask", &["api", "policy"]),
];

const fn pure(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row {
        name,
        kind: Kind::Pure,
        may_use,
    }
}

const fn shell(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row {
        name,
        kind: Kind::Shell,
        may_use,
    }
}

const fn tool(name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row {
        name,
        kind: Kind::Tool,
        may_use,
    }
}
