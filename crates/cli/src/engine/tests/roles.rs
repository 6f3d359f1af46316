//! Engines that do a part of each request, and engines of another speed.

use super::completions::QUESTION;
use super::*;

#[tokio::test]
async fn an_engine_for_prompts_answers_with_the_first_token() {
    let both = start(&[]).await;
    let prefill = start(&["--role", "prefill"]).await;
    let (_, whole) = both.ask(CHAT, &chat(QUESTION, 5)).await;
    let whole = whole["choices"][0]["message"]["content"].as_str().unwrap();
    for body in [
        chat(QUESTION, 5),
        json!({ "model": "stand-in", "messages": chat(QUESTION, 1)["messages"] }),
    ] {
        let (status, answer) = prefill.ask(CHAT, &body).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(answer["usage"]["completion_tokens"], 1);
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "length");
        let token = choice["message"]["content"].as_str().unwrap();
        assert!(whole.starts_with(token), "{token} {whole}");
        let response = prefill.send(prefill.post(CHAT, &streamed(body))).await;
        let events = events(&text(response).await.unwrap());
        assert_eq!(events.len(), 1 + 1 + 1);
    }
    both.stop().await;
    prefill.stop().await;
}

#[tokio::test]
async fn an_engine_for_outputs_waits_for_the_prompt_and_computes_none() {
    let line = "--role decode --transfer-ms 400 --transfer-tokens-per-second 80 --speed 2";
    let engine = start(&line.split(' ').collect::<Vec<_>>()).await;
    let (_, answer) = engine.ask(CHAT, &chat(QUESTION, 3)).await;
    assert_eq!(answer["usage"]["completion_tokens"], 3);
    // 400 ms and 32 tokens, at twice the speed and 20 times as fast.
    let name = of_model_metric("vllm:request_queue_time_seconds_sum");
    let queued = engine.metric(&name).await;
    assert!(queued >= 0.02, "{queued}");
    // One step of 20 ms.
    let name = of_model_metric("vllm:request_prefill_time_seconds_sum");
    let prefill = engine.metric(&name).await;
    assert!((prefill - 0.0005).abs() < 1e-6, "{prefill}");
    engine.stop().await;
}

#[tokio::test]
async fn a_request_whose_prompt_is_on_its_way_is_deferred() {
    let engine = start(&["--role", "decode", "--transfer-ms", "3600000"]).await;
    let response = engine
        .send(engine.post(CHAT, &streamed(chat(QUESTION, 3))))
        .await;
    engine.until_metric(&waiting("deferred"), 1.0).await;
    engine.until_metric(&waiting("capacity"), 0.0).await;
    drop(response);
    engine.until_metric(&waiting("deferred"), 0.0).await;
    engine.stop().await;
}
