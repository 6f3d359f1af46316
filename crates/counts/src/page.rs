//! Metrics pages.

use crate::body::MODEL;

/// The page of a vLLM server that has served for a while, with all its histograms, for so many engines
/// behind it.
pub fn vllm(engines: u32) -> Vec<u8> {
    let mut page = Page::new("engine", engines);
    page.python();
    for (name, value) in [
        ("vllm:num_requests_running", 37.0),
        ("vllm:num_requests_waiting", 4.0),
        ("vllm:kv_cache_usage_perc", 0.617_283_950_617_284),
    ] {
        page.gauge(name, value);
    }
    for (number, name) in (1..).zip(COUNTERS) {
        page.counter(name, "", f64::from(number) * 1_234_567.0);
    }
    page.family("vllm:request_success_total", "counter");
    for reason in ["stop", "length", "abort"] {
        let label = format!(",finished_reason=\"{reason}\"");
        page.sample("vllm:request_success_total", &label, 4_711.0);
    }
    for name in HISTOGRAMS_OF_TOKENS {
        page.histogram(name, &TOKEN_BOUNDS);
    }
    for name in HISTOGRAMS_OF_SECONDS {
        page.histogram(name, &SECOND_BOUNDS);
    }
    page.family("vllm:cache_config_info", "gauge");
    page.sample("vllm:cache_config_info", CACHE_CONFIG, 1.0);
    page.text.into_bytes()
}

/// The same of an SGLang server with so many data-parallel ranks.
pub fn sglang(ranks: u32) -> Vec<u8> {
    let mut page = Page::new("dp_rank", ranks);
    page.python();
    for (name, value) in [
        ("sglang:num_running_reqs", 37.0),
        ("sglang:num_queue_reqs", 4.0),
        ("sglang:token_usage", 0.617_283_950_617_284),
        ("sglang:num_used_tokens", 271_072.0),
        ("sglang:cache_hit_rate", 0.25),
        ("sglang:gen_throughput", 1_234.5),
        ("sglang:fwd_occupancy", f64::NAN),
    ] {
        page.gauge(name, value);
    }
    for (number, name) in (1..).zip([
        "sglang:prompt_tokens_total",
        "sglang:generation_tokens_total",
        "sglang:cached_tokens_total",
        "sglang:num_requests_total",
    ]) {
        page.counter(name, "", f64::from(number) * 1_234_567.0);
    }
    for stage in ["prefill", "decode", "prepare", "transfer", "idle"] {
        for name in HISTOGRAMS_OF_SECONDS {
            let name = name.replace("vllm:", &format!("sglang:{stage}_"));
            page.histogram(&name, &SECOND_BOUNDS);
        }
    }
    page.family("sglang:cache_config_info", "gauge");
    let label = ",num_pages=\"27447\",page_size=\"16\"";
    page.sample("sglang:cache_config_info", label, 1.0);
    page.text.into_bytes()
}

/// The same of TensorRT-LLM's own server, which tells of one engine; `stages` makes it longer.
pub fn trtllm_serve(stages: u32) -> Vec<u8> {
    let mut page = Page::new("rank", 1);
    page.python();
    for (name, value) in [
        ("trtllm_num_requests_running", 37.0),
        ("trtllm_num_requests_waiting", 4.0),
        ("trtllm_kv_cache_utilization", 0.617_283_950_617_284),
        ("trtllm_kv_cache_tokens_per_block", 16.0),
        ("trtllm_kv_cache_max_blocks", 27_447.0),
    ] {
        page.gauge(name, value);
    }
    page.counter("trtllm_request_success_total", "", 4_711.0);
    for stage in 0..stages {
        for name in HISTOGRAMS_OF_SECONDS {
            let name = name.replace("vllm:", &format!("trtllm_stage_{stage}_"));
            page.histogram(&name, &SECOND_BOUNDS);
        }
    }
    page.text.into_bytes()
}

struct Page {
    text: String,
    rank_label: &'static str,
    ranks: u32,
}

impl Page {
    const fn new(rank_label: &'static str, ranks: u32) -> Self {
        Self {
            text: String::new(),
            rank_label,
            ranks,
        }
    }

    /// What the Python client writes by itself.
    fn python(&mut self) {
        for name in [
            "python_gc_objects_collected_total",
            "python_gc_objects_uncollectable_total",
            "python_gc_collections_total",
        ] {
            self.family(name, "counter");
            for generation in 0..3 {
                self.line(&format!("{name}{{generation=\"{generation}\"}} 12345.0"));
            }
        }
        for (name, value) in [
            ("process_virtual_memory_bytes", "4.1234567168e+010"),
            ("process_resident_memory_bytes", "5.432107008e+09"),
            ("process_start_time_seconds", "1.76446080012e+09"),
            ("process_cpu_seconds_total", "98765.43"),
            ("process_open_fds", "132.0"),
            ("process_max_fds", "1.048576e+06"),
        ] {
            self.family(name, "gauge");
            self.line(&format!("{name} {value}"));
        }
    }

    fn gauge(&mut self, name: &str, value: f64) {
        self.family(name, "gauge");
        self.sample(name, "", value);
    }

    fn counter(&mut self, name: &str, label: &str, value: f64) {
        self.family(name, "counter");
        self.sample(name, label, value);
        let created = name.replace("_total", "_created");
        self.family(&created, "gauge");
        self.sample(&created, label, 1_764_460_812.25);
    }

    fn histogram(&mut self, name: &str, bounds: &[&str]) {
        self.family(name, "histogram");
        let bucket = format!("{name}_bucket");
        for (number, bound) in (1..).zip(bounds) {
            let label = format!(",le=\"{bound}\"");
            self.sample(&bucket, &label, f64::from(number) * 321.0);
        }
        self.sample(&format!("{name}_count"), "", 9_876.0);
        self.sample(&format!("{name}_sum"), "", 123_456.789_012_345);
    }

    fn family(&mut self, name: &str, kind: &str) {
        self.line(&format!("# HELP {name} What {name} says of this engine."));
        self.line(&format!("# TYPE {name} {kind}"));
    }

    /// A sample of each rank.
    fn sample(&mut self, name: &str, label: &str, value: f64) {
        let rank_label = self.rank_label;
        for rank in 0..self.ranks {
            self.line(&format!(
                "{name}{{{rank_label}=\"{rank}\"{label},model_name=\"{MODEL}\"}} {value:?}"
            ));
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

const COUNTERS: [&str; 7] = [
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:mm_cache_queries_total",
    "vllm:mm_cache_hits_total",
    "vllm:num_preemptions_total",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
];

const HISTOGRAMS_OF_TOKENS: [&str; 5] = [
    "vllm:request_prompt_tokens",
    "vllm:request_generation_tokens",
    "vllm:iteration_tokens_total",
    "vllm:request_max_num_generation_tokens",
    "vllm:request_params_max_tokens",
];

const HISTOGRAMS_OF_SECONDS: [&str; 9] = [
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
    "vllm:request_time_per_output_token_seconds",
    "vllm:e2e_request_latency_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_inference_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:request_decode_time_seconds",
];

const TOKEN_BOUNDS: [&str; 17] = [
    "1.0", "2.0", "5.0", "10.0", "20.0", "50.0", "100.0", "200.0", "500.0", "1000.0", "2000.0",
    "5000.0", "10000.0", "20000.0", "50000.0", "100000.0", "+Inf",
];

const SECOND_BOUNDS: [&str; 21] = [
    "0.3", "0.5", "0.8", "1.0", "1.5", "2.0", "2.5", "5.0", "10.0", "15.0", "20.0", "30.0", "40.0",
    "50.0", "60.0", "120.0", "240.0", "480.0", "960.0", "1920.0", "+Inf",
];

const CACHE_CONFIG: &str = ",block_size=\"16\",cache_dtype=\"auto\",\
    calculate_kv_scales=\"False\",cpu_kvcache_space_bytes=\"None\",enable_prefix_caching=\"True\",\
    gpu_memory_utilization=\"0.9\",is_attention_free=\"False\",num_cpu_blocks=\"None\",\
    num_gpu_blocks=\"27447\",num_gpu_blocks_override=\"None\",prefix_caching_hash_algo=\"sha256\",\
    sliding_window=\"None\",swap_space=\"4\",swap_space_bytes=\"4294967296\"";

#[cfg(test)]
mod tests {
    use pointsman_domain::load::{EngineSample, LoadSample};
    use pointsman_domain::units::Unit;
    use pointsman_telemetry::engines::Engine;
    use pointsman_telemetry::mapping::Mapping;

    use super::*;

    fn read(engine: Engine, page: &[u8]) -> EngineSample {
        Mapping::new(&engine.names()).read(page, None)
    }

    fn load(ranks: u32) -> LoadSample {
        LoadSample {
            waiting: Some(4 * ranks),
            running: Some(37 * ranks),
            kv_usage: Some(Unit::clamped(0.617_283_950_617_284)),
            kv_block_tokens: Some(16),
            kv_blocks: Some(27_447 * ranks),
            process_start_seconds: Some(1_764_460_800.12),
        }
    }

    #[test]
    fn the_page_of_one_engine_has_hundreds_of_lines_and_tells_every_fact() {
        let page = vllm(1);
        let lines = page.iter().filter(|byte| **byte == b'\n').count();
        assert!((300..500).contains(&lines), "{lines}");
        let sample = read(Engine::Vllm, &page);
        assert_eq!(sample.load, load(1));
        let counters = sample.counters;
        assert_eq!(counters.finished, Some(3.0 * 4_711.0));
        assert_eq!(counters.prefill_seconds, Some(123_456.789_012_345));
        let counted = [
            counters.prompt_tokens,
            counters.cached_tokens,
            counters.output_tokens,
            counters.decode_seconds,
            counters.preemptions,
        ];
        assert!(counted.iter().all(Option::is_some), "{counters:?}");
    }

    #[test]
    fn the_page_of_many_ranks_is_large_and_tells_their_sums() {
        for (engine, page, ranks) in [
            (Engine::Vllm, vllm(8), 8),
            (Engine::Sglang, sglang(2), 2),
            (Engine::TrtllmServe, trtllm_serve(11), 1),
        ] {
            let length = page.len();
            assert!((270_000..330_000).contains(&length), "{engine:?}: {length}");
            assert_eq!(read(engine, &page).load, load(ranks), "{engine:?}");
        }
    }
}
