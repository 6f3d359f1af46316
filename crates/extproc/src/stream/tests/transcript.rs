//! One line of text per message and per action.

use core::fmt::Write;

use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    CommonResponse, HeaderMutation, HttpBody, HttpHeaders, ProcessingResponse,
};

use super::{Action, Kind};
use crate::reply::{PieceEnd, SENT_ONCE_KEY};

pub(super) fn line_of_request(request: &Request) -> String {
    let headers = |name: &str, headers: &HttpHeaders| {
        let end = if headers.end_of_stream { " end" } else { "" };
        format!("{name}{end}")
    };
    let body = |name: &str, body: &HttpBody| {
        let end = match PieceEnd::of(body) {
            PieceEnd::Open => "",
            PieceEnd::Last => " end",
            PieceEnd::Mark => " end without message",
        };
        format!("{name} {} bytes{end}", body.body.len())
    };
    match request {
        Request::RequestHeaders(message) => headers("request headers", message),
        Request::RequestBody(message) => body("request body", message),
        Request::RequestTrailers(_) => "request trailers".to_owned(),
        Request::ResponseHeaders(message) => headers("response headers", message),
        Request::ResponseBody(message) => body("response body", message),
        Request::ResponseTrailers(_) => "response trailers".to_owned(),
    }
}

pub(super) fn line_of_action(action: &Action) -> String {
    match action {
        Action::Reply(reply) => format!("< {}\n", text_of_reply(reply)),
        Action::Ask(facts) => format!(
            "! ask {:?} model={:?} body_bytes={}\n",
            facts.dialect,
            facts.model.name().unwrap_or_default(),
            facts.body_bytes
        ),
        Action::ListModels => "! list models\n".to_owned(),
        Action::Observed(observation) => format!("! {observation:?}\n"),
        Action::Ended(cause) => format!("! ended: {}\n", cause.label()),
    }
}

fn text_of_reply(reply: &ProcessingResponse) -> String {
    let common = |name: &str, response: &Option<CommonResponse>| {
        format!("{name}{}", text_of_common(response.as_ref().unwrap()))
    };
    let mut text = match reply.response.as_ref().unwrap() {
        Response::RequestHeaders(r) => common("request headers", &r.response),
        Response::ResponseHeaders(r) => common("response headers", &r.response),
        Response::RequestBody(r) => common("request body", &r.response),
        Response::ResponseBody(r) => common("response body", &r.response),
        Response::RequestTrailers(r) => {
            format!(
                "request trailers{}",
                text_of_mutation(r.header_mutation.as_ref())
            )
        }
        Response::ResponseTrailers(r) => {
            format!(
                "response trailers{}",
                text_of_mutation(r.header_mutation.as_ref())
            )
        }
        Response::ImmediateResponse(r) => format!(
            "immediate {}{} {}",
            r.status.unwrap().code,
            text_of_mutation(r.headers.as_ref()),
            String::from_utf8_lossy(&r.body)
        ),
    };
    if let Some(metadata) = &reply.dynamic_metadata {
        text.push_str(", metadata");
        let balancer = metadata.fields["envoy.lb"].kind.as_ref();
        if matches!(balancer, Some(Kind::StructValue(b)) if b.fields.contains_key(SENT_ONCE_KEY)) {
            text.push_str(" sent once");
        }
    }
    text
}

fn text_of_common(common: &CommonResponse) -> String {
    let mut text = text_of_mutation(common.header_mutation.as_ref());
    if common.clear_route_cache {
        text.push_str(", clear route cache");
    }
    match common
        .body_mutation
        .as_ref()
        .and_then(|m| m.mutation.as_ref())
    {
        None => {}
        Some(Mutation::StreamedResponse(piece)) => {
            write!(text, ", piece of {} bytes", piece.body.len()).unwrap();
            if piece.end_of_stream {
                text.push_str(" end");
            }
            if piece.end_of_stream_without_message {
                text.push_str(" end without message");
            }
        }
        Some(other) => write!(text, ", {other:?}").unwrap(),
    }
    text
}

fn text_of_mutation(mutation: Option<&HeaderMutation>) -> String {
    let mut text = String::new();
    let Some(mutation) = mutation else {
        return text;
    };
    for set in &mutation.set_headers {
        let header = set.header.as_ref().unwrap();
        let value = String::from_utf8_lossy(&header.raw_value);
        write!(text, ", set {}={value}", header.key).unwrap();
    }
    for name in &mutation.remove_headers {
        write!(text, ", remove {name}").unwrap();
    }
    text
}
