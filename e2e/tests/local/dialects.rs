//! Every form of API passes, whether the picker reads it or not.

use http::{HeaderValue, StatusCode, header};
use pointsman_e2e::backend::{Backend, json};
use pointsman_e2e::body::{in_pieces, whole};
use pointsman_e2e::case::{Case, bare, seeing_all};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition::expect_ends;

#[tokio::test(flavor = "multi_thread")]
async fn b01_b02_b03_b04_b06_b07_every_legal_call_arrives_byte_for_byte() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let backend = Backend::answering("backend", |_| json(ANSWER))
            .await
            .unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let mut requests = 0.0;
        for (path, content_type, body) in calls() {
            for protocol in [Protocol::Http1, Protocol::Http2] {
                let client = Client::new(stack.address(), protocol);
                for sent in [whole(body.clone()), in_pieces(&body, 13)] {
                    let mut request = post(sent);
                    let value = HeaderValue::from_static(content_type);
                    request.headers_mut().insert(header::CONTENT_TYPE, value);
                    let reply = client.send(path, request).await.unwrap();
                    let text = body.escape_ascii();
                    assert_eq!(reply.status, StatusCode::OK, "{path} {text}: {reply:?}");
                    assert_eq!(reply.body, ANSWER, "{path} {text}");
                    let seen = backend.take_one().unwrap();
                    assert_eq!(seen.body, body, "{path} {text}");
                    assert_eq!(seen.target, path);
                    assert_eq!(seen.headers[header::CONTENT_TYPE], content_type);
                    requests += 1.0;
                }
            }
        }
        expect_ends(&stack, "complete", requests).await.unwrap();
    }
}

/// Path, content type and body of calls of every kind.
fn calls() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let mut calls: Vec<_> = JSON_CALLS
        .into_iter()
        .map(|(path, body)| (path, JSON, body.as_bytes().to_vec()))
        .collect();
    let many_tools = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"tools":[{}{{"type":"function","function":{{"name":"f"}}}}]}}"#,
        r#"{"type":"function","function":{"name":"g","parameters":{"type":"object"}}},"#.repeat(46)
    );
    calls.push((CHAT, JSON, many_tools.into_bytes()));
    let with_bom = "\u{feff}{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    calls.push((CHAT, JSON, with_bom.into()));
    let all_bytes: Vec<u8> = (0..=255).collect();
    for path in ["/v1/audio/transcriptions", "/v1/audio/translations"] {
        let upload = [
            "--X\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n\
             --X\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
             content-type: audio/wav\r\n\r\n"
                .as_bytes(),
            &all_bytes,
            b"\r\n--X--\r\n",
        ];
        calls.push((path, "multipart/form-data; boundary=X", upload.concat()));
    }
    calls.push((
        "/v1/files",
        "multipart/form-data; boundary=X",
        all_bytes.clone(),
    ));
    calls.push(("/anything/else?a=b", "application/octet-stream", all_bytes));
    calls
}

const CHAT: &str = "/v1/chat/completions";
const JSON: &str = "application/json";

/// An answer with the usage that the picker looks for.
const ANSWER: &str = r#"{"id":"a", "model": "m", "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

const JSON_CALLS: [(&str, &str); 38] = [
    (
        CHAT,
        r#"{"model":"m1","messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        CHAT,
        r#"{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"42"}]}"#,
    ),
    (
        CHAT,
        r#"{"model":"m","messages":[{"role":"assistant","content":"","tool_calls":[]},{"role":"assistant","tool_calls":[{"id":"c1"}]}]}"#,
    ),
    (
        CHAT,
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"image_url","image_url":{"url":"https://x/y.png"}},{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"video_url","video_url":{"url":"https://x/y.mp4"}}]}]}"#,
    ),
    (
        CHAT,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning_effort":"high","response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}},"chat_template_kwargs":{"enable_thinking":false},"cache_salt":"s","prompt_cache_key":"k","user":"u","max_completion_tokens":5,"seed":18446744073709551615}"#,
    ),
    (
        "/openai/deployments/d/v1/chat/completions?api-version=1",
        r#"{"model":"m","messages":[{"role":"developer","content":"x"}]}"#,
    ),
    (
        "/v1/chat/completions/render",
        r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#,
    ),
    ("/v1/completions", r#"{"model":"m","prompt":"Hi"}"#),
    ("/v1/completions", r#"{"model":"m","prompt":["a","b"]}"#),
    ("/v1/completions", r#"{"model":"m","prompt":[1,2,3]}"#),
    (
        "/v1/completions",
        r#"{"model":"m","prompt":[[1,2],[3]],"stream":true}"#,
    ),
    ("/v1/completions/render", r#"{"model":"m","prompt":"x"}"#),
    (
        "/v1/embeddings",
        r#"{"model":"m","input":"Hi","encoding_format":"base64"}"#,
    ),
    ("/v1/embeddings", r#"{"model":"m","input":[15496,995]}"#),
    ("/v1/embeddings", r#"{"model":"m","input":["a","b"]}"#),
    ("/v1/embeddings", r#"{"model":"m","input":[[1],[2,3]]}"#),
    (
        "/v1/responses",
        r#"{"model":"m","input":"Hi","instructions":"Be brief","previous_response_id":"r"}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://x/y.png"}]},{"type":"function_call_output","call_id":"c","output":"42"}],"reasoning":{"effort":"low"},"stream":true}"#,
    ),
    (
        "/v1/conversations",
        r#"{"items":[{"type":"message","role":"user","content":"x"}],"model":"m"}"#,
    ),
    (
        "/v1/images/generations",
        r#"{"model":"m","prompt":"a cat","n":1,"size":"256x256"}"#,
    ),
    (
        "/v1/messages",
        r#"{"model":"m","max_tokens":8,"messages":[{"role":"user","content":"x"}]}"#,
    ),
    (
        "/v1/messages",
        r#"{"model":"m","max_tokens":8,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"42"}]}]}"#,
    ),
    (
        "/v1/messages/count_tokens",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}"#,
    ),
    (
        "/inference/v1/generate",
        r#"{"model":"m","token_ids":[1,2,3],"sampling_params":{"max_tokens":4},"features":{"mm_hashes":{"image":["h"]},"mm_placeholders":{"image":[{"offset":0,"length":2}]}}}"#,
    ),
    (
        "/generate",
        r#"{"text":"Hi","sampling_params":{"max_new_tokens":4},"stream":true}"#,
    ),
    ("/generate", r#"{"input_ids":[1,2,3],"extra_key":"salt"}"#),
    (
        "/generate",
        r#"{"input_ids":[[1,2],[3]],"sampling_params":[{"max_new_tokens":4},{}]}"#,
    ),
    (
        "/v1/rerank",
        r#"{"model":"m","query":"q","documents":["a","b"]}"#,
    ),
    (
        "/v2/rerank",
        r#"{"model":"m","query":"q","documents":[{"text":"a"}],"top_n":1}"#,
    ),
    ("/score", r#"{"model":"m","text_1":"a","text_2":["b","c"]}"#),
    (
        "/tokenize",
        r#"{"model":"m","prompt":"Hi","add_special_tokens":true}"#,
    ),
    ("/detokenize", r#"{"model":"m","tokens":[1,2]}"#),
    (
        "/v2/models/m/infer",
        r#"{"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["Hi"]}]}"#,
    ),
    (
        "/v1/projects/p/locations/l/publishers/google/models/gemini:generateContent",
        r#"{"contents":[{"role":"user","parts":[{"text":"x"}]}]}"#,
    ),
    (
        "/v1/projects/p/locations/l/endpoints/e:rawPredict",
        r#"{"instances":[{"prompt":"x"}]}"#,
    ),
    ("/v1/unknown", "}} garbage {{"),
    ("/v1/unknown", ""),
    ("/v1/moderations", r#"{"input":["a"]}"#),
];
