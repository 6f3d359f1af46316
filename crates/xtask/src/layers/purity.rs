//! Which foreign crates a pure crate may not bring in.

use super::Finding;
use super::member::{Member, Node};

/// The breaches in the tree of a pure crate. Each foreign crate is reported once, with the first
/// path to it.
pub(super) fn findings(member: &Member) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: Vec<&Node> = Vec::new();
    for node in &member.tree {
        if seen
            .iter()
            .any(|earlier| earlier.name == node.name && earlier.features == node.features)
        {
            continue;
        }
        seen.push(node);
        findings.extend(ban(node).map(|reason| finding(member, node, &reason)));
    }
    findings
}

/// The reason why the node is not allowed there.
fn ban(node: &Node) -> Option<String> {
    let banned = BANS
        .iter()
        .find(|ban| ban.families.iter().any(|it| is_of_family(&node.name, it)));
    if let Some(ban) = banned {
        return Some(ban.reason.to_owned());
    }
    FEATURE_BANS
        .iter()
        .find(|ban| ban.foreign == node.name && node.features.iter().any(|it| it == ban.feature))
        .map(|ban| format!("its feature `{}` {}", ban.feature, ban.reason))
}

/// A family is a crate and those named after it: `tokio` and `tokio-util`, `parking_lot` and
/// `parking_lot_core`.
fn is_of_family(name: &str, family: &str) -> bool {
    name.strip_prefix(family)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

fn finding(member: &Member, node: &Node, reason: &str) -> Finding {
    Finding {
        fault: format!(
            "the pure crate `{}` brings in `{}` ({})",
            member.name,
            node.name,
            node.path.join(" -> ")
        ),
        rule: format!("`{}` is banned from pure crates: {reason}", node.name),
        remedy: "drop the dependency or the feature that pulls it in, or do this work in a shell"
            .into(),
    }
}

struct Ban {
    families: &'static [&'static str],
    reason: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        families: &[
            "tokio",
            "async-std",
            "async-io",
            "smol",
            "futures-executor",
            "futures-timer",
        ],
        reason: "waiting is data, so nothing pure runs on a runtime",
    },
    Ban {
        families: &[
            "mio",
            "socket2",
            "hyper",
            "h2",
            "reqwest",
            "ureq",
            "curl",
            "axum",
            "tonic",
            "rustls",
            "openssl",
            "native-tls",
            "zmq",
            "zeromq",
        ],
        reason: "sockets belong to shells",
    },
    Ban {
        families: &["kube", "kube-client", "kube-runtime"],
        reason: "the Kubernetes API is reached from `cluster` and `operator` only",
    },
    Ban {
        families: &[
            "notify", "inotify", "tempfile", "memmap2", "walkdir", "ignore", "dirs",
        ],
        reason: "files belong to shells",
    },
    Ban {
        families: &[
            "parking_lot",
            "crossbeam",
            "rayon",
            "threadpool",
            "dashmap",
            "arc-swap",
        ],
        reason: "pure code has one owner, so it needs neither threads nor locks",
    },
    Ban {
        families: &["getrandom", "fastrand", "uuid", "foldhash"],
        reason: "randomness is an argument",
    },
    Ban {
        families: &[
            "libc",
            "nix",
            "rustix",
            "signal-hook",
            "windows-sys",
            "mimalloc",
        ],
        reason: "the operating system belongs to shells",
    },
    Ban {
        families: &["tracing", "log", "prometheus", "opentelemetry", "metrics"],
        reason: "pure code returns typed events, from which shells make logs, metrics and spans",
    },
];

struct FeatureBan {
    foreign: &'static str,
    feature: &'static str,
    reason: &'static str,
}

const FEATURE_BANS: &[FeatureBan] = &[
    FeatureBan {
        foreign: "rand",
        feature: "sys_rng",
        reason: "asks the operating system for randomness, which is an argument",
    },
    FeatureBan {
        foreign: "rand",
        feature: "thread_rng",
        reason: "is a global generator with a random seed, but randomness is an argument",
    },
    FeatureBan {
        foreign: "hashbrown",
        feature: "default-hasher",
        reason: "seeds its hasher anew in each process, so the order of a map would differ",
    },
];
