use proptest::prelude::*;

use super::*;

fn told(text: &str) -> String {
    compile(text).unwrap_err().to_string()
}

fn warned(text: &str) -> Vec<String> {
    let warnings = compile(text).unwrap().warnings;
    warnings.iter().map(ToString::to_string).collect()
}

/// An object of this name with these rules.
fn object(name: &str, rules: &str) -> String {
    format!(
        "apiVersion: llm-d.ai/v1alpha2\nkind: InferenceModelRewrite\nmetadata: {{name: {name}}}\n\
         spec:\n  poolRef: {{name: pool}}\n  rules: {rules}\n"
    )
}

fn rule(matches: &[&str], targets: &[(&str, u32)]) -> RewriteRule {
    RewriteRule {
        matches: matches.iter().map(|&model| model.into()).collect(),
        targets: targets
            .iter()
            .map(|&(model, weight)| RewriteTarget {
                model: model.into(),
                weight,
            })
            .collect(),
    }
}

#[test]
fn documents_of_both_groups_become_rules_in_their_order() {
    let text = "
# Written by hand.
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceModelRewrite
metadata: {name: canary, namespace: models, labels: {team: a}, uid: 1-2-3}
spec:
  poolRef: {name: pool}
  rules:
  - matches:
    - model: {type: Exact, value: chat}
    - model: {value: chat-latest}
    targets:
    - {modelRewrite: chat-v1, weight: 90}
    - {modelRewrite: chat-v2, weight: 10}
  - targets:
    - modelRewrite: base
status: {conditions: [{type: Accepted}]}
---
---
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceModelRewrite
metadata: {name: other, namespace: models}
spec:
  poolRef: {group: inference.networking.k8s.io, kind: InferencePool, name: pool}
  rules:
  - matches: [{model: {value: old}}]
    targets: [{modelRewrite: new, weight: 1000000}]
";
    let compiled = compile(text).unwrap();
    let expected = vec![
        rule(
            &["chat", "chat-latest"],
            &[("chat-v1", 90), ("chat-v2", 10)],
        ),
        rule(&[], &[("base", 0)]),
        rule(&["old"], &[("new", 1_000_000)]),
    ];
    assert_eq!(compiled.rewrites, Rewrites::new(expected));
    let warned: Vec<_> = compiled.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warned,
        ["documents[2].apiVersion: is deprecated: write `llm-d.ai/v1alpha2`"]
    );
}

#[test]
fn b62_a_target_without_a_weight_is_read() {
    let text = object("a", "[{targets: [{modelRewrite: b}, {modelRewrite: c}]}]");
    let expected = vec![rule(&[], &[("b", 0), ("c", 0)])];
    assert_eq!(compile(&text).unwrap().rewrites, Rewrites::new(expected));
    assert!(warned(&text).is_empty());
}

#[test]
fn a_text_without_rules_rewrites_nothing_and_says_so() {
    let without = ["", "# nothing\n---\n", "---\n---\n", &object("a", "[]")];
    for text in without {
        assert_eq!(compile(text).unwrap().rewrites, Rewrites::default());
        assert_eq!(warned(text), ["has no rules: no model is rewritten"]);
    }
}

#[test]
fn json_is_read_too() {
    let text = r#"{"apiVersion": "llm-d.ai/v1alpha2", "kind": "InferenceModelRewrite",
        "metadata": {"name": "a", "namespace": null}, "spec": {"poolRef": {"name": "p"},
        "rules": [{"matches": [], "targets": [{"modelRewrite": "b", "weight": null}]}]}}"#;
    let expected = vec![rule(&[], &[("b", 0)])];
    assert_eq!(compile(text).unwrap().rewrites, Rewrites::new(expected));
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let targets = "targets: [{modelRewrite: x, weight: 1}, {modelRewrite: y}]";
    let model = |name: &str| format!("{{model: {{value: {name}}}}}");
    let text = object(
        "a",
        &format!(
            "[{{matches: [{}, {}], {targets}}}, {{{targets}}}]",
            model("m"),
            model("n"),
        ),
    ) + "---\n"
        + &object(
            "b",
            &format!(
                "[{{targets: [{{modelRewrite: z}}]}}, {{matches: [{}], targets: [{{modelRewrite: z}}]}}]",
                model("n"),
            ),
        );
    insta::assert_snapshot!(warned(&text).join("\n"));
}

#[test]
fn all_problems_of_a_text_are_told_at_once() {
    let long = "m".repeat(257);
    let text = format!(
        "
apiVersion: llm-d.ai/v1
kind: InferenceObjective
metadata: {{name: a}}
spec: {{poolRef: {{name: pool, nmae: x}}, rules: [
  {{}},
  {{matches: [{{model: {{type: Prefix, value: ''}}}}, {{}}, {{model: m}}, n], targets: []}},
  {{matches: m, targets: [{{modelRewrite: {long}}}, {{modelRewrite: '', weight: 0}}, {{weight: 1000001}},
    {{modelRewrite: 5, weight: 1.5}}, {{modelRewrite: a, weight: -1}}]}},
]}}
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceModelRewrite
metadata: {{name: a}}
spec: {{poolRef: {{name: other}}}}
extra: 1
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceModelRewrite
metadata: {{namespace: 7}}
spec: []
---
just text
---
{{}}
"
    );
    insta::assert_snapshot!(told(&text));
}

#[test]
fn one_pool_is_served() {
    let other =
        object("b", "[]").replace("metadata: {name: b}", "metadata: {name: b, namespace: n}");
    assert_eq!(
        told(&(object("a", "[]") + "---\n" + &other)),
        "documents[1].spec.poolRef: is not that of documents[0]: only one pool is served, so keep \
         the rules of one",
    );
}

#[test]
fn a_syntax_error_is_told_with_its_line() {
    let text = object("a", "[]") + "---\nkind: [\n";
    let told = told(&text);
    assert!(told.contains("line 9"), "{told}");
}

#[test]
fn a_text_over_the_limit_is_not_read() {
    let text = format!("{}#{}", object("a", "[]"), "x".repeat(1 << 20));
    assert!(told(&text).contains("the limit is 1048576"));
}

#[test]
fn aliases_of_all_documents_count_together() {
    let bomb = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(9000), "*a,".repeat(70));
    let all = [bomb.as_str(); 3].join("---\n");
    assert!(told(&bomb).contains("apiVersion"));
    assert!(told(&all).contains("aliases"), "{}", told(&all));
}

proptest! {
    #[test]
    fn any_text_is_read_or_told(text: String) {
        let _ = compile(&text);
    }

    #[test]
    fn any_rules_are_read_or_told(rules: String, place: prop::sample::Index) {
        let mut text = object("a", "[{matches: [{model: {value: m}}], targets: [{modelRewrite: b}]}]");
        let at = text.floor_char_boundary(place.index(text.len()));
        text.insert_str(at, &rules);
        let _ = compile(&text);
    }

    #[test]
    fn every_rule_of_the_types_is_the_one_that_runs(
        rules in proptest::collection::vec(
            (proptest::collection::vec("[a-z]{1,9}", 0..3), "[a-z]{1,9}", 1u32..1_000_001),
            1..9,
        ),
    ) {
        let written = rules.iter().map(|(matches, target, weight)| Rule {
            matches: matches.iter().map(|value| Match {
                model: ModelMatch { match_type: MatchType::Exact, value: value.clone() },
            }).collect(),
            targets: vec![Target { weight: Some(*weight), model_rewrite: target.clone() }],
        });
        let object = InferenceModelRewrite {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: Metadata { name: "a".to_owned(), namespace: None },
            spec: Spec {
                pool_ref: PoolReference { name: "p".to_owned(), ..PoolReference::default() },
                rules: written.collect(),
            },
            status: None,
        };
        let expected = rules.iter().map(|(matches, target, weight)| {
            let matches: Vec<_> = matches.iter().map(String::as_str).collect();
            rule(&matches, &[(target, *weight)])
        });
        let text = serde_yaml::to_string(&object).unwrap();
        prop_assert_eq!(compile(&text).unwrap().rewrites, Rewrites::new(expected.collect()));
    }
}
