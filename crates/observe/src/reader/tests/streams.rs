//! Whole streams as engines send them, and what is told at each of their events.

use super::*;

/// One event of a stream, and what is told when it has come.
type Step<'a> = (&'a str, &'a [Observation]);

fn check(expected: Expected, steps: &[Step<'_>], at_end: &[Observation]) {
    for ending in ["\n", "\r\n", "\r"] {
        let pieces: Vec<_> = steps
            .iter()
            .map(|(event, _)| format!("{}{ending}{ending}", event.replace('\n', ending)))
            .collect();
        let told = told(expected, &pieces);
        for ((event, expected), told) in steps.iter().zip(&told) {
            assert_eq!(told[..], **expected, "{event}");
        }
        assert_eq!(told.last().unwrap()[..], *at_end, "at the end");
        let body = pieces.concat();
        assert_eq!(all(expected, &[&body]), told.concat(), "whole");
        assert_eq!(
            all(expected, &bytes_of(body.as_bytes())),
            told.concat(),
            "byte by byte"
        );
    }
}

const NOTHING: &[Observation] = &[];

const fn stream(dialect: Dialect) -> Expected {
    expected(ContentKind::EventStream, dialect)
}

#[test]
fn a_chat_of_vllm() {
    check(
        stream(Dialect::ChatCompletions),
        &[
            (
                r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1757900000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
                NOTHING,
            ),
            (
                r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1757900000,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null}]}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1757900000,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"logprobs":null,"finish_reason":null}]}"#,
                NOTHING,
            ),
            (
                r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1757900000,"model":"m","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}"#,
                &[FINISHED],
            ),
            (
                r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1757900000,"model":"m","choices":[],"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#,
                &[usage_with(12, 3, 8, None)],
            ),
            ("data: [DONE]", NOTHING),
        ],
        NOTHING,
    );
}

#[test]
fn a_chat_that_thinks_before_it_calls_a_tool() {
    check(
        stream(Dialect::ChatCompletions),
        &[
            (
                r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":null,"tool_calls":null},"finish_reason":null}],"usage":null}"#,
                NOTHING,
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":"I","tool_calls":null},"finish_reason":null}],"usage":null}"#,
                &[OUTPUT],
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":" think","tool_calls":[]},"finish_reason":null}],"usage":null}"#,
                NOTHING,
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{"content":"","reasoning_content":"."},"finish_reason":null}],"usage":null}"#,
                NOTHING,
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{"role":null,"content":null,"tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}],"usage":null}"#,
                &[VISIBLE],
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}],"usage":null}"#,
                NOTHING,
            ),
            (
                r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#,
                &[FINISHED],
            ),
            (
                r#"data: {"choices":[],"usage":{"prompt_tokens":9,"total_tokens":20,"completion_tokens":11,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
                &[usage_with(9, 11, 0, Some(4))],
            ),
        ],
        NOTHING,
    );
}

#[test]
fn a_chat_without_usage_ends_with_its_mark() {
    check(
        stream(Dialect::ChatCompletions),
        &[
            (": keep-alive", NOTHING),
            (
                r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}"#,
                &[OUTPUT, VISIBLE],
            ),
            ("data: [DONE]", &[FINISHED]),
        ],
        NOTHING,
    );
}

#[test]
fn a_chat_that_fails_ends_with_its_stream() {
    check(
        stream(Dialect::ChatCompletions),
        &[
            (
                r#"data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"error":{"message":"engine died","type":"InternalServerError","code":500}}"#,
                NOTHING,
            ),
        ],
        &[FINISHED],
    );
}

#[test]
fn completions_of_two_prompts() {
    check(
        Expected {
            choices: NonZeroU32::new(2).unwrap(),
            ..stream(Dialect::Completions)
        },
        &[
            (
                r#"data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":1,"text":" b","logprobs":null,"finish_reason":null,"stop_reason":null}]}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":1,"text":" b","logprobs":null,"finish_reason":"length","stop_reason":null}]}"#,
                NOTHING,
            ),
            (
                r#"data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" a","logprobs":null,"finish_reason":"length","stop_reason":null}]}"#,
                &[FINISHED],
            ),
            (
                r#"data: {"id":"cmpl-1","object":"text_completion","choices":[],"usage":{"prompt_tokens":6,"total_tokens":9,"completion_tokens":3}}"#,
                &[usage(6, 3)],
            ),
        ],
        NOTHING,
    );
}

#[test]
fn b35_a_response() {
    check(
        stream(Dialect::Responses),
        &[
            (
                "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"output\":[],\"usage\":null},\"usage\":null}",
                NOTHING,
            ),
            (
                r#"data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","usage":null}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"Let"}"#,
                &[OUTPUT],
            ),
            (
                r#"data: {"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":" me"}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.reasoning_text.done","item_id":"rs_1","text":"Let me"}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","content":[{"type":"reasoning_text","text":"Let me"}]}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","content":[]}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.content_part.added","output_index":1,"part":{"type":"output_text","text":""}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hi","logprobs":[]}"#,
                &[VISIBLE],
            ),
            (
                r#"data: {"type":"response.output_text.done","item_id":"msg_1","text":"Hi"}"#,
                NOTHING,
            ),
            (
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"output\":[{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}],\"usage\":{\"input_tokens\":20,\"output_tokens\":5,\"total_tokens\":25}}}",
                &[FINISHED, usage(20, 5)],
            ),
        ],
        NOTHING,
    );
}

#[test]
fn responses_that_call_are_cut_or_fail() {
    check(
        stream(Dialect::Responses),
        &[
            (
                r#"data: {"type":"response.web_search_call.in_progress","output_index":0,"item_id":"ws_1"}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","name":"f","arguments":""}}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"type":"response.function_call_arguments.delta","delta":"{}"}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":16},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0}}}}"#,
                &[FINISHED, usage_with(20, 5, 16, Some(0))],
            ),
        ],
        NOTHING,
    );
    check(
        stream(Dialect::Responses),
        &[(
            r#"data: {"type":"response.failed","response":{"error":{"code":"server_error"},"usage":null}}"#,
            &[FINISHED],
        )],
        NOTHING,
    );
    check(
        stream(Dialect::Responses),
        &[
            (
                r#"data: {"type":"response.output_text.delta","delta":"Hi"}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"type":"error","code":"server_error","message":"x"}"#,
                NOTHING,
            ),
        ],
        &[FINISHED],
    );
}

#[test]
fn a_message_of_anthropics_form() {
    check(
        stream(Dialect::Messages),
        &[
            (
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"stop_reason\":null,\"usage\":{\"input_tokens\":25,\"cache_creation_input_tokens\":5,\"cache_read_input_tokens\":70,\"output_tokens\":1}}}",
                NOTHING,
            ),
            (
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
                NOTHING,
            ),
            ("event: ping\ndata: {\"type\": \"ping\"}", NOTHING),
            (
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
                &[OUTPUT],
            ),
            (
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}"#,
                NOTHING,
            ),
            (r#"data: {"type":"content_block_stop","index":0}"#, NOTHING),
            (
                r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
                &[VISIBLE],
            ),
            (r#"data: {"type":"content_block_stop","index":1}"#, NOTHING),
            (
                r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}"#,
                &[FINISHED],
            ),
            (
                r#"data: {"type":"message_stop"}"#,
                &[usage_with(100, 15, 70, None)],
            ),
        ],
        NOTHING,
    );
}

#[test]
fn messages_that_call_are_cut_or_fail() {
    let start = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":0}}}"#;
    check(
        stream(Dialect::Messages),
        &[
            (start, NOTHING),
            (
                r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"type\":\"message_stop\"}"}}"#,
                NOTHING,
            ),
            (
                r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":26,"output_tokens":9}}"#,
                &[FINISHED],
            ),
        ],
        &[usage(26, 9)],
    );
    check(
        stream(Dialect::Messages),
        &[
            (start, NOTHING),
            (
                r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}"#,
                &[OUTPUT],
            ),
            (
                r#"data: {"type":"error","error":{"type":"overloaded_error"}}"#,
                NOTHING,
            ),
        ],
        &[VISIBLE, FINISHED, usage(25, 0)],
    );
}

#[test]
fn a_generation_of_sglang() {
    let event = |text: &str, output: u32, finish: &str| {
        format!(
            r#"data: {{"text":"{text}","output_ids":[1],"meta_info":{{"id":"1","finish_reason":{finish},"prompt_tokens":5,"completion_tokens":{output},"cached_tokens":3}}}}"#
        )
    };
    check(
        stream(Dialect::SglangGenerate),
        &[
            (&event("", 1, "null"), &[OUTPUT, VISIBLE]),
            (&event(" Pa", 2, "null"), NOTHING),
            (
                &event(" Paris", 3, r#"{"type":"stop","matched":2}"#),
                &[FINISHED, usage_with(5, 3, 3, None)],
            ),
            ("data: [DONE]", NOTHING),
        ],
        NOTHING,
    );
}

#[test]
fn a_batch_of_sglang_adds_its_answers() {
    let event = |index: u32, output: u32, finish: &str| {
        format!(
            r#"data: {{"index":{index},"text":"x","meta_info":{{"finish_reason":{finish},"prompt_tokens":5,"completion_tokens":{output},"cached_tokens":1}}}}"#
        )
    };
    let length = r#"{"type":"length","length":4}"#;
    check(
        Expected {
            choices: NonZeroU32::new(2).unwrap(),
            ..stream(Dialect::SglangGenerate)
        },
        &[
            (&event(0, 1, "null"), &[OUTPUT, VISIBLE]),
            (&event(1, 1, "null"), NOTHING),
            (&event(1, 4, length), NOTHING),
            (&event(1, 4, length), NOTHING),
            (
                &event(0, 3, length),
                &[FINISHED, usage_with(10, 7, 2, None)],
            ),
        ],
        NOTHING,
    );
}

#[test]
fn media_and_other_apis() {
    check(
        stream(Dialect::Images),
        &[
            (
                r#"data: {"type":"image_generation.partial_image","b64_json":"aGk=","partial_image_index":0}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"type":"image_generation.completed","b64_json":"aGk=","usage":{"total_tokens":100,"input_tokens":50,"output_tokens":50}}"#,
                &[FINISHED, usage(50, 50)],
            ),
        ],
        NOTHING,
    );
    check(
        stream(Dialect::Multipart),
        &[
            (
                r#"data: {"type":"transcript.text.delta","delta":"Hi"}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"type":"transcript.text.done","text":"Hi","usage":{"type":"tokens","input_tokens":14,"output_tokens":45}}"#,
                &[FINISHED, usage(14, 45)],
            ),
        ],
        NOTHING,
    );
    check(
        stream(Dialect::Passthrough),
        &[
            (
                r#"data: {"model_name":"m","text_output":"Hi"}"#,
                &[OUTPUT, VISIBLE],
            ),
            (r#"data: {"model_name":"m","text_output":"!"}"#, NOTHING),
        ],
        &[FINISHED],
    );
    check(
        stream(Dialect::Generate),
        &[
            (
                r#"data: {"request_id":"1","choices":[{"index":0,"token_ids":[17],"finish_reason":null}]}"#,
                &[OUTPUT, VISIBLE],
            ),
            (
                r#"data: {"request_id":"1","choices":[{"index":0,"token_ids":[],"finish_reason":"length"}]}"#,
                &[FINISHED],
            ),
            ("data: [DONE]", NOTHING),
        ],
        NOTHING,
    );
}

#[test]
fn lines_of_json_are_events() {
    let lines = [
        "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n",
        "\n",
        "{\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\r\n",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n",
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":10}}",
    ];
    let expected = expected(ContentKind::NdJson, Dialect::ChatCompletions);
    assert_eq!(
        told(expected, &lines),
        [
            vec![],
            vec![],
            vec![OUTPUT, VISIBLE],
            vec![FINISHED],
            vec![],
            vec![usage(7, 10)]
        ]
    );
}
