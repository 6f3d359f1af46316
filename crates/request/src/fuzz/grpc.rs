//! Messages of vLLM's gRPC service.

use pointsman_proto::grpc::FrameHeader;
use pointsman_proto::vllm::generate_request::Input;
use pointsman_proto::vllm::{EmbedRequest, GenerateRequest};
use prost::Message as _;

use super::*;

/// Two lengths of pieces, then a body.
fn check(method: &str, input: &[u8], ids: impl Fn(&[u8]) -> Option<u64>) {
    let path = format!("/vllm.grpc.engine.VllmEngine/{method}");
    let head = post(&path, &[("content-type", "application/grpc")]);
    let pieces = cut_by_lengths(input);
    let body = joined(&pieces);
    let reading = read(&head, &pieces).expect("a call demands nothing");
    assert_eq!(reading.model_place, None);
    let Some((header, message)) = body.split_first_chunk::<{ FrameHeader::BYTES }>() else {
        return assert!(!reading.facts.prompt.is_counted);
    };
    let header = FrameHeader::read(*header);
    let message = message.get(..header.message_bytes as usize);
    if header.compressed || message.is_none() {
        assert!(!reading.facts.prompt.is_counted);
    }
    if let (true, Some(ids)) = (reading.facts.prompt.is_counted, message.and_then(ids)) {
        assert_eq!(reading.facts.prompt.tokens.0, ids);
    }
}

#[test]
fn generate_call() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            check(
                "Generate",
                input,
                |message| match GenerateRequest::decode(message).ok()?.input? {
                    Input::Tokenized(ids) => Some(ids.input_ids.len() as u64),
                    Input::Text(_) => None,
                },
            );
        });
}

#[test]
fn embed_call() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            check("Embed", input, |message| {
                let message = EmbedRequest::decode(message).ok()?;
                Some(message.tokenized?.input_ids.len() as u64)
            });
        });
}
