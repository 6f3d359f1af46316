//! Questions for the models there are, where the picker answers them.

use pointsman_domain::endpoint::EndpointId;
use pointsman_feeds::models::{ModelCard, Sink};

use super::*;

const ENDPOINT: EndpointId = EndpointId {
    slot: 0,
    generation: 0,
};

/// A question for the models, on a new stream to a picker with this table.
async fn ask(table: &Arc<ModelTable>) -> Gateway {
    let gateway = Gateway::open_with(1 << 20, Some(Arc::clone(table))).await;
    let header = |key: &str, value: &'static str| HeaderValue {
        key: key.to_owned(),
        raw_value: Bytes::from_static(value.as_bytes()),
        ..HeaderValue::default()
    };
    let headers = vec![header(":method", "GET"), header(":path", "/v1/models")];
    let question = Message::RequestHeaders(HttpHeaders {
        headers: Some(HeaderMap { headers }),
        end_of_stream: true,
    });
    gateway.send(question).await;
    gateway
}

#[tokio::test]
async fn a_question_for_the_models_is_answered_with_all_that_were_told() {
    let table = Arc::new(ModelTable::default());
    table.begin(ENDPOINT);
    let card = ModelCard {
        id: "llama".to_owned(),
        json: r#"{"id":"llama"}"#.into(),
    };
    table.told(ENDPOINT, vec![card]);
    let mut gateway = ask(&table).await;
    let reply = gateway.incoming.next().await.unwrap().unwrap();
    let Some(Reply::ImmediateResponse(answer)) = reply.response else {
        panic!("not answered here: {reply:?}");
    };
    assert_eq!(answer.status.unwrap().code, 200);
    let list = r#"{"object":"list","data":[{"id":"llama"}]}"#;
    assert_eq!(answer.body, list);
    assert!(gateway.counted("pointsman_answered_here_total{status=\"200\"} 1"));
    assert_eq!(gateway.door.sizes().in_flight, 0);
    gateway.server.abort_all();
}

#[tokio::test]
async fn a_question_for_the_models_goes_to_an_endpoint_while_none_was_told() {
    let table = Arc::new(ModelTable::default());
    let mut gateway = ask(&table).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert!(gateway.counted("pointsman_picks_total{endpoint=\"127.0.0.1:8000\"} 1"));
    gateway.server.abort_all();
}
