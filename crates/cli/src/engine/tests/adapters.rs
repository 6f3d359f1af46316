//! Adapters: loading, unloading, using, and what the metrics tell of them.

use super::completions::QUESTION;
use super::*;

/// Two adapters that cannot be used at once.
const CROWDED: &[&str] = &["--adapter-slots", "1", "--lora", "a", "--lora", "b"];

#[tokio::test]
async fn adapters_are_loaded_and_unloaded_with_vllms_answers() {
    let engine = start(&["--adapter-slots", "2"]).await;
    let sql = json!({ "lora_name": "sql", "lora_path": "/adapters/sql" });
    assert_eq!(
        engine.say(LOAD, &sql).await,
        (
            200,
            "Success: LoRA adapter 'sql' added successfully.".to_owned()
        )
    );
    let (status, answer) = engine.ask(LOAD, &sql).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(
        answer,
        json!({ "error": {
            "message": "The lora adapter 'sql' has already been loaded. If you want to load the \
                        adapter in place, set 'load_inplace' to True.",
            "type": "InvalidUserInput",
            "param": null,
            "code": 400,
        } })
    );
    let moved = json!({ "lora_name": "sql", "lora_path": "/new", "load_inplace": true });
    assert_eq!(engine.say(LOAD, &moved).await.0, 200);
    let models: Value = serde_json::from_str(&engine.get("/v1/models").await).unwrap();
    let card = &models["data"][1];
    assert_eq!(card["id"], "sql");
    assert_eq!(card["root"], "/new");
    assert_eq!(card["parent"], "stand-in");
    assert_eq!(models["data"][0]["parent"], Value::Null);

    let name = json!({ "lora_name": "sql" });
    assert_eq!(
        engine.say(UNLOAD, &name).await,
        (
            200,
            "Success: LoRA adapter 'sql' removed successfully.".to_owned()
        )
    );
    let (status, answer) = engine.ask(UNLOAD, &name).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(answer["error"]["type"], "NotFoundError");
    assert_eq!(
        answer["error"]["message"],
        "The lora adapter 'sql' cannot be found."
    );
    engine.stop().await;
}

#[tokio::test]
async fn a_wrong_change_of_adapters_is_refused_by_what_is_wrong() {
    let engine = start(CROWDED).await;
    for (path, body, message) in [
        (LOAD, json!({}), "Both 'lora_name' and 'lora_path'"),
        (LOAD, json!({ "lora_name": "c" }), "must be provided"),
        (
            LOAD,
            json!({ "lora_name": "", "lora_path": "p" }),
            "must be provided",
        ),
        (
            LOAD,
            json!({ "lora_name": "stand-in", "lora_path": "p" }),
            "conflicts",
        ),
        (LOAD, json!({ "lora_name": 7 }), "Invalid JSON"),
        (UNLOAD, json!({}), "'lora_name' needs to be provided"),
        (UNLOAD, json!(["a"]), "Invalid JSON"),
    ] {
        let (status, answer) = engine.ask(path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {body}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains(message), "{told}");
    }
    let models: Value = serde_json::from_str(&engine.get("/v1/models").await).unwrap();
    assert_eq!(models["data"].as_array().unwrap().len(), 3);
    engine.stop().await;
}

#[tokio::test]
async fn without_room_for_adapters_none_is_loaded_or_told_of() {
    let engine = start(&[]).await;
    let body = json!({ "lora_name": "a", "lora_path": "p" });
    let (status, answer) = engine.ask(LOAD, &body).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.starts_with("LoRA is not enabled."), "{told}");
    assert!(!engine.get("/metrics").await.contains("lora_requests_info"));
    engine.stop().await;
}

#[tokio::test]
async fn a_start_with_adapters_that_cannot_be_loaded_fails() {
    for name in ["a", "stand-in"] {
        let line = [CROWDED, &["--lora", name]].concat();
        let error = Server::bind(&arguments(&line)).await.unwrap_err();
        let error = format!("{error:#}");
        assert!(error.starts_with(&format!("cannot load the adapter `{name}`: ")));
    }
}

#[tokio::test]
async fn a_loaded_adapter_answers_under_its_name_until_it_is_unloaded() {
    let engine = start(&[CROWDED, ENDLESS].concat()).await;
    let body = of_model("a", chat(QUESTION, 2));
    let response = engine
        .send(engine.post(CHAT, &streamed(body.clone())))
        .await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        engine.say(UNLOAD, &json!({ "lora_name": "a" })).await.0,
        200
    );
    let (status, answer) = engine.ask(CHAT, &body).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(answer["error"]["message"], "The model `a` does not exist.");
    // What runs with it goes on.
    engine.set_faults(&["slow:0.0000001"]).await;
    let events = events(&text(response).await.unwrap());
    assert_eq!(events.len(), 1 + 2 + 1);
    assert_eq!(events[0]["model"], "a");
    engine.stop().await;
}

#[tokio::test]
async fn an_adapter_shares_no_cache_with_the_model_or_another_adapter() {
    let engine = start(&["--adapter-slots", "2", "--lora", "a", "--lora", "b"]).await;
    let mut cached_tokens = Vec::new();
    for model in ["stand-in", "a", "b", "a", "stand-in"] {
        let (_, answer) = engine.ask(CHAT, &of_model(model, chat(QUESTION, 1))).await;
        assert_eq!(answer["model"], model);
        cached_tokens.push(answer["usage"]["prompt_tokens_details"]["cached_tokens"].clone());
    }
    assert_eq!(cached_tokens, [0, 0, 0, 16, 16]);
    engine.stop().await;
}

#[tokio::test]
async fn the_newest_series_names_the_running_and_the_waiting_adapters() {
    let engine = start(&[CROWDED, ENDLESS].concat()).await;
    let begin = async |model: &str| {
        let body = streamed(of_model(model, chat(QUESTION, 1)));
        engine.send(engine.post(CHAT, &body)).await
    };
    let first = begin("a").await;
    assert_eq!(
        engine.adapters_in_use().await,
        ("a".to_owned(), String::new())
    );
    let second = begin("b").await;
    let third = begin("a").await;
    assert_eq!(
        engine.adapters_in_use().await,
        ("a".to_owned(), "a,b".to_owned())
    );
    drop(first);
    engine.until_metric(ABORTED, 1.0).await;
    assert_eq!(
        engine.adapters_in_use().await,
        (String::new(), "a,b".to_owned())
    );
    engine.set_faults(&["slow:0.0000001"]).await;
    for response in [second, third] {
        assert_eq!(events(&text(response).await.unwrap()).len(), 1 + 1 + 1);
    }
    assert_eq!(
        engine.adapters_in_use().await,
        (String::new(), String::new())
    );
    engine.stop().await;
}

#[tokio::test]
async fn a_request_that_is_passed_over_for_its_adapter_is_deferred() {
    let engine = start(&[CROWDED, &["--slots", "2"]].concat()).await;
    let mut streams = Vec::new();
    for model in ["a", "b", "a", "a"] {
        // More tokens than are generated within a test.
        let body = streamed(of_model(model, chat(QUESTION, 60_000)));
        streams.push(engine.send(engine.post(CHAT, &body)).await);
    }
    engine.until_metric(RUNNING, 2.0).await;
    // The second one finds no place for its adapter, the last one no slot.
    engine.until_metric(&waiting("deferred"), 1.0).await;
    engine.until_metric(&waiting("capacity"), 1.0).await;
    drop(streams);
    engine.stop().await;
}

#[tokio::test]
async fn an_adapter_costs_its_load_when_it_takes_the_place_of_another() {
    let line = [CROWDED, &["--adapter-load-ms", "2000"]].concat();
    let engine = start(&line).await;
    let mut expected = 0.0;
    // A step and the prefill of 32 tokens take 24 ms, and all is 20 times as fast.
    for (adapter, question, load_ms) in [
        ("a", "One", 2000.0),
        ("a", "Two", 0.0),
        ("b", "One", 2000.0),
    ] {
        let prompt = QUESTION.replacen("What", question, 1);
        let body = of_model(adapter, chat(&format!("{prompt:76}"), 1));
        let (_, answer) = engine.ask(CHAT, &body).await;
        let tokens = answer["usage"]["prompt_tokens"].as_f64().unwrap();
        expected += (load_ms + 20.0 + tokens / 8.0) / 20.0 / 1000.0;
        let sum = engine
            .metric(&of_model_metric("vllm:request_prefill_time_seconds_sum"))
            .await;
        assert!(
            (sum - expected).abs() < 1e-6,
            "{adapter} {question}: {sum}, not {expected}"
        );
    }
    engine.stop().await;
}
