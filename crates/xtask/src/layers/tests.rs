use super::member::{Node, Use, inherits_lints, node, use_of};
use super::*;

const LINTS: &str = "the pure settings";

#[test]
fn a_crate_that_keeps_every_rule_has_no_finding() {
    let schedule = pure("schedule").using("domain").testing_with("prefix");
    let server = shell("server").using("pipeline").using("feeds");
    assert_eq!(faults(&[schedule, server]), [""; 0]);
}

#[test]
fn an_edge_that_is_not_in_the_table_is_found() {
    let request = pure("request").using("domain").using("schedule");
    assert_eq!(faults(&[request]), ["`request` uses `schedule`"]);
}

#[test]
fn a_stage_that_builds_with_a_shell_is_found() {
    assert_eq!(
        faults(&[pure("engine").using("server")]),
        ["`engine` uses `server`"]
    );
}

#[test]
fn a_pure_crate_that_tests_with_a_shell_is_found() {
    let ledger = pure("ledger")
        .testing_with("pipeline")
        .testing_with("feeds");
    assert_eq!(faults(&[ledger]), ["`ledger` tests with `feeds`"]);
}

#[test]
fn a_product_crate_that_uses_a_tool_is_found() {
    let cli = shell("cli")
        .using("e2e")
        .testing_with("xtask")
        .testing_with("testkit");
    assert_eq!(
        faults(&[cli]),
        ["`cli` uses `e2e`", "`cli` tests with `xtask`"]
    );
}

#[test]
fn a_crate_without_a_row_is_found_and_so_is_its_use() {
    let unknown = pure("helpers");
    let domain = pure("domain").using("helpers");
    assert_eq!(
        faults(&[unknown, domain]),
        [
            "the crate `helpers` is in no layer",
            "`domain` uses `helpers`"
        ]
    );
}

#[test]
fn a_banned_foreign_crate_is_found_once_with_the_path_to_it() {
    let prefix = pure("prefix").bringing("mio", "net").bringing("mio", "net");
    assert_eq!(
        faults(&[prefix]),
        ["the pure crate `prefix` brings in `mio` (pointsman-prefix -> between -> mio)"]
    );
}

#[test]
fn a_member_of_a_banned_family_is_found_and_a_mere_prefix_is_not() {
    let lab = pure("lab")
        .bringing("tokio-rustls", "")
        .bringing("parking_lot_core", "")
        .bringing("logos", "");
    let found = faults(&[lab]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("`tokio-rustls`"), "{found:?}");
    assert!(found[1].contains("`parking_lot_core`"), "{found:?}");
}

#[test]
fn a_feature_that_asks_for_entropy_is_found() {
    let schedule = pure("schedule").bringing("rand", "alloc,thread_rng");
    assert_eq!(faults(&[schedule]).len(), 1);
    assert_eq!(
        faults(&[pure("schedule").bringing("rand", "alloc")]),
        [""; 0]
    );
}

#[test]
fn lint_settings_other_than_those_of_the_layer_are_found() {
    let missing = Member {
        lints: None,
        ..pure("api")
    };
    let changed = Member {
        lints: Some("more".into()),
        ..pure("domain")
    };
    let extra = Member {
        lints: Some(LINTS.into()),
        ..shell("feeds")
    };
    let without = Member {
        inherits_lints: false,
        ..shell("cli")
    };
    assert_eq!(
        faults(&[missing, changed, extra, without]),
        [
            "`api` has other lint settings than its layer",
            "`domain` has other lint settings than its layer",
            "`feeds` has other lint settings than its layer",
            "`cli` does not inherit the lints of the workspace",
        ]
    );
}

#[test]
fn a_finding_tells_the_edge_the_rule_and_the_remedy() {
    let text = findings(&[pure("prefix").using("ledger")], LINTS)[0].to_string();
    assert!(
        text.starts_with("error: `prefix` uses `ledger`\n  rule: "),
        "{text}"
    );
    assert!(
        text.contains("`prefix` may use only domain\n  remedy: move"),
        "{text}"
    );
}

#[test]
fn the_table_names_known_crates_and_pure_ones_use_pure_ones() {
    for row in table::TABLE {
        for used in row.may_use {
            let used_row = table::row(used).unwrap_or_else(|| panic!("{used} has no row"));
            assert!(
                row.kind != Kind::Pure || used_row.kind == Kind::Pure,
                "{} is pure but may use {used}",
                row.name
            );
            assert!(
                used_row.kind != Kind::Tool,
                "{} may use the tool {used}",
                row.name
            );
        }
    }
}

#[test]
fn the_lines_of_cargo_tree_are_read_with_their_paths() {
    let mut path = Vec::new();
    let lines = [
        "0|pointsman-x v0.1.0 (/a b)|",
        "1|tonic v0.14.9|codegen",
        "2|tokio v1|default,sync (*)",
        "1|serde v1|",
    ];
    let nodes: Vec<Node> = lines
        .iter()
        .map(|line| node(&mut path, line).unwrap())
        .collect();
    assert_eq!(
        nodes[2],
        Node {
            name: "tokio".into(),
            features: vec!["default".into(), "sync".into()],
            path: vec!["pointsman-x".into(), "tonic".into(), "tokio".into()],
        }
    );
    assert_eq!(nodes[3].path, ["pointsman-x", "serde"]);
    assert!(node(&mut path, "an error message").is_err());
}

#[test]
fn a_declared_dependency_is_an_edge_when_it_is_one_of_ours() {
    let dependency = |kind: &str, path: &str| {
        let json = format!(
            r#"{{"name": "pointsman-domain", "req": "*", "kind": {kind}, "optional": true,
                "uses_default_features": true, "features": [], "source": null{path}}}"#
        );
        use_of(&serde_json::from_str(&json).unwrap())
    };
    let ours = r#", "path": "/here/crates/domain""#;
    assert!(dependency("null", "").is_none());
    for (kind, purpose) in [
        ("null", Purpose::Product),
        ("\"build\"", Purpose::Product),
        ("\"dev\"", Purpose::Tests),
    ] {
        let found = dependency(kind, ours).unwrap();
        assert_eq!((found.name.as_str(), found.purpose), ("domain", purpose));
    }
}

#[test]
fn both_spellings_of_inherited_lints_are_known() {
    assert!(inherits_lints("[lints]\nworkspace = true\n"));
    assert!(inherits_lints("lints.workspace = true\n[package]\n"));
    assert!(!inherits_lints("[lints.clippy]\npanic = \"allow\"\n"));
}

fn faults(members: &[Member]) -> Vec<String> {
    findings(members, LINTS)
        .into_iter()
        .map(|finding| finding.fault)
        .collect()
}

fn pure(name: &str) -> Member {
    Member {
        lints: Some(LINTS.into()),
        ..shell(name)
    }
}

fn shell(name: &str) -> Member {
    Member {
        name: name.into(),
        uses: Vec::new(),
        tree: Vec::new(),
        lints: None,
        inherits_lints: true,
    }
}

impl Member {
    fn using(mut self, name: &str) -> Self {
        self.uses.push(Use {
            name: name.into(),
            purpose: Purpose::Product,
        });
        self
    }

    fn testing_with(mut self, name: &str) -> Self {
        self.uses.push(Use {
            name: name.into(),
            purpose: Purpose::Tests,
        });
        self
    }

    fn bringing(mut self, foreign: &str, features: &str) -> Self {
        let path = [&format!("pointsman-{}", self.name), "between", foreign].map(str::to_owned);
        self.tree.push(Node {
            name: foreign.into(),
            features: features
                .split(',')
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
            path: path.into(),
        });
        self
    }
}
