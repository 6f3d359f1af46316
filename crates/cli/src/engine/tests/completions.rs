//! The two completion endpoints over real HTTP.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

/// Its chat has 32 tokens.
pub(super) const QUESTION: &str =
    "What is the shortest way from the depot to the harbour, and why is it closed?";

#[tokio::test]
async fn a_stream_is_shaped_as_vllms_and_the_same_prompt_is_cached_the_second_time() {
    let engine = start(&[]).await;
    let mut cached_tokens = Vec::new();
    for _ in 0..2 {
        let response = engine
            .send(engine.post(CHAT, &streamed(chat(QUESTION, 5))))
            .await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            response.headers()["content-type"],
            "text/event-stream; charset=utf-8"
        );
        assert_eq!(
            response.headers()["x-pointsman-engine"],
            engine.address.to_string().as_str()
        );
        let events = events(&text(response).await.unwrap());
        assert_eq!(events.len(), 1 + 5 + 1);
        assert_eq!(
            events[0]["choices"][0]["delta"],
            json!({ "role": "assistant", "content": "" })
        );
        assert_eq!(events[4]["choices"][0]["finish_reason"], Value::Null);
        assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
        let usage = &events[6]["usage"];
        assert_eq!(events[6]["choices"], json!([]));
        assert_eq!(usage["completion_tokens"], 5);
        cached_tokens.push(usage["prompt_tokens_details"]["cached_tokens"].clone());
    }
    // The rendered prompt has 32 tokens, of which the last one is always computed.
    assert_eq!(cached_tokens, [0, 16]);
    let page = engine.get("/metrics").await;
    for sample in [
        "vllm:prompt_tokens_total{engine=\"0\",model_name=\"stand-in\"} 64.0",
        "vllm:generation_tokens_total{engine=\"0\",model_name=\"stand-in\"} 10.0",
        "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"stand-in\"} 64.0",
        "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"stand-in\"} 16.0",
        "vllm:num_requests_running{engine=\"0\",model_name=\"stand-in\"} 0.0",
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"stand-in\"} 0.0",
        "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",\
         model_name=\"stand-in\"} 2.0",
    ] {
        assert!(
            page.lines().any(|line| line == sample),
            "{sample} is not in {page}"
        );
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_plain_answer_ends_by_itself_where_no_length_is_given() {
    let engine = start(&["--output-tokens", "3"]).await;
    let mut body = chat(QUESTION, 1);
    body.as_object_mut().unwrap().remove("max_tokens");
    let (status, answer) = engine.ask(CHAT, &body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["object"], "chat.completion");
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["message"]["content"].as_str().unwrap().len(), 3 * 4);
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(
        answer["usage"],
        json!({ "prompt_tokens": 32, "completion_tokens": 3, "total_tokens": 35,
            "prompt_tokens_details": { "cached_tokens": 0 } })
    );
    engine.stop().await;
}

#[tokio::test]
async fn a_next_turn_finds_prompt_and_answer_in_the_cache() {
    let engine = start(&[]).await;
    let mut body = chat(QUESTION, 60);
    let (_, answer) = engine.ask(CHAT, &body).await;
    let message = answer["choices"][0]["message"].clone();
    let turns = body["messages"].as_array_mut().unwrap();
    turns.push(message);
    turns.push(json!({ "role": "user", "content": "Go on." }));
    let (_, answer) = engine.ask(CHAT, &body).await;
    // 32 prompt tokens and all but the last of 60 tokens of output: 91, which fill 5 blocks.
    assert_eq!(
        answer["usage"]["prompt_tokens_details"]["cached_tokens"],
        80
    );
    engine.stop().await;
}

#[tokio::test]
async fn another_salt_or_model_shares_no_cache() {
    let engine = start(&["--model", "a", "--model", "b"]).await;
    let prompt = "x".repeat(200);
    let mut cached_tokens = Vec::new();
    for (model, salt) in [("a", "s"), ("a", "t"), ("b", "s"), ("a", "s")] {
        let body = json!({ "model": model, "cache_salt": salt, "prompt": prompt, "max_tokens": 1 });
        let (_, answer) = engine.ask(TEXT, &body).await;
        cached_tokens.push(answer["usage"]["prompt_tokens_details"]["cached_tokens"].clone());
    }
    assert_eq!(cached_tokens, [0, 0, 0, 48]);
    engine.stop().await;
}

#[tokio::test]
async fn b02_a_list_of_prompts_gets_a_choice_each() {
    let engine = start(&[]).await;
    let body = json!({ "model": "stand-in", "prompt": ["one", "two"], "max_tokens": 3 });
    let (_, answer) = engine.ask(TEXT, &body).await;
    let texts = answer["choices"].as_array().unwrap();
    assert_eq!(texts.len(), 2);
    assert_ne!(texts[0]["text"], texts[1]["text"]);
    assert_eq!(answer["usage"]["completion_tokens"], 6);
    let response = engine.send(engine.post(TEXT, &streamed(body))).await;
    let events = events(&text(response).await.unwrap());
    for (choice, document) in texts.iter().enumerate() {
        let of_choice = events.iter().filter(|e| e["choices"][0]["index"] == choice);
        let words = of_choice.map(|event| event["choices"][0]["text"].as_str().unwrap());
        assert_eq!(document["text"], words.collect::<String>());
    }
    engine.stop().await;
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_with_an_error_document() {
    let engine = start(&["--blocks", "4"]).await;
    let unknown = json!({ "model": "other", "prompt": "x" });
    let long = json!({ "model": "stand-in", "prompt": "x".repeat(200), "max_tokens": 15 });
    for (body, status, kind) in [
        (json!({ "model": "stand-in" }), 400, "BadRequestError"),
        (json!([]), 400, "BadRequestError"),
        (unknown, 404, "NotFoundError"),
        (long, 400, "BadRequestError"),
    ] {
        let (got, answer) = engine.ask(TEXT, &body).await;
        assert_eq!(got.as_u16(), status, "{body}");
        assert_eq!(answer["error"]["code"], status);
        assert_eq!(answer["error"]["type"], kind);
    }
    let fits = json!({ "model": "stand-in", "prompt": "x".repeat(200), "max_tokens": 14 });
    assert_eq!(engine.ask(TEXT, &fits).await.0, StatusCode::OK);
    engine.stop().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_413_without_being_read() {
    let engine = start(&[]).await;
    let mut stream = TcpStream::connect(engine.address).await.unwrap();
    let head = "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 67108865\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"code\":413"), "{answer}");
    engine.stop().await;
}

#[tokio::test]
async fn the_head_of_a_stream_comes_before_its_first_token_and_leaving_frees_the_slot() {
    let engine = start(ENDLESS).await;
    let response = engine
        .send(engine.post(CHAT, &streamed(chat(QUESTION, 5))))
        .await;
    assert_eq!(response.status(), StatusCode::OK);
    engine.until_metric(RUNNING, 1.0).await;
    drop(response);
    engine.until_metric(RUNNING, 0.0).await;
    engine.until_metric(ABORTED, 1.0).await;
    engine.stop().await;
}

#[tokio::test]
async fn b34_a_client_that_does_not_wait_for_a_plain_answer_frees_the_slot() {
    let engine = start(ENDLESS).await;
    let request = engine.client.request(engine.post(CHAT, &chat(QUESTION, 5)));
    tokio::select! {
        answer = request => panic!("answered after {answer:?}"),
        () = engine.until_metric(RUNNING, 1.0) => {}
    }
    engine.until_metric(RUNNING, 0.0).await;
    engine.until_metric(ABORTED, 1.0).await;
    engine.stop().await;
}
