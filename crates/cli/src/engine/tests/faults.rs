//! Faults, set while the engine runs.

use super::*;

#[tokio::test]
async fn a_cut_breaks_a_stream_after_its_tokens_and_a_cleared_one_does_not() {
    let engine = start(&["--fault", "cut:5"]).await;
    let mut response = engine
        .send(engine.post(CHAT, &streamed(chat("hi", 9))))
        .await;
    let mut received = Vec::new();
    let broken = loop {
        match response.frame().await {
            Some(Ok(frame)) => received.extend_from_slice(frame.data_ref().unwrap()),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(broken, "a cut is not a proper end");
    let stream = String::from_utf8(received).unwrap() + "data: [DONE]\n\n";
    assert_eq!(events(&stream).len(), 1 + 5);
    engine.until_metric(RUNNING, 0.0).await;
    engine.set_faults(&[]).await;
    let response = engine
        .send(engine.post(CHAT, &streamed(chat("hi", 9))))
        .await;
    assert_eq!(events(&text(response).await.unwrap()).len(), 1 + 9 + 1);
    engine.stop().await;
}

#[tokio::test]
async fn an_error_status_meets_every_request_until_it_is_cleared() {
    let engine = start(&[]).await;
    engine.set_faults(&["error:503"]).await;
    let (status, answer) = engine.ask(CHAT, &chat("hi", 1)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer["error"]["code"], 503);
    engine.set_faults(&[]).await;
    assert_eq!(engine.ask(CHAT, &chat("hi", 1)).await.0, StatusCode::OK);
    engine.stop().await;
}

#[tokio::test]
async fn a_refused_request_gets_no_answer_at_all() {
    let engine = start(&[]).await;
    engine.set_faults(&["refuse"]).await;
    let refused = engine
        .client
        .request(engine.post(CHAT, &chat("hi", 1)))
        .await;
    assert!(refused.is_err());
    engine.set_faults(&[]).await;
    assert_eq!(engine.ask(CHAT, &chat("hi", 1)).await.0, StatusCode::OK);
    engine.stop().await;
}

#[tokio::test]
async fn a_stalled_request_waits_while_others_come_and_go() {
    let engine = start(&[]).await;
    engine.set_faults(&["stall"]).await;
    let stalled = engine.client.request(engine.post(CHAT, &chat("hi", 1)));
    let others = async {
        for _ in 0..50 {
            engine.set_faults(&["stall"]).await;
        }
    };
    tokio::select! {
        answer = stalled => panic!("answered after {answer:?}"),
        () = others => {}
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_change_of_speed_takes_effect_within_a_step() {
    let engine = start(ENDLESS).await;
    let body = chat("hi", 3);
    let answer = engine.ask(CHAT, &body);
    let speed_up = async {
        engine.until_metric(RUNNING, 1.0).await;
        engine.set_faults(&["slow:0.0000001"]).await;
    };
    let ((status, answer), ()) = tokio::join!(answer, speed_up);
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["usage"]["completion_tokens"], 3);
    engine.stop().await;
}

#[tokio::test]
async fn an_unknown_fault_is_refused_and_changes_nothing() {
    let engine = start(&[]).await;
    for body in [
        json!({ "faults": ["cut:5", "explode"] }),
        json!({}),
        json!(["cut:5"]),
    ] {
        let (status, answer) = engine.ask("/fault", &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    }
    let response = engine
        .send(engine.post(CHAT, &streamed(chat("hi", 9))))
        .await;
    assert_eq!(events(&text(response).await.unwrap()).len(), 1 + 9 + 1);
    engine.stop().await;
}
