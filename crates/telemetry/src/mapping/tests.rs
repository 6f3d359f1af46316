use proptest::prelude::*;

use super::*;
use crate::engines::Engine;

/// The families of interest among others, as a vLLM server writes them.
const PAGE: &str = r#"# HELP python_gc_objects_collected_total Objects collected during gc
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 12127.0
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.75790000012e+09
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 12.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.4215
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 9.1e+06
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="7342",num_gpu_blocks_override="None"} 1.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
"#;

fn read_as(engine: Engine, page: &str) -> EngineSample {
    Mapping::new(&engine.names()).read(page.as_bytes(), None)
}

fn read(page: &str) -> LoadSample {
    read_as(Engine::Vllm, page).load
}

#[test]
fn a_vllm_page_tells_the_whole_load() {
    assert_eq!(
        read(PAGE),
        LoadSample {
            waiting: Some(3),
            running: Some(12),
            kv_usage: Some(Unit::clamped(0.4215)),
            kv_block_tokens: Some(16),
            kv_blocks: Some(7342),
            process_start_seconds: Some(1_757_900_000.12),
        }
    );
}

#[test]
fn the_counters_of_a_page_are_added_up() {
    let page = concat!(
        "vllm:prompt_tokens_total{engine=\"0\"} 9.1e+06\n",
        "vllm:prompt_tokens_total{engine=\"1\"} 1e+06\n",
        "vllm:prefix_cache_hits_total 5\n",
        "vllm:gpu_prefix_cache_hits_total 7\n",
        "vllm:generation_tokens_total 4\n",
        "vllm:request_prefill_time_seconds_bucket{le=\"0.3\"} 9\n",
        "vllm:request_prefill_time_seconds_sum 1.5\n",
        "vllm:request_prefill_time_seconds_count 9\n",
        "vllm:request_decode_time_seconds_sum NaN\n",
        "vllm:num_preemptions_total 2\n",
        "vllm:request_success_total{finished_reason=\"stop\"} 3\n",
        "vllm:request_success_total{finished_reason=\"length\"} 4\n",
    );
    let expected = Counters {
        prompt_tokens: Some(10.1e6),
        cached_tokens: Some(5.0),
        output_tokens: Some(4.0),
        prefill_seconds: Some(1.5),
        decode_seconds: None,
        preemptions: Some(2.0),
        finished: Some(7.0),
    };
    assert_eq!(read_as(Engine::Vllm, page).counters, expected);
}

#[test]
fn b46_of_several_lists_of_adapters_the_newest_counts() {
    let page = concat!(
        "vllm:lora_requests_info{max_lora=\"1\",running_lora_adapters=\"a,b,\",\
         waiting_lora_adapters=\" c\"} 1.7500000125e+09\n",
        "vllm:lora_requests_info{max_lora=\"1\",running_lora_adapters=\"\",\
         waiting_lora_adapters=\"\"} 1.75e+09\n",
    );
    let expected = Adapters {
        running: [AdapterKey::of("a"), AdapterKey::of("b")]
            .into_iter()
            .collect(),
        waiting: [AdapterKey::of("c")].into_iter().collect(),
        slots: Some(1),
    };
    assert_eq!(read_as(Engine::Vllm, page).adapters, Some(expected));
}

#[test]
fn b45_without_adapters_all_else_is_read() {
    let sample = read_as(Engine::Vllm, PAGE);
    assert_eq!(sample.adapters, None);
    assert_eq!(sample.load.waiting, Some(3));
}

#[test]
fn b48_a_rank_of_a_page_can_be_read_alone() {
    let page = concat!(
        "vllm:num_requests_waiting{engine=\"0\"} 1\n",
        "vllm:num_requests_waiting{engine=\"1\"} 9\n",
        "vllm:num_requests_running 4\n",
    );
    let mapping = Mapping::new(&Engine::Vllm.names());
    let waiting = |rank| mapping.read(page.as_bytes(), rank).load.waiting;
    assert_eq!(waiting(Some(0)), Some(1));
    assert_eq!(waiting(Some(1)), Some(9));
    assert_eq!(waiting(Some(2)), None);
    assert_eq!(waiting(None), Some(10));
    // What is told of no rank is told of each.
    assert_eq!(mapping.read(page.as_bytes(), Some(1)).load.running, Some(4));
}

#[test]
fn each_kind_of_engine_is_read_by_its_own_names() {
    let sglang = "sglang:num_queue_reqs 3\nsglang:num_running_reqs 12\nsglang:token_usage 0.25\n\
        sglang:cache_config_info{page_size=\"64\",num_pages=\"1000\"} 1\n";
    let trtllm = "trtllm_num_requests_waiting 3\ntrtllm_num_requests_running 12\n\
        trtllm_kv_cache_utilization 0.25\ntrtllm_kv_cache_tokens_per_block 64\n\
        trtllm_kv_cache_max_blocks 1000\n";
    let triton = "nv_trt_llm_request_metrics{model=\"m\",request_type=\"waiting\",version=\"1\"} 3\n\
        nv_trt_llm_request_metrics{model=\"m\",request_type=\"scheduled\",version=\"1\"} 12\n\
        nv_trt_llm_request_metrics{model=\"m\",request_type=\"max\",version=\"1\"} 512\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"m\"} 0.25\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\",model=\"m\"} 64\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\",model=\"m\"} 250\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 1000\n";
    let expected = LoadSample {
        waiting: Some(3),
        running: Some(12),
        kv_usage: Some(Unit::clamped(0.25)),
        kv_block_tokens: Some(64),
        kv_blocks: Some(1000),
        process_start_seconds: None,
    };
    for (engine, page) in [
        (Engine::Sglang, sglang),
        (Engine::TrtllmServe, trtllm),
        (Engine::TritonTensorrtLlm, triton),
    ] {
        assert_eq!(read_as(engine, page).load, expected, "{engine:?}");
        assert_eq!(read(page), LoadSample::default(), "{engine:?}");
        assert_eq!(Engine::named(engine.name()), Some(engine));
    }
    let sample = read_as(
        Engine::Triton,
        "nv_inference_pending_request_count{model=\"m\"} 3\n",
    );
    assert_eq!((sample.load.waiting, sample.load.running), (Some(3), None));
}

#[test]
fn b45_b53_what_a_page_lacks_is_unknown() {
    assert_eq!(read(""), LoadSample::default());
    assert_eq!(read("\n\n# EOF\n"), LoadSample::default());
    let sample = read("vllm:num_requests_waiting 2");
    assert_eq!(sample.waiting, Some(2));
    assert_eq!(sample.running, None);
    assert_eq!(sample.kv_usage, None);
}

#[test]
fn b48_engines_of_one_page_are_added_up_and_the_fullest_cache_counts() {
    let sample = read(concat!(
        "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 0\n",
        "vllm:num_requests_waiting{engine=\"1\",model_name=\"m\"} 9\n",
        "vllm:num_requests_running{engine=\"0\"} 4\n",
        "vllm:num_requests_running{engine=\"1\"} 5\n",
        "vllm:kv_cache_usage_perc{engine=\"0\"} 0.75\n",
        "vllm:kv_cache_usage_perc{engine=\"1\"} 0.25\n",
        "vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"100\"} 1\n",
        "vllm:cache_config_info{engine=\"1\",block_size=\"16\",num_gpu_blocks=\"150\"} 1\n",
    ));
    assert_eq!(sample.waiting, Some(9));
    assert_eq!(sample.running, Some(9));
    assert_eq!(sample.kv_usage, Some(Unit::clamped(0.75)));
    assert_eq!(sample.kv_block_tokens, Some(16));
    assert_eq!(sample.kv_blocks, Some(250));
}

#[test]
fn b49_the_older_cache_name_counts_where_the_present_one_is_missing() {
    let usage = |page: &str| read(page).kv_usage.map(Unit::value);
    assert_eq!(usage("vllm:gpu_cache_usage_perc 0.5"), Some(0.5));
    assert_eq!(usage("vllm:kv_cache_usage_perc 0.25"), Some(0.25));
    let both = "vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.25";
    assert_eq!(usage(both), Some(0.25));
}

#[test]
fn b49_a_name_with_the_suffix_of_counters_counts_only_alone() {
    assert_eq!(read("vllm:num_requests_running_total 4").running, Some(4));
    let both = "vllm:num_requests_running_total 4\nvllm:num_requests_running 3";
    assert_eq!(read(both).running, Some(3));
}

#[test]
fn b50_a_senseless_value_hides_only_its_own_sample() {
    for text in ["NaN", "+Inf", "-Inf", "-3", "1e30"] {
        let page = format!(
            "vllm:num_requests_waiting{{engine=\"0\"}} {text}\n\
             vllm:num_requests_waiting{{engine=\"1\"}} 2\n\
             vllm:num_requests_running {text}\n"
        );
        assert_eq!(read(&page).waiting, Some(2), "{text}");
        assert_eq!(read(&page).running, None, "{text}");
    }
    assert_eq!(read("vllm:kv_cache_usage_perc NaN").kv_usage, None);
}

#[test]
fn usage_beyond_the_whole_cache_is_the_whole_cache() {
    let usage = read("vllm:kv_cache_usage_perc 1.7").kv_usage;
    assert_eq!(usage, Some(Unit::ONE));
}

#[test]
fn b51_a_model_name_with_braces_and_quotes_and_a_timestamp_do_no_harm() {
    let line = r#"vllm:num_requests_running{model_name="my model {x} \"q\""} 3 1757900000000"#;
    assert_eq!(read(line).running, Some(3));
}

#[test]
fn a_cache_that_is_not_sized_yet_has_an_unknown_size() {
    for blocks in ["None", "0", "-1", "99999999999"] {
        let line =
            format!("vllm:cache_config_info{{block_size=\"16\",num_gpu_blocks=\"{blocks}\"}} 1");
        assert_eq!(read(&line).kv_block_tokens, Some(16));
        assert_eq!(read(&line).kv_blocks, None, "{blocks}");
    }
}

/// One line of a page, wanted or not, sound or not.
fn any_line() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("vllm:num_requests_waiting"),
        Just("vllm:num_requests_waiting_total"),
        Just("vllm:num_requests_running"),
        Just("vllm:kv_cache_usage_perc"),
        Just("vllm:gpu_cache_usage_perc"),
        Just("process_start_time_seconds"),
        Just("vllm:cache_config_info"),
        Just("vllm:prompt_tokens_total"),
        Just("# HELP"),
    ];
    let labels = prop_oneof![
        Just(String::new()),
        (0..4u8).prop_map(|engine| format!("{{engine=\"{engine}\",model_name=\"a \\\"}} b\"}}")),
        (0..99u8, 0..99u8).prop_map(|(tokens, blocks)| {
            format!("{{block_size=\"{tokens}\",num_gpu_blocks=\"{blocks}\"}}")
        }),
    ];
    let value = prop_oneof![
        (0..5_000_000_000u64).prop_map(|value| value.to_string()),
        (-2.0..2.0f64).prop_map(|value| value.to_string()),
        Just("NaN".to_owned()),
        Just("1 1757900000000".to_owned()),
        Just("2 # {a=\"}\"} 1".to_owned()),
    ];
    (name, labels, value).prop_map(|(name, labels, value)| format!("{name}{labels} {value}"))
}

proptest! {
    #[test]
    fn neither_the_order_of_lines_nor_their_ending_matters(
        lines in proptest::collection::vec(any_line(), 0..20).prop_shuffle(),
        other in any::<prop::sample::Index>(),
    ) {
        let expected = read(&lines.join("\n"));
        prop_assert_eq!(read(&lines.join("\r\n")), expected);
        prop_assert_eq!(read(&(lines.join("\n") + "\n# EOF\n")), expected);
        let mut turned = lines;
        turned.reverse();
        if !turned.is_empty() {
            let by = other.index(turned.len());
            turned.rotate_left(by);
        }
        prop_assert_eq!(read(&turned.join("\n")), expected);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(page in proptest::collection::vec(any::<u8>(), 0..400)) {
        Mapping::new(&Engine::Vllm.names()).read(&page, None);
    }

    #[test]
    fn a_page_cut_or_spoilt_anywhere_is_read_without_a_panic(
        at in 0..PAGE.len(),
        byte in any::<u8>(),
        end in 0..PAGE.len(),
    ) {
        let mut page = PAGE.as_bytes().to_vec();
        page[at] = byte;
        page.truncate(end);
        let sample = Mapping::new(&Engine::Vllm.names()).read(&page, None).load;
        if let Some(usage) = sample.kv_usage {
            prop_assert!((0.0..=1.0).contains(&usage.value()));
        }
    }
}
