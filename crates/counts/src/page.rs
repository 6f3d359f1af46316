//! A metrics page.

use crate::body::MODEL;

/// The page of a vLLM engine that has served for a while, with all its histograms.
pub fn vllm() -> Vec<u8> {
    let mut page = Page::default();
    page.python();
    for (name, value) in [
        ("vllm:num_requests_running", 37.0),
        ("vllm:num_requests_waiting", 4.0),
        ("vllm:kv_cache_usage_perc", 0.617_283_950_617_284),
    ] {
        page.family(name, "gauge");
        page.sample(name, "", value);
    }
    for (number, name) in (1..).zip(COUNTERS) {
        page.counter(name, "", f64::from(number) * 1_234_567.0);
    }
    for reason in ["stop", "length", "abort"] {
        let label = format!(",finished_reason=\"{reason}\"");
        page.counter("vllm:request_success_total", &label, 4_711.0);
    }
    for name in HISTOGRAMS_OF_TOKENS {
        page.histogram(name, &TOKEN_BOUNDS);
    }
    for name in HISTOGRAMS_OF_SECONDS {
        page.histogram(name, &SECOND_BOUNDS);
    }
    page.family("vllm:cache_config_info", "gauge");
    page.0.push_str(CACHE_CONFIG);
    page.0.into_bytes()
}

#[derive(Default)]
struct Page(String);

impl Page {
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

    fn sample(&mut self, name: &str, label: &str, value: f64) {
        self.line(&format!(
            "{name}{{engine=\"0\"{label},model_name=\"{MODEL}\"}} {value:?}"
        ));
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
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

const HISTOGRAMS_OF_SECONDS: [&str; 7] = [
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
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

const CACHE_CONFIG: &str = "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",\
    calculate_kv_scales=\"False\",cpu_kvcache_space_bytes=\"None\",enable_prefix_caching=\"True\",\
    engine=\"0\",gpu_memory_utilization=\"0.9\",is_attention_free=\"False\",\
    num_cpu_blocks=\"None\",num_gpu_blocks=\"27447\",num_gpu_blocks_override=\"None\",\
    prefix_caching_hash_algo=\"sha256\",sliding_window=\"None\",swap_space=\"4\",\
    swap_space_bytes=\"4294967296\"} 1.0\n";

#[cfg(test)]
mod tests {
    use pointsman_domain::load::LoadSample;
    use pointsman_domain::units::Unit;
    use pointsman_telemetry::mapping::VLLM;

    use super::*;

    #[test]
    fn the_page_has_hundreds_of_lines_and_tells_every_fact() {
        let page = vllm();
        let lines = page.iter().filter(|byte| **byte == b'\n').count();
        assert!((300..500).contains(&lines), "{lines}");
        let expected = LoadSample {
            waiting: Some(4),
            running: Some(37),
            kv_usage: Some(Unit::clamped(0.617_283_950_617_284)),
            kv_block_tokens: Some(16),
            kv_blocks: Some(27_447),
            process_start_seconds: Some(1_764_460_800.12),
        };
        assert_eq!(VLLM.read(&page), expected);
    }
}
