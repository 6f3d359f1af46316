//! One target for each dialect that is JSON.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;

/// An input is a body, cut where it has the byte [`CUT`].
fn check(path: &str, input: &[u8]) {
    let head = post(path, &[]);
    let pieces = cut(input);
    let body = joined(&pieces);
    let reading = read(&head, &pieces);
    let value = serde_json::from_slice::<Value>(&body).ok();
    let reading = match reading {
        Ok(reading) => reading,
        Err(Rejection::NotJson { .. }) => {
            let is_deep = body.len() > DEPTH_MAX;
            assert!(is_deep || serde_json::from_slice::<IgnoredAny>(&body).is_err());
            return;
        }
        Err(Rejection::NotAnObject) => {
            return assert!(value.is_none_or(|value| !value.is_object()));
        }
        Err(_) => return,
    };
    if let (Some(name), Some(value)) = (reading.facts.model.name(), &value) {
        assert_eq!(value["model"], name);
    }
    let renamed = renamed(&head, &pieces, &reading);
    if let (Some(renamed), Some(mut value)) = (renamed, value) {
        value["model"] = OTHER.into();
        assert_eq!(serde_json::from_slice::<Value>(&renamed).ok(), Some(value));
    }
}

macro_rules! targets {
    ($($name:ident $path:literal)*) => {$(
        #[test]
        fn $name() {
            bolero::check!()
                .with_iterations(RANDOM_INPUTS)
                .for_each(|input: &[u8]| check($path, input));
        }
    )*};
}

targets! {
    chat "/v1/chat/completions"
    completions "/v1/completions"
    embeddings "/v1/embeddings"
    responses "/v1/responses"
    conversations "/v1/conversations"
    images "/v1/images/generations"
    messages "/v1/messages"
    count_tokens "/v1/messages/count_tokens"
    generate "/inference/v1/generate"
    sglang "/generate"
    by_model "/v1/rerank"
}

/// No shorter text is too deep for us.
const DEPTH_MAX: usize = pointsman_json::lexer::DEPTH_MAX;
