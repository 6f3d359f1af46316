use pointsman_api::picker_config::PluginSpec;
use pointsman_telemetry::metric_spec::MetricSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod pickers;
mod prefixes;

const HEAD: &str = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n";

fn loaded(text: &str) -> Compiled {
    load(&format!("{HEAD}{text}"), Attachment::Gateway).unwrap()
}

fn told(text: &str) -> String {
    load(&format!("{HEAD}{text}"), Attachment::Gateway)
        .unwrap_err()
        .to_string()
}

fn warned(text: &str) -> String {
    Problems(loaded(text).warnings).to_string()
}

/// The same without the long table of what engines call their metrics.
fn without_names(mut compiled: Compiled) -> Compiled {
    compiled.metric_names.engines.clear();
    compiled
}

#[test]
fn an_empty_text_is_the_default_configuration() {
    let default = compile(&EndpointPickerConfig::default(), Attachment::Gateway).unwrap();
    for text in ["", "# nothing\n", HEAD] {
        assert_eq!(parse(text).unwrap(), EndpointPickerConfig::default());
        assert_eq!(load(text, Attachment::Gateway).unwrap(), default);
    }
    insta::assert_debug_snapshot!(without_names(default));
}

#[test]
fn llm_ds_own_default_file_is_read_as_it_stands() {
    let compiled = loaded(
        "
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: metrics-data-source
- type: core-metrics-extractor
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
dataLayer:
  sources:
  - pluginRef: metrics-data-source
    extractors:
    - pluginRef: core-metrics-extractor
",
    );
    assert_eq!(compiled.warnings, []);
    let weights: Vec<_> = compiled
        .runtime
        .profile
        .scorers
        .iter()
        .map(|scorer| scorer.weight)
        .collect();
    assert_eq!(weights, [2.0, 2.0, 3.0]);
}

#[test]
fn every_field_at_once_compiles() {
    let mut spec = spec::tests::full();
    spec.plugins[3].parameters = Some(json!({ "path": "endpoints.yaml" }));
    let compiled = compile(&spec, Attachment::Gateway).unwrap();
    assert_eq!(compiled.runtime.profile.scorers.len(), 1);
    assert_eq!(compiled.runtime.hold.requests_max, 100);
    assert!(compiled.discovery.is_some());
}

#[test]
fn the_head_must_be_of_a_known_version() {
    let load = |text: &str| load(text, Attachment::Gateway);
    assert_eq!(
        load("plugins: []").unwrap_err().to_string(),
        "apiVersion: is required: add it\nkind: is required: add it",
    );
    assert_eq!(
        load("apiVersion: llm-d.ai/v1\nkind: Pod")
            .unwrap_err()
            .to_string(),
        "apiVersion: must be `llm-d.ai/v1alpha1`, not `llm-d.ai/v1`\n\
         kind: must be `EndpointPickerConfig`, not `Pod`",
    );
    let older = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig";
    assert_eq!(
        Problems(load(older).unwrap().warnings).to_string(),
        "apiVersion: is deprecated: write `llm-d.ai/v1alpha1`",
    );
}

#[test]
fn parameters_reach_what_runs() {
    let compiled = loaded(
        "
plugins:
- {type: prefix-cache-scorer, parameters: {matchLengthWeight: 0.5, matchLengthScaleTokens: 100}}
- {type: active-request-scorer, parameters: {idleThreshold: 2, maxBusyScore: 0.25}}
- {type: own-inflight-scorer, parameters: {halfScoreRequests: 0.5}}
- {type: token-load-scorer, parameters: {queueThresholdTokens: 1000}}
- {type: least-outstanding-picker, parameters: {maxNumOfEndpoints: 5}}
- {type: approx-prefix-cache-producer, parameters: {blockSizeTokens: 128, autoTune: false}}
- {type: metrics-data-source, parameters: {path: /prom, port: 9100, interval: 200ms, scheme: http}}
- {type: file-discovery, parameters: {path: /etc/endpoints.yaml, watchFile: true}}
dataLayer: {discovery: {pluginRef: file-discovery}}
",
    );
    insta::assert_debug_snapshot!(without_names(compiled));
}

#[test]
fn a_block_is_never_smaller_than_64_tokens() {
    for (written, size) in [(0, 64), (16, 64), (64, 64), (65, 65), (65_536, 65_536)] {
        let parameters = format!("{{blockSizeTokens: {written}}}");
        let text =
            format!("plugins: [{{type: approx-prefix-cache-producer, parameters: {parameters}}}]");
        assert_eq!(loaded(&text).runtime.block_size.tokens().0, size);
    }
}

#[test]
fn problems_of_shape_and_of_meaning_are_told_at_once() {
    let told = told(
        "
plugins:
- {type: queue-scorer, weight: 2}
- {type: queue-scorrer}
- {name: prefix, type: prefix-cache-scorer, parameters: {matchLengthWeight: 1.5, matchLength: 1}}
- {type: lora-affinity-scorer}
- {name: prefix, type: max-score-picker, parameters: {maxNumOfEndpoints: many}}
- {type: max-score-picker, parameters: [1]}
schedulingProfile: []
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: -2}
  - {pluginRef: prefx}
  - {pluginRef: lora-affinity-scorer, weight: heavy}
  - {weight: 1}
- plugins: []
",
    );
    insta::assert_snapshot!(told);
}

#[test]
fn problems_of_the_data_layer_are_told_at_once() {
    let told = told(
        "
plugins:
- {type: metrics-data-source, parameters: {scheme: https, port: 70000, interval: 2h, path: metrics}}
- {name: second, type: metrics-data-source, parameters: {interval: fast}}
- {type: core-metrics-extractor, parameters: {engines: []}}
- {type: file-discovery, parameters: {watchFile: 'yes'}}
- {type: max-score-picker}
dataLayer:
  sources:
  - pluginRef: metrics-data-source
    extractors: [{pluginRef: core-metrics-extractors}, {pluginRef: metrics-data-source}]
  - pluginRef: second
  discovery: {pluginRef: max-score-picker}
  peerDiscovery: {pluginRef: nobody}
  crossReplicaSyncInterval: 5
requestHandler:
  parsers: [{pluginRef: openai-parser}, {pluginRef: vllmgrpc-parser}, {pluginRef: file-discovery}]
saturationDetector: {pluginRef: concurrency-detector}
",
    );
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_accepted_without_effect_is_warned_of() {
    let warned = warned(
        "
featureGates: [haPopulateNonLeaderDatastore=false]
plugins:
- {type: approx-prefix-cache-producer, parameters: {autoTune: true, lruCapacityPerServer: 1000,
   maxPrefixTokensToMatch: 131072, blockSize: 256}}
- {type: active-request-scorer, parameters: {requestTimeout: 2m,
   inFlightLoadProducerName: inflight-load-producer}}
- {type: openai-parser}
- {type: utilization-detector, parameters: {queueDepthThreshold: 10}}
- {type: metrics-data-source, parameters: {insecureSkipVerify: false, caCertPath: /ca}}
- {type: core-metrics-extractor, parameters: {engineConfigs: [{name: x, customMetrics: []}]}}
- {type: file-discovery, parameters: {path: /etc/endpoints.yaml}}
dataLayer:
  injectDefaults: false
  crossReplicaSyncInterval: 1s
requestHandler: {parsers: [{pluginRef: openai-parser}]}
flowControl: {enableEviction: true}
",
    );
    insta::assert_snapshot!(warned);
}

#[test]
fn b76_a_scorer_whose_producer_is_not_there_is_a_problem() {
    let scorer = |producer: &str| {
        format!(
            "plugins:\n- {{type: prefix-cache-scorer, parameters: \
             {{prefixMatchInfoProducerName: {producer}}}}}\n"
        )
    };
    let path = "plugins[0].parameters.prefixMatchInfoProducerName";
    assert_eq!(
        told(&scorer("precise-prefix-cache-producer")),
        format!(
            "{path}: `precise-prefix-cache-producer` is not the name of an entry of `plugins`: \
             add it there, or write another"
        ),
    );
    assert_eq!(warned(&scorer("approx-prefix-cache-producer")), "");
    let named = scorer("mine") + "- {name: mine, type: approx-prefix-cache-producer}\n";
    assert_eq!(warned(&named), "");
    let wrong = scorer("mine") + "- {name: mine, type: queue-scorer}\n";
    assert_eq!(
        told(&wrong),
        format!(
            "{path}: `mine` is not of the type `approx-prefix-cache-producer` or \
             `precise-prefix-cache-producer`"
        ),
    );
    for other in [
        "approx-prefix-cache-producer",
        "precise-prefix-cache-producer",
    ] {
        assert_eq!(
            told(&format!("{named}- {{name: other, type: {other}}}\n")),
            "plugins[2].type: more than one producer of prefix matches is not built in this \
             version: keep one",
        );
    }
}

#[test]
fn the_metrics_source_is_the_one_that_the_data_layer_names() {
    let text = "
plugins:
- {type: metrics-data-source, parameters: {path: /one}}
- {name: two, type: metrics-data-source, parameters: {path: /two}}
";
    assert!(told(text).starts_with("plugins[1].type: more than one metrics source"));
    let named = format!("{text}dataLayer: {{sources: [{{pluginRef: two}}]}}\n");
    assert_eq!(loaded(&named).metrics.path, "/two");
    assert_eq!(loaded("").metrics, MetricsSource::default());
}

#[test]
fn the_names_of_metrics_are_those_of_known_engines_and_of_the_file() {
    let names = loaded(
        "
plugins:
- type: core-metrics-extractor
  parameters:
    engineLabelKey: engine
    defaultEngine: mine
    engineConfigs:
    - name: mine
      queuedRequestsSpec: 'mine_requests{state=waiting}'
      kvUsageSpec: ''
    - {name: vllm, queuedRequestsSpec: other_waiting}
",
    )
    .metric_names;
    assert_eq!(
        (names.label.as_str(), names.default.as_str()),
        ("engine", "mine")
    );
    let kinds: Vec<_> = names.engines.keys().map(String::as_str).collect();
    let known = [
        "mine",
        "sglang",
        "triton",
        "triton-tensorrt-llm",
        "trtllm-serve",
        "vllm",
    ];
    assert_eq!(kinds, known);
    let waiting = MetricSpec::named("mine_requests").with("state", "waiting");
    assert_eq!(names.engines["mine"].waiting, [waiting]);
    assert!(names.engines["mine"].kv_usage.is_empty());
    let vllm = &names.engines["vllm"];
    assert_eq!(vllm.waiting, [MetricSpec::named("other_waiting")]);
    assert!(vllm.running.is_empty());
    assert_eq!(vllm.counters, Engine::Vllm.names().counters);
}

#[test]
fn problems_of_engines_are_told_with_their_place() {
    insta::assert_snapshot!(told(
        "
plugins:
- type: core-metrics-extractor
  parameters:
    defaultEngine: sgland
    engineConfigs:
    - {name: default, queuedRequestsSpec: 'a b'}
    - {runningRequestsSpec: 'x{y}', kvUsage: z, cacheBlockSizeSpec: 3}
    - vllm
- {name: second, type: core-metrics-extractor}
",
    ));
}

#[test]
fn a_discovery_that_nothing_names_is_not_used() {
    let text = "plugins: [{type: file-discovery, parameters: {path: /a}}]\n";
    assert_eq!(loaded(text).discovery, None);
    let named = format!("{text}dataLayer: {{discovery: {{pluginRef: file-discovery}}}}\n");
    let file = FileDiscovery {
        path: "/a".to_owned(),
        watch: false,
    };
    assert_eq!(loaded(&named).discovery, Some(file));
    assert_eq!(warned(&named), "");
}

#[test]
fn a_plugin_of_every_type_is_read_or_told() {
    for known in crate::registry::PLUGIN_TYPES {
        let spec = EndpointPickerConfig {
            plugins: vec![PluginSpec {
                plugin_type: known.name.to_owned(),
                ..PluginSpec::default()
            }],
            ..EndpointPickerConfig::default()
        };
        let told = compile(&spec, Attachment::Standalone)
            .map_or_else(|p| p.to_string(), |_| String::new());
        match known.state {
            crate::plugin::State::NotBuilt => assert_eq!(
                told,
                format!(
                    "plugins[0].type: `{}` is not built in this version: remove it",
                    known.name
                ),
            ),
            _ if known.name == "file-discovery" => {
                assert_eq!(told, "plugins[0].parameters.path: is required: add it");
            }
            _ => assert_eq!(told, "", "{}", known.name),
        }
    }
}

#[test]
fn a_plugin_without_a_readable_name_is_told_once() {
    let text = "plugins: [{type: 5}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: x}]}]";
    assert_eq!(
        told(text),
        "plugins[0].type: must be text, not 5: put it in quotes"
    );
}

#[test]
fn a_list_of_plugins_has_a_limit() {
    let text = format!("plugins:\n{}", "- {type: queue-scorer}\n".repeat(257));
    assert!(told(&text).starts_with("plugins: has 257 entries and the limit is 256"));
}

/// Words that make a text look like a configuration, so that random ones get past the syntax.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("plugins"),
        Just("type"),
        Just("name"),
        Just("parameters"),
        Just("schedulingProfiles"),
        Just("pluginRef"),
        Just("weight"),
        Just("flowControl"),
        Just("maxRequests"),
        Just("noEndpointRequestTTL"),
        Just("dataLayer"),
        Just("discovery"),
        Just("featureGates"),
        Just("prefix-cache-scorer"),
        Just("file-discovery"),
        Just("blockSizeTokens"),
        Just("1e400"),
        Just("5s"),
    ]
    .prop_map(str::to_owned)
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_told(text: String) {
        let _ = load(&text, Attachment::Gateway);
    }

    #[test]
    fn any_bytes_are_read_or_told(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = load(&String::from_utf8_lossy(&bytes), Attachment::Standalone);
    }

    #[test]
    fn any_tree_is_read_or_told(mut tree in tree()) {
        if let Some(object) = tree.as_object_mut() {
            object.insert("apiVersion".to_owned(), json!("llm-d.ai/v1alpha1"));
            object.insert("kind".to_owned(), json!("EndpointPickerConfig"));
        }
        let text = serde_json::to_string(&tree).unwrap();
        let all = load(&text, Attachment::Gateway);
        let in_steps = parse(&text).and_then(|spec| compile(&spec, Attachment::Gateway));
        prop_assert_eq!(all.is_ok(), in_steps.is_ok());
        if let (Err(all), Err(step)) = (all, in_steps) {
            prop_assert!(step.0.iter().all(|problem| all.0.contains(problem)));
        }
    }
}
