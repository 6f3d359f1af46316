use proptest::prelude::*;

use super::*;

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

fn read(page: &str) -> LoadSample {
    VLLM.read(page.as_bytes())
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
        VLLM.read(&page);
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
        let sample = VLLM.read(&page);
        if let Some(usage) = sample.kv_usage {
            prop_assert!((0.0..=1.0).contains(&usage.value()));
        }
    }
}
