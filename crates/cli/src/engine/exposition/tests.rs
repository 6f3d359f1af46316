use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::BlockSize;
use pointsman_domain::units::Unit;
use pointsman_engine::stats::{EngineStats, EngineTotals};

use super::super::driver::Ended;
use super::*;

#[test]
fn b51_the_page_is_what_vllm_would_show_also_for_a_model_name_that_needs_escapes() {
    let config = EngineConfig {
        slots: NonZeroU32::MIN,
        blocks: NonZeroU32::new(8).unwrap(),
        block_size: BlockSize::new(16).unwrap(),
        prefill_tokens_per_second: NonZeroU32::MIN,
        prefill_tokens_per_step_max: NonZeroU32::MIN,
        decode_step: Duration::ZERO,
        waiting_max: 0,
    };
    let page = Page {
        model: "my \"m\"",
        config: &config,
        snapshot: Snapshot {
            stats: EngineStats {
                running: 3,
                waiting: 1,
                kv_usage: Unit::clamped(0.25),
                totals: EngineTotals {
                    prefix_query_tokens: 50,
                    prefix_hit_tokens: 40,
                    preemptions: 0,
                    prompt_tokens: 60,
                    generation_tokens: 7,
                },
            },
            ended: Ended {
                stop: 4,
                length: 5,
                abort: 6,
            },
        },
        start_seconds: 1_750_000_000.5,
    };
    assert_eq!(page.to_string(), PAGE);
}

const PAGE: &str = r##"# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="my \"m\""} 3.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="my \"m\""} 1.0
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
process_start_time_seconds 1750000000.5
"##;
