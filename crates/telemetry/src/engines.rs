//! The names that engines use, of those that are known here.

use crate::mapping::{Counted, EngineNames};
use crate::metric_spec::MetricSpec;

/// A kind of engine whose names are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// vLLM, of all versions.
    #[default]
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM behind its own server.
    TrtllmServe,
    /// TensorRT-LLM behind Triton.
    TritonTensorrtLlm,
    /// Triton with any other backend.
    Triton,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Vllm,
        Self::Sglang,
        Self::TrtllmServe,
        Self::TritonTensorrtLlm,
        Self::Triton,
    ];

    /// The word for it in labels of pods and in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::TrtllmServe => "trtllm-serve",
            Self::TritonTensorrtLlm => "triton-tensorrt-llm",
            Self::Triton => "triton",
        }
    }

    /// The engine of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// What it calls its metrics, the present names before the older ones.
    pub fn names(self) -> EngineNames {
        match self {
            Self::Vllm => vllm(),
            Self::Sglang => sglang(),
            Self::TrtllmServe => trtllm_serve(),
            Self::TritonTensorrtLlm => triton_tensorrt_llm(),
            Self::Triton => EngineNames {
                // What it counts as executions are all since its beginning, and no load.
                waiting: named(&["nv_inference_pending_request_count"]),
                ..EngineNames::default()
            },
        }
    }
}

fn vllm() -> EngineNames {
    EngineNames {
        waiting: named(&["vllm:num_requests_waiting"]),
        running: named(&["vllm:num_requests_running"]),
        kv_usage: named(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        cache_info: named(&["vllm:cache_config_info"]),
        block_tokens_label: "block_size".into(),
        blocks_label: "num_gpu_blocks".into(),
        adapters: named(&["vllm:lora_requests_info"]),
        counters: counters(&[
            (Counted::PromptTokens, "vllm:prompt_tokens"),
            (Counted::CachedTokens, "vllm:prefix_cache_hits"),
            (Counted::CachedTokens, "vllm:gpu_prefix_cache_hits"),
            (Counted::OutputTokens, "vllm:generation_tokens"),
            (
                Counted::PrefillSeconds,
                "vllm:request_prefill_time_seconds_sum",
            ),
            (
                Counted::DecodeSeconds,
                "vllm:request_decode_time_seconds_sum",
            ),
            (Counted::Preemptions, "vllm:num_preemptions"),
            (Counted::Finished, "vllm:request_success"),
        ]),
        rank_label: Some("engine".into()),
        ..EngineNames::default()
    }
}

fn sglang() -> EngineNames {
    EngineNames {
        waiting: named(&["sglang:num_queue_reqs"]),
        running: named(&["sglang:num_running_reqs"]),
        kv_usage: named(&["sglang:token_usage"]),
        cache_info: named(&["sglang:cache_config_info"]),
        block_tokens_label: "page_size".into(),
        blocks_label: "num_pages".into(),
        counters: counters(&[
            (Counted::PromptTokens, "sglang:prompt_tokens"),
            (Counted::CachedTokens, "sglang:cached_tokens"),
            (Counted::OutputTokens, "sglang:generation_tokens"),
            (Counted::Finished, "sglang:num_requests"),
        ]),
        rank_label: Some("dp_rank".into()),
        ..EngineNames::default()
    }
}

fn trtllm_serve() -> EngineNames {
    EngineNames {
        waiting: named(&["trtllm_num_requests_waiting"]),
        running: named(&["trtllm_num_requests_running"]),
        kv_usage: named(&["trtllm_kv_cache_utilization"]),
        block_tokens: named(&["trtllm_kv_cache_tokens_per_block"]),
        blocks: named(&["trtllm_kv_cache_max_blocks"]),
        counters: counters(&[(Counted::Finished, "trtllm_request_success")]),
        ..EngineNames::default()
    }
}

fn triton_tensorrt_llm() -> EngineNames {
    let requests = |kind| {
        let metric = MetricSpec::named("nv_trt_llm_request_metrics");
        vec![metric.with("request_type", kind)]
    };
    let blocks = |kind| {
        let metric = MetricSpec::named("nv_trt_llm_kv_cache_block_metrics");
        vec![metric.with("kv_cache_block_type", kind)]
    };
    EngineNames {
        waiting: requests("waiting"),
        running: requests("scheduled"),
        kv_usage: blocks("fraction"),
        block_tokens: blocks("tokens_per"),
        blocks: blocks("max"),
        ..EngineNames::default()
    }
}

fn named(names: &[&str]) -> Vec<MetricSpec> {
    names.iter().map(|name| MetricSpec::named(name)).collect()
}

fn counters(counters: &[(Counted, &str)]) -> Vec<(Counted, MetricSpec)> {
    let spec = |&(counted, name): &(Counted, &str)| (counted, MetricSpec::named(name));
    counters.iter().map(spec).collect()
}
