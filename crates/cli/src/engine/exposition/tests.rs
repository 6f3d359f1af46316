use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::BlockSize;
use pointsman_domain::units::Unit;
use pointsman_engine::config::{
    AdapterSlots, Batching, CacheReports, Continuous, Reports, Role, Speed, TokenReports,
};
use pointsman_engine::job::AdapterId;
use pointsman_engine::stats::{Adapters, EngineStats, EngineTotals};

use super::super::lora_info::LoraInfo;
use super::super::measures::{Ended, Measures};
use super::*;

/// An engine of 128 tokens.
fn config(adapters: Option<AdapterSlots>) -> EngineConfig {
    EngineConfig {
        slots: NonZeroU32::MIN,
        blocks: NonZeroU32::new(8).unwrap(),
        block_size: BlockSize::new(16).unwrap(),
        batching: Batching::Continuous(Continuous {
            prefill_tokens_per_second: NonZeroU32::MIN,
            prefill_tokens_per_step_max: NonZeroU32::MIN,
            decode_step: Duration::ZERO,
        }),
        adapters,
        role: Role::Both,
        speed: Speed::ONE,
        waiting_max: 0,
        reports: Reports {
            tokens: TokenReports::Every,
            cache: CacheReports::Nothing,
        },
    }
}

fn snapshot() -> Snapshot {
    let mut measures = Measures::new(config(None).tokens_max());
    measures.ended = Ended {
        stop: 4,
        length: 5,
        abort: 6,
    };
    Snapshot {
        stats: EngineStats {
            running: 3,
            waiting: 5,
            deferred: 2,
            kv_usage: Unit::clamped(0.25),
            totals: EngineTotals {
                prefix_query_tokens: 50,
                prefix_hit_tokens: 40,
                preemptions: 0,
                prompt_tokens: 60,
                generation_tokens: 7,
                ..EngineTotals::default()
            },
        },
        measures,
        lora_info: LoraInfo::default(),
    }
}

fn page(config: &EngineConfig, snapshot: &Snapshot) -> String {
    let page = Page {
        model: "my \"m\"",
        config,
        snapshot,
        start_seconds: 1_750_000_000.5,
    };
    page.to_string()
}

/// The families of a page, each with its samples.
fn families(page: &str) -> impl Iterator<Item = &str> {
    page.split("# HELP ").skip(1)
}

#[test]
fn b51_the_page_is_what_vllm_would_show_also_for_a_model_name_that_needs_escapes() {
    let page = page(&config(None), &snapshot());
    let others = families(&page).filter(|family| !family.contains(" histogram\n"));
    let others: String = others.flat_map(|family| ["# HELP ", family]).collect();
    assert_eq!(others, PAGE);
}

#[test]
fn histograms_have_the_bounds_of_vllm() {
    let page = page(&config(None), &snapshot());
    let histograms = families(&page).filter(|family| family.contains(" histogram\n"));
    let bounds = histograms.map(|family| {
        let bounds = family.split("le=\"").skip(1);
        let bounds: Vec<_> = bounds.filter_map(|rest| rest.split('"').next()).collect();
        (family.split(' ').next().unwrap(), bounds.join(" "))
    });
    let expected = [
        ("vllm:time_to_first_token_seconds", FIRST_TOKEN),
        ("vllm:inter_token_latency_seconds", BETWEEN_TOKENS),
        ("vllm:request_time_per_output_token_seconds", BETWEEN_TOKENS),
        ("vllm:e2e_request_latency_seconds", REQUEST),
        ("vllm:request_queue_time_seconds", REQUEST),
        ("vllm:request_inference_time_seconds", REQUEST),
        ("vllm:request_prefill_time_seconds", REQUEST),
        ("vllm:request_decode_time_seconds", REQUEST),
        ("vllm:request_prompt_tokens", TOKENS),
        ("vllm:request_generation_tokens", TOKENS),
    ];
    let expected = expected.map(|(name, bounds)| (name, bounds.to_owned()));
    assert_eq!(bounds.collect::<Vec<_>>(), expected);
}

#[test]
fn adapters_are_told_as_soon_as_there_is_room_for_them() {
    let family = "# TYPE vllm:lora_requests_info gauge\n";
    let mut snapshot = snapshot();
    assert!(!page(&config(None), &snapshot).contains(family));
    let slots = AdapterSlots {
        slots: NonZeroU32::new(2).unwrap(),
        load: Duration::ZERO,
    };
    let config = config(Some(slots));
    assert!(page(&config, &snapshot).contains(family));
    for (id, name) in [(0, "a"), (1, "b"), (2, "c")] {
        snapshot.lora_info.name(AdapterId(id), name.into());
    }
    let in_use = Adapters {
        running: vec![AdapterId(0), AdapterId(1)],
        waiting: vec![AdapterId(2)],
    };
    snapshot.lora_info.note(&in_use, 1_750_000_000.5);
    let sample = "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"a,b\",\
                  waiting_lora_adapters=\"c\"} 1.7500000005e+09\n";
    assert!(page(&config, &snapshot).contains(sample));
}

const PAGE: &str = r##"# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="my \"m\""} 3.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="my \"m\""} 5.0
# HELP vllm:num_requests_waiting_by_reason Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="my \"m\"",reason="capacity"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="my \"m\"",reason="deferred"} 2.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="my \"m\""} 0.25
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="my \"m\""} 50.0
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="my \"m\""} 40.0
# HELP vllm:num_preemptions_total Cumulative number of preemption from the engine.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="my \"m\""} 0.0
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="my \"m\""} 60.0
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="my \"m\""} 7.0
# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="my \"m\""} 4.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="my \"m\""} 5.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="my \"m\""} 6.0
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",num_gpu_blocks="8"} 1.0
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7500000005e+09
"##;

const FIRST_TOKEN: &str = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 \
                           10.0 20.0 40.0 80.0 160.0 640.0 2560.0 +Inf";
const BETWEEN_TOKENS: &str = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5 \
                              10.0 20.0 40.0 80.0 +Inf";
const REQUEST: &str = "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 \
                       240.0 480.0 960.0 1920.0 7680.0 +Inf";
const TOKENS: &str = "1.0 2.0 5.0 10.0 20.0 50.0 100.0 +Inf";
