//! Load reports that engines put into their answers (ORCA): for balancers, not for clients.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use pointsman_cli::harness::envoy::imitation::Imitation;
use pointsman_e2e::backend::{Backend, answer};
use pointsman_e2e::body::{whole, with_trailers};
use pointsman_e2e::case::{Case, arguments, bare, imitating, sampling};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::exposition::expect_ends;

#[tokio::test(flavor = "multi_thread")]
async fn load_reports_reach_clients_only_where_nobody_removes_them() {
    let case = Case::begin().await.unwrap();
    for (envoy, flags, expected) in [
        (sampling(0.0), &[][..], Some(REPORT)),
        (sampling(0.0), &["--remove-load-reports"][..], None),
        (
            imitating(Imitation::FullDuplex),
            &["--remove-load-reports"][..],
            None,
        ),
    ] {
        let mut options = bare(envoy);
        options.picker.arguments = arguments(flags);
        let mut stack = case.stack(options).await.unwrap();
        let backend = Backend::answering("backend", |_| {
            let mut response = answer("text/event-stream", with_trailers(STREAM, report()));
            response.headers_mut().extend(report());
            // Without this announcement, HTTP/1.1 has no trailers.
            let announced = HeaderValue::from_static("endpoint-load-metrics, x-checksum");
            response.headers_mut().insert(header::TRAILER, announced);
            response
        });
        let backend = backend.await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let mut request = post(whole(Chat::new("Hi", 1).body(Form::Stream)));
        let te = HeaderValue::from_static("trailers");
        request.headers_mut().insert(header::TE, te);
        let client = Client::new(stack.address(), Protocol::Http2);
        let reply = client.send(chat::PATH, request).await.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.body, STREAM);
        assert_eq!(found(&reply, REPORT_NAME), [expected; 2], "{envoy:?}");
        assert_eq!(found(&reply, "x-checksum"), [Some("abc"); 2], "{envoy:?}");
        expect_ends(&stack, "complete", 1.0).await.unwrap();
    }
}

/// A report, and something that is none.
fn report() -> HeaderMap {
    let fields = [(REPORT_NAME, REPORT), ("x-checksum", "abc")];
    let fields = fields.map(|(name, value)| {
        let name = HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    HeaderMap::from_iter(fields)
}

/// The value in the headers and in the trailers.
fn found<'a>(reply: &'a Reply, name: &str) -> [Option<&'a str>; 2] {
    let trailer = reply.trailers.as_ref().and_then(|fields| fields.get(name));
    [
        reply.header(name),
        trailer.and_then(|value| value.to_str().ok()),
    ]
}

const REPORT_NAME: &str = "endpoint-load-metrics";
const REPORT: &str = r#"JSON {"application_utilization": 0.5, "rps_fractional": 3}"#;
const STREAM: &str = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";
