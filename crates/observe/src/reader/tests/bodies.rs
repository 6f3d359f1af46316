//! Whole bodies as engines send them.

use super::*;

/// What is told at the end of a JSON body.
fn at_end(dialect: Dialect, body: &str) -> Vec<Observation> {
    let expected = expected(ContentKind::Json, dialect);
    let told = told(expected, &bytes_of(body.as_bytes()));
    let (end, before) = told.split_last().unwrap();
    assert_eq!(before[0], [OUTPUT, VISIBLE], "{body}");
    assert_eq!(before[1..].concat(), [], "{body}");
    assert_eq!(all(expected, &[body])[2..], end[..], "{body}");
    assert_eq!(end.first(), Some(&FINISHED), "{body}");
    end[1..].to_vec()
}

#[test]
fn usage_of_every_dialect_is_read_at_the_end_of_a_body() {
    for (dialect, body, told) in [
        (
            Dialect::ChatCompletions,
            r#"{"id":"chatcmpl-1","object":"chat.completion","created":1757900000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":42,"total_tokens":54,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":32},"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":0}},"prompt_logprobs":null}"#,
            usage_with(42, 12, 32, Some(5)),
        ),
        (
            Dialect::ChatCompletions,
            r#"{"id":"1","choices":[],"usage":{"prompt_tokens":42,"total_tokens":54,"completion_tokens":12,"prompt_tokens_details":null,"reasoning_tokens":0},"metadata":{"weight_version":"default"}}"#,
            Observation::Usage(Usage {
                prompt: Tokens(42),
                output: Tokens(12),
                cached: None,
                reasoning: Some(Tokens(0)),
            }),
        ),
        (
            Dialect::Completions,
            r#"{"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" a","finish_reason":"length"},{"index":1,"text":" b","finish_reason":"length"}],"usage":{"prompt_tokens":6,"total_tokens":38,"completion_tokens":32}}"#,
            usage(6, 32),
        ),
        (
            Dialect::Responses,
            r#"{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":16},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":123}}"#,
            usage_with(36, 87, 16, Some(64)),
        ),
        (
            Dialect::Messages,
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":6}}"#,
            usage_with(130, 6, 100, None),
        ),
        (
            Dialect::Embeddings,
            r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-5]}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8}}"#,
            usage(8, 0),
        ),
        (
            Dialect::ByModel,
            r#"{"id":"rerank-1","model":"m","usage":{"total_tokens":56},"results":[{"index":1,"relevance_score":0.99}]}"#,
            usage(56, 0),
        ),
        (
            Dialect::Generate,
            r#"{"request_id":"1","choices":[{"index":0,"token_ids":[1,2],"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
            usage(5, 2),
        ),
        (
            Dialect::SglangGenerate,
            r#"{"text":" Paris","output_ids":[3681],"meta_info":{"id":"1","finish_reason":{"type":"stop","matched":2},"prompt_tokens":5,"completion_tokens":1,"cached_tokens":3,"e2e_latency":0.2}}"#,
            usage_with(5, 1, 3, None),
        ),
        (
            Dialect::SglangGenerate,
            r#"[{"text":"a","meta_info":{"finish_reason":{"type":"length"},"prompt_tokens":5,"completion_tokens":8,"cached_tokens":3}},{"text":"b","meta_info":{"finish_reason":{"type":"length"},"prompt_tokens":6,"completion_tokens":9,"cached_tokens":1}}]"#,
            usage_with(11, 17, 4, None),
        ),
        (
            Dialect::Images,
            r#"{"created":1,"data":[{"b64_json":"aGk="}],"usage":{"total_tokens":100,"input_tokens":50,"output_tokens":50,"input_tokens_details":{"text_tokens":10,"image_tokens":40}}}"#,
            usage(50, 50),
        ),
        (
            Dialect::Multipart,
            r#"{"text":"Hello.","usage":{"type":"tokens","input_tokens":14,"output_tokens":45,"total_tokens":59}}"#,
            usage(14, 45),
        ),
    ] {
        assert_eq!(at_end(dialect, body), [told], "{body}");
    }
}

#[test]
fn a_body_without_usage_has_none() {
    for (dialect, body) in [
        (Dialect::CountTokens, r#"{"input_tokens":14}"#),
        (
            Dialect::ChatCompletions,
            r#"{"error":{"message":"x","code":400}}"#,
        ),
        (
            Dialect::ByModel,
            r#"{"count":3,"max_model_len":4096,"tokens":[1,2,3]}"#,
        ),
        (Dialect::Passthrough, "[]"),
        (Dialect::Passthrough, "nonsense"),
        (Dialect::Embeddings, r#"{"usage":{"completion_tokens":1}}"#),
        (
            Dialect::ChatCompletions,
            r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}"#,
        ),
    ] {
        assert_eq!(at_end(dialect, body), [], "{body}");
    }
}

#[test]
fn a_body_of_another_kind_shows_its_first_byte_and_its_end() {
    let body = r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}}"#;
    for kind in [ContentKind::Other, ContentKind::Grpc] {
        let expected = expected(kind, Dialect::ChatCompletions);
        assert_eq!(
            told(expected, &["", body, body]),
            [vec![], vec![OUTPUT, VISIBLE], vec![], vec![FINISHED]]
        );
    }
    assert_eq!(told(JSON, &[""]), [vec![], vec![FINISHED]]);
}

#[test]
fn a_json_body_of_any_length_is_read_and_not_kept() {
    let numbers = "0.123456,".repeat(20_000);
    let pieces: Vec<String> =
        core::iter::once(r#"{"object":"list","data":[{"embedding":["#.to_owned())
            .chain((0..50).map(|_| numbers.clone()))
            .chain([r#"1]}],"usage":{"prompt_tokens":8,"total_tokens":8}}"#.to_owned()])
            .collect();
    let expected = expected(ContentKind::Json, Dialect::Embeddings);
    assert_eq!(
        all(expected, &pieces),
        [OUTPUT, VISIBLE, FINISHED, usage(8, 0)]
    );
}

#[test]
fn answers_over_grpc_are_told_message_by_message() {
    use pointsman_proto::vllm::generate_response::Response;
    use pointsman_proto::vllm::{GenerateChunk, GenerateComplete, GenerateResponse};
    use prost::Message as _;

    let frame = |response: Response| {
        let message = GenerateResponse {
            response: Some(response),
        };
        let message = message.encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0][..], &length, &message].concat()
    };
    let chunk = frame(Response::Chunk(GenerateChunk {
        prompt_tokens: 7,
        completion_tokens: 1,
        cached_tokens: 4,
    }));
    let complete = frame(Response::Complete(GenerateComplete {
        finish_reason: "stop".to_owned(),
        prompt_tokens: 7,
        completion_tokens: 2,
        cached_tokens: 4,
    }));
    let (start, end) = chunk.split_at(7);
    let one = expected(ContentKind::Grpc, Dialect::GrpcGenerate);
    assert_eq!(
        told(one, &[start, end, &complete]),
        [
            vec![],
            vec![OUTPUT, VISIBLE],
            vec![FINISHED, usage_with(7, 2, 4, None)],
            vec![]
        ]
    );
    let two = Expected {
        choices: NonZeroU32::new(2).unwrap(),
        ..one
    };
    assert_eq!(
        told(two, &[&complete, &chunk, &complete]),
        [
            vec![OUTPUT, VISIBLE],
            vec![],
            vec![FINISHED, usage_with(7, 4, 4, None)],
            vec![]
        ]
    );
    let cut = [&chunk[..], &complete[..6]];
    assert_eq!(
        all(one, &cut),
        [OUTPUT, VISIBLE, FINISHED, usage_with(7, 1, 4, None)]
    );
}
