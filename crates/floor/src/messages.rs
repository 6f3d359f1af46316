//! A hand-written subset of Envoy's ext_proc messages: the fields that the floor reads or sends, and
//! those that a gateway sends, as they must be decoded to cost what they cost.
//!
//! The tags are those of [envoy.service.ext_proc.v3].
//!
//! [envoy.service.ext_proc.v3]: https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/ext_proc/v3/external_processor.proto

use std::collections::HashMap;

use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) raw_value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderMap {
    #[prost(message, repeated, tag = "1")]
    pub(crate) headers: Vec<HeaderValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HttpHeaders {
    #[prost(message, optional, tag = "1")]
    pub(crate) headers: Option<HeaderMap>,
    #[prost(bool, tag = "3")]
    pub(crate) end_of_stream: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HttpBody {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) body: Bytes,
    #[prost(bool, tag = "2")]
    pub(crate) end_of_stream: bool,
    #[prost(bool, tag = "3")]
    pub(crate) end_of_stream_without_message: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HttpTrailers {
    #[prost(message, optional, tag = "1")]
    pub(crate) trailers: Option<HeaderMap>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Metadata {
    #[prost(map = "string, message", tag = "1")]
    pub(crate) filter_metadata: HashMap<String, prost_types::Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ProtocolConfig {
    #[prost(int32, tag = "1")]
    pub(crate) request_body_mode: i32,
    #[prost(int32, tag = "2")]
    pub(crate) response_body_mode: i32,
    #[prost(bool, tag = "3")]
    pub(crate) send_body_without_waiting_for_header_response: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ProcessingRequest {
    #[prost(oneof = "Received", tags = "2, 3, 4, 5, 6, 7")]
    pub(crate) request: Option<Received>,
    #[prost(message, optional, tag = "8")]
    pub(crate) metadata_context: Option<Metadata>,
    #[prost(map = "string, message", tag = "9")]
    pub(crate) attributes: HashMap<String, prost_types::Struct>,
    #[prost(bool, tag = "10")]
    pub(crate) observability_mode: bool,
    #[prost(message, optional, tag = "11")]
    pub(crate) protocol_config: Option<ProtocolConfig>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Received {
    #[prost(message, tag = "2")]
    RequestHeaders(HttpHeaders),
    #[prost(message, tag = "3")]
    ResponseHeaders(HttpHeaders),
    #[prost(message, tag = "4")]
    RequestBody(HttpBody),
    #[prost(message, tag = "5")]
    ResponseBody(HttpBody),
    #[prost(message, tag = "6")]
    RequestTrailers(HttpTrailers),
    #[prost(message, tag = "7")]
    ResponseTrailers(HttpTrailers),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderValueOption {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<HeaderValue>,
    #[prost(int32, tag = "3")]
    pub(crate) append_action: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderMutation {
    #[prost(message, repeated, tag = "1")]
    pub(crate) set_headers: Vec<HeaderValueOption>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) remove_headers: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StreamedBodyResponse {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) body: Bytes,
    #[prost(bool, tag = "2")]
    pub(crate) end_of_stream: bool,
    #[prost(bool, tag = "3")]
    pub(crate) end_of_stream_without_message: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct BodyMutation {
    #[prost(oneof = "Mutation", tags = "3")]
    pub(crate) mutation: Option<Mutation>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Mutation {
    #[prost(message, tag = "3")]
    Streamed(StreamedBodyResponse),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CommonResponse {
    #[prost(int32, tag = "1")]
    pub(crate) status: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) header_mutation: Option<HeaderMutation>,
    #[prost(message, optional, tag = "3")]
    pub(crate) body_mutation: Option<BodyMutation>,
    #[prost(bool, tag = "5")]
    pub(crate) clear_route_cache: bool,
}

/// The answers to headers and to bodies have the same shape.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Wrapped {
    #[prost(message, optional, tag = "1")]
    pub(crate) response: Option<CommonResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TrailersResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) header_mutation: Option<HeaderMutation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ProcessingResponse {
    #[prost(oneof = "Reply", tags = "1, 2, 3, 4, 5, 6")]
    pub(crate) response: Option<Reply>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Reply {
    #[prost(message, tag = "1")]
    RequestHeaders(Wrapped),
    #[prost(message, tag = "2")]
    ResponseHeaders(Wrapped),
    #[prost(message, tag = "3")]
    RequestBody(Wrapped),
    #[prost(message, tag = "4")]
    ResponseBody(Wrapped),
    #[prost(message, tag = "5")]
    RequestTrailers(TrailersResponse),
    #[prost(message, tag = "6")]
    ResponseTrailers(TrailersResponse),
}
