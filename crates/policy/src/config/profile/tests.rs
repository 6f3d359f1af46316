use core::num::NonZeroU32;

use pointsman_api::picker_config::{EndpointPickerConfig, PluginSpec, ProfilePlugin};
use pointsman_domain::block::{BlockHash, BlockSize};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::Tokens;
use pointsman_schedule::candidate::Candidate;
use pointsman_schedule::profile::Scores;
use pointsman_schedule::question::Question;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::*;
use crate::config::{Attachment, Compiled, compile};
use crate::problem::Problems;

fn plugin(plugin_type: &str) -> PluginSpec {
    PluginSpec {
        plugin_type: plugin_type.to_owned(),
        ..PluginSpec::default()
    }
}

fn member(name: &str, weight: Option<f64>) -> ProfilePlugin {
    ProfilePlugin {
        plugin_ref: name.to_owned(),
        weight,
    }
}

fn profile(members: Vec<ProfilePlugin>) -> SchedulingProfile {
    SchedulingProfile {
        name: "default".to_owned(),
        plugins: members,
    }
}

fn config(plugins: &[&str], profiles: Vec<SchedulingProfile>) -> EndpointPickerConfig {
    EndpointPickerConfig {
        plugins: plugins.iter().copied().map(plugin).collect(),
        scheduling_profiles: profiles,
        ..EndpointPickerConfig::default()
    }
}

fn compiled(spec: &EndpointPickerConfig) -> Compiled {
    compile(spec, Attachment::Gateway).unwrap()
}

fn told(spec: &EndpointPickerConfig) -> String {
    compile(spec, Attachment::Gateway)
        .map_or_else(|problems| problems.to_string(), |_| String::new())
}

fn weights(compiled: &Compiled) -> Vec<(&str, f64)> {
    let scorers = &compiled.runtime.profile.scorers;
    scorers
        .iter()
        .map(|weighted| (&*weighted.name, weighted.weight))
        .collect()
}

#[test]
fn only_a_configuration_without_scorers_and_pickers_gets_the_built_in_profile() {
    let built_in = [
        ("queue-scorer", 2.0),
        ("kv-cache-utilization-scorer", 2.0),
        ("prefix-cache-scorer", 3.0),
        ("own-inflight-scorer", 4.0),
    ];
    assert_eq!(weights(&compiled(&config(&[], vec![]))), built_in);
    let feeds = [
        "metrics-data-source",
        "core-metrics-extractor",
        "approx-prefix-cache-producer",
    ];
    assert_eq!(weights(&compiled(&config(&feeds, vec![]))), built_in);
    assert_eq!(
        weights(&compiled(&config(&["queue-scorer"], vec![]))),
        [("queue-scorer", 1.0)]
    );
    assert_eq!(weights(&compiled(&config(&["random-picker"], vec![]))), []);
    assert_eq!(weights(&compiled(&config(&[], vec![profile(vec![])]))), []);
}

#[test]
fn without_profiles_all_scorers_and_the_picker_count_in_the_order_of_the_file() {
    let plugins = [
        "prefix-cache-scorer",
        "single-profile-handler",
        "round-robin-picker",
        "queue-scorer",
    ];
    let compiled = compiled(&config(&plugins, vec![]));
    assert_eq!(
        weights(&compiled),
        [("prefix-cache-scorer", 1.0), ("queue-scorer", 1.0)]
    );
    assert!(matches!(
        compiled.runtime.profile.picker,
        Picker::RoundRobin(_)
    ));
}

#[test]
fn a_profile_has_what_it_lists_with_weights_of_one_where_none_is_given() {
    let members = vec![
        member("queue-scorer", Some(0.0)),
        member("own-inflight-scorer", None),
    ];
    let plugins = ["own-inflight-scorer", "queue-scorer", "prefix-cache-scorer"];
    let compiled = compiled(&config(&plugins, vec![profile(members)]));
    assert_eq!(
        weights(&compiled),
        [("queue-scorer", 0.0), ("own-inflight-scorer", 1.0)]
    );
    assert_eq!(
        compiled.runtime.profile.picker,
        Picker::MaxScore(MaxScore::default())
    );
}

#[test]
fn a_profile_without_a_picker_takes_the_first_that_the_file_lists() {
    let plugins = ["queue-scorer", "random-picker", "max-score-picker"];
    let spec = config(&plugins, vec![profile(vec![member("queue-scorer", None)])]);
    assert_eq!(compiled(&spec).runtime.profile.picker, Picker::Random);
}

#[test]
fn the_picker_says_how_many_endpoints_an_answer_lists() {
    let mut spec = config(&["max-score-picker"], vec![]);
    assert_eq!(compiled(&spec).runtime.destinations_max, 1);
    let standalone = compile(&spec, Attachment::Standalone).unwrap();
    assert_eq!(standalone.runtime.destinations_max, 3);
    spec.plugins[0].parameters = Some(json!({ "maxNumOfEndpoints": 2 }));
    assert_eq!(compiled(&spec).runtime.destinations_max, 2);
    let standalone = compile(&spec, Attachment::Standalone).unwrap();
    assert_eq!(standalone.runtime.destinations_max, 2);
    for outside in [json!(0), json!(17), json!(-1), json!(1.5), json!("2")] {
        spec.plugins[0].parameters = Some(json!({ "maxNumOfEndpoints": outside }));
        assert!(told(&spec).starts_with("plugins[0].parameters.maxNumOfEndpoints: "));
    }
}

#[test]
fn a_weight_is_finite_and_not_negative() {
    for weight in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let members = vec![member("queue-scorer", Some(weight))];
        assert_eq!(
            told(&config(&["queue-scorer"], vec![profile(members)])),
            "schedulingProfiles[0].plugins[0].weight: must be a finite number of 0 or more",
        );
    }
}

#[test]
fn a_second_picker_or_profile_is_a_problem() {
    let pickers = ["max-score-picker", "random-picker"];
    let second = "`random-picker` is a second picker next to `max-score-picker`: keep one";
    assert_eq!(
        told(&config(&pickers, vec![])),
        format!("plugins[1].type: {second}")
    );
    let members = || pickers.iter().map(|name| member(name, None)).collect();
    assert_eq!(
        told(&config(&pickers, vec![profile(members()), profile(vec![])])),
        format!(
            "schedulingProfiles[0].plugins[1].pluginRef: {second}\n\
             schedulingProfiles[1]: more than one profile is not built in this version: keep one"
        ),
    );
}

#[test]
fn what_has_no_effect_in_a_profile_is_a_warning_and_a_filter_is_a_problem() {
    let plugins = [
        "single-profile-handler",
        "max-score-picker",
        "utilization-detector",
    ];
    let mut spec = config(
        &plugins,
        vec![profile(vec![
            member("single-profile-handler", None),
            member("max-score-picker", Some(1.0)),
        ])],
    );
    let warnings = Problems(compiled(&spec).warnings).to_string();
    assert_eq!(
        warnings.lines().skip(1).collect::<Vec<_>>(),
        [
            "schedulingProfiles[0].plugins[0].pluginRef: `single-profile-handler` has no effect in \
             a profile",
            "schedulingProfiles[0].plugins[1].weight: has no effect: only scorers have a weight",
        ],
    );
    spec.scheduling_profiles[0]
        .plugins
        .push(member("utilization-detector", None));
    assert_eq!(
        told(&spec),
        "schedulingProfiles[0].plugins[2].pluginRef: `utilization-detector` as a filter is not built \
         in this version: remove it",
    );
}

#[test]
fn an_idle_endpoint_wins_over_the_holder_of_a_whole_prompt_once_that_is_busy() {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    facts.prompt.blocks = vec![BlockHash(1); 16];
    let candidate = |slot: u32, requests: u32, cached_tokens: Tokens| Candidate {
        id: EndpointId {
            slot,
            generation: 0,
        },
        address: "10.0.0.1:8000".parse().unwrap(),
        load: EndpointLoad::default(),
        own: OwnLoad {
            requests,
            ..OwnLoad::default()
        },
        reported_requests: 0,
        foreign_requests: 0,
        own_at_report: 0,
        dispatched_since_report: 0,
        cached_tokens,
    };
    let mut profile = compiled(&config(&[], vec![])).runtime.profile;
    let mut winner = |busy: u32| {
        let holder = candidate(0, busy, Tokens(1024));
        let candidates = [holder, candidate(1, 0, Tokens::ZERO)];
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let question = Question {
            request: &facts,
            keys: &[],
            candidates: &candidates,
            pickers: NonZeroU32::MIN,
            wanted: 1,
        };
        profile.run(&question, &mut Scores::default(), &mut rng)[0]
    };
    assert_eq!(winner(4), 0);
    assert_eq!(winner(16), 1);
}
