//! Reads header maps as gateways send them.
//!
//! A value comes in `raw_value` (Envoy), or in `value` (other gateways), and is any bytes. Names
//! come in lower case from Envoy, and in any case from others.

use pointsman_domain::load::LoadSample;
use pointsman_observe::orca;
use pointsman_observe::reader::ContentKind;
use pointsman_proto::ext_proc::{HeaderMap, HeaderValue};
use pointsman_request::head::Head;
use pointsman_request::owned::is_system_owned;

/// Reads a request's headers into `head`, and gives the names, in lower case and each once, of those
/// that no client may set.
pub(crate) fn read_request(map: Option<&HeaderMap>, head: &mut Head) -> Vec<String> {
    let mut owned = Vec::new();
    for header in map.into_iter().flat_map(|map| &map.headers) {
        head.header(&header.key, value_of(header));
        if is_system_owned(&header.key) {
            let name = header.key.to_ascii_lowercase();
            if !owned.contains(&name) {
                owned.push(name);
            }
        }
    }
    owned
}

/// What a response's headers tell.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    /// The HTTP status, if there was a readable one.
    pub(crate) status: Option<u16>,
    /// How the body is to be read.
    pub(crate) kind: ContentKind,
}

impl ResponseHead {
    /// Reads a response's headers.
    pub(crate) fn read(map: Option<&HeaderMap>) -> Self {
        let kind = match find(map, "content-type") {
            Some(content_type) if !is_encoded(map) => ContentKind::of(content_type),
            _ => ContentKind::Other,
        };
        Self {
            status: find(map, ":status").and_then(number),
            kind,
        }
    }
}

/// The names of the headers or trailers in which an engine reports its load.
pub(crate) fn reports(map: Option<&HeaderMap>) -> impl Iterator<Item = &str> {
    let names = map.into_iter().flat_map(|map| &map.headers);
    names
        .map(|header| header.key.as_str())
        .filter(|name| orca::is_report(name))
}

/// The loads in those.
pub(crate) fn loads(map: Option<&HeaderMap>) -> impl Iterator<Item = LoadSample> {
    map.into_iter()
        .flat_map(|map| &map.headers)
        .filter_map(|header| orca::read(&header.key, value_of(header)))
}

/// How a call of gRPC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrpcEnd {
    code: Option<u16>,
}

impl GrpcEnd {
    /// Reads `grpc-status` in trailers, or in the headers of a response without a body.
    pub(crate) fn read(map: Option<&HeaderMap>) -> Option<Self> {
        let code = number(find(map, "grpc-status")?);
        Some(Self { code })
    }

    /// Whether the call failed, be it by the engine's fault or by the client's.
    pub(crate) fn has_failed(self) -> bool {
        self.code != Some(0)
    }

    /// The HTTP status that comes nearest to the [code]: one over 500 for those that only a server in
    /// trouble gives, which are unknown, internal, unavailable and data loss. All others are about
    /// the call, or about its deadline.
    ///
    /// [code]: https://grpc.io/docs/guides/status-codes/
    pub(crate) const fn http_status(self) -> u16 {
        match self.code {
            Some(0) => 200,
            Some(14) => 503,
            None | Some(2 | 13 | 15) => 500,
            Some(8) => 429,
            Some(_) => 400,
        }
    }
}

/// The first value of the header `name`.
fn find<'a>(map: Option<&'a HeaderMap>, name: &str) -> Option<&'a [u8]> {
    values(map, name).next()
}

fn values<'a>(map: Option<&'a HeaderMap>, name: &str) -> impl Iterator<Item = &'a [u8]> {
    map.into_iter()
        .flat_map(|map| &map.headers)
        .filter(move |header| header.key.eq_ignore_ascii_case(name))
        .map(value_of)
}

fn value_of(header: &HeaderValue) -> &[u8] {
    if header.raw_value.is_empty() {
        header.value.as_bytes()
    } else {
        &header.raw_value
    }
}

/// An encoded body (gzip and the like) is passed on but not read.
fn is_encoded(map: Option<&HeaderMap>) -> bool {
    values(map, "content-encoding")
        .map(<[u8]>::trim_ascii)
        .any(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity"))
}

fn number(value: &[u8]) -> Option<u16> {
    core::str::from_utf8(value).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn raw(name: &str, value: &'static [u8]) -> HeaderValue {
        HeaderValue {
            key: name.to_owned(),
            value: String::new(),
            raw_value: Bytes::from_static(value),
        }
    }

    fn plain(name: &str, value: &str) -> HeaderValue {
        HeaderValue {
            key: name.to_owned(),
            value: value.to_owned(),
            raw_value: Bytes::new(),
        }
    }

    fn map(headers: &[HeaderValue]) -> HeaderMap {
        HeaderMap {
            headers: headers.to_vec(),
        }
    }

    fn kind(headers: &[HeaderValue]) -> ContentKind {
        ResponseHead::read(Some(&map(headers))).kind
    }

    #[test]
    fn b27_either_value_is_read_and_the_raw_one_wins() {
        let both = HeaderValue {
            value: "404".to_owned(),
            ..raw(":status", b"200")
        };
        assert_eq!(ResponseHead::read(Some(&map(&[both]))).status, Some(200));
        let only = plain(":status", "404");
        assert_eq!(ResponseHead::read(Some(&map(&[only]))).status, Some(404));
        let bytes = raw(":status", b"\xff\xfe");
        assert_eq!(ResponseHead::read(Some(&map(&[bytes]))).status, None);
        assert_eq!(ResponseHead::read(None).status, None);
    }

    #[test]
    fn b15_names_that_no_client_may_set_are_found_once_in_any_case() {
        let headers = map(&[
            raw(":path", b"/v1/models"),
            raw("X-Gateway-Destination-Endpoint", b"10.0.0.9:22"),
            raw("X-LLM-D-Request-Dropped-Reason", b"a"),
            plain("x-llm-d-request-dropped-reason", "b"),
            raw("x-gateway-destination-endpoint-subset", b"10.0.0.9:22"),
            raw("content-length", b"12"),
            raw("accept", b"\xff"),
        ]);
        assert_eq!(
            read_request(Some(&headers), &mut Head::new()),
            [
                "x-gateway-destination-endpoint",
                "x-llm-d-request-dropped-reason",
                "x-gateway-destination-endpoint-subset",
            ]
        );
    }

    #[test]
    fn an_encoded_or_untyped_response_is_not_read() {
        let json = raw("content-type", b"application/json");
        assert_eq!(
            kind(core::slice::from_ref(&json)),
            ContentKind::of(b"application/json")
        );
        assert_eq!(
            kind(&[json.clone(), raw("content-encoding", b"identity")]),
            ContentKind::of(b"application/json")
        );
        assert_eq!(
            kind(&[json, raw("Content-Encoding", b"gzip")]),
            ContentKind::Other
        );
        assert_eq!(kind(&[]), ContentKind::Other);
    }

    #[test]
    fn b43_a_grpc_status_other_than_zero_is_a_failure_and_some_are_the_servers() {
        assert_eq!(GrpcEnd::read(None), None);
        let end = |header| GrpcEnd::read(Some(&map(&[header]))).unwrap();
        let good = end(raw("grpc-status", b"0"));
        assert_eq!((good.has_failed(), good.http_status()), (false, 200));
        for (code, status) in [
            ("2", 500),
            ("3", 400),
            ("4", 400),
            ("8", 429),
            ("10", 400),
            ("12", 400),
            ("13", 500),
            ("14", 503),
            ("15", 500),
            ("99", 400),
            ("x", 500),
        ] {
            let failed = end(plain("Grpc-Status", code));
            assert_eq!((failed.has_failed(), failed.http_status()), (true, status));
        }
    }
}
