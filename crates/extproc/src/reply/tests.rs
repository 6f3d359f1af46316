use pointsman_domain::decision::Destination;
use pointsman_domain::endpoint::EndpointId;

use super::*;

fn pick(addresses: &[&str]) -> Pick {
    let destination = |address: &&str| Destination {
        endpoint: EndpointId {
            slot: 0,
            generation: 0,
        },
        address: address.parse().unwrap(),
    };
    Pick {
        destinations: addresses.iter().map(destination).collect(),
        model: None,
    }
}

fn common_of(response: ProcessingResponse) -> CommonResponse {
    match response.response {
        Some(Response::RequestHeaders(r) | Response::ResponseHeaders(r)) => r.response.unwrap(),
        Some(Response::RequestBody(r) | Response::ResponseBody(r)) => r.response.unwrap(),
        other => panic!("no common response in {other:?}"),
    }
}

fn destination_in_metadata(response: &ProcessingResponse) -> Option<&str> {
    let balancer = response.dynamic_metadata.as_ref()?.fields.get("envoy.lb")?;
    let Some(Kind::StructValue(balancer)) = &balancer.kind else {
        return None;
    };
    match &balancer.fields.get("x-gateway-destination-endpoint")?.kind {
        Some(Kind::StringValue(text)) => Some(text),
        _ => None,
    }
}

#[test]
fn b26_b27_the_destination_overwrites_and_is_a_raw_value_only() {
    let owned = ["x-gateway-destination-endpoint", "x-slo-ttft-ms"].map(str::to_owned);
    let route = Route::new(&pick(&["10.0.0.1:8000"]), owned.to_vec());
    let common = common_of(request_headers(Some(route)));
    assert!(common.clear_route_cache);
    let mutation = common.header_mutation.unwrap();
    assert_eq!(mutation.remove_headers, ["x-slo-ttft-ms"]);
    let [set] = &mutation.set_headers[..] else {
        panic!("more than the destination is set: {mutation:?}");
    };
    let header = set.header.as_ref().unwrap();
    assert_eq!(header.key, "x-gateway-destination-endpoint");
    assert_eq!(&header.raw_value[..], b"10.0.0.1:8000");
    assert_eq!(header.value, "");
    assert_eq!(
        set.append_action(),
        HeaderAppendAction::OverwriteIfExistsOrAdd
    );
}

#[test]
fn b13_addresses_are_bracketed_and_in_order_in_header_and_metadata() {
    let route = Route::new(&pick(&["[fd00:1::5]:8000", "10.0.0.1:80"]), Vec::new());
    let expected = "[fd00:1::5]:8000,10.0.0.1:80";
    for response in [
        request_headers(Some(route.clone())),
        body(Direction::Request, Some(route.clone()), BodyChange::Kept),
    ] {
        assert_eq!(destination_in_metadata(&response), Some(expected));
        let mutation = common_of(response).header_mutation.unwrap();
        let header = mutation.set_headers[0].header.clone().unwrap();
        assert_eq!(header.raw_value, expected);
    }
    let late = request_trailers(Some(route));
    assert_eq!(destination_in_metadata(&late), Some(expected));
}

#[test]
fn b32_an_answer_without_a_route_changes_nothing() {
    for response in [
        response_headers(Vec::new()),
        body(Direction::Response, None, BodyChange::Kept),
    ] {
        assert_eq!(response.dynamic_metadata, None);
        assert_eq!(common_of(response), CommonResponse::default());
    }
    assert_eq!(
        response_trailers(Vec::new()).response,
        Some(Response::ResponseTrailers(TrailersResponse::default()))
    );
}

#[test]
fn b26_b27_headers_of_an_immediate_response_overwrite_too() {
    let answer = Answer {
        status: 429,
        headers: vec![("retry-after", "1")],
        body: Bytes::from_static(b"{}"),
        grpc_status: None,
        details: "rejected-saturated",
    };
    let Some(Response::ImmediateResponse(response)) = immediate(answer).response else {
        panic!("not an immediate response");
    };
    assert_eq!(response.status, Some(HttpStatus { code: 429 }));
    assert_eq!(response.body, "{}");
    assert_eq!(response.details, "rejected-saturated");
    let mutation = response.headers.unwrap();
    assert_eq!(
        mutation.set_headers,
        [set("retry-after", Bytes::from_static(b"1"))]
    );
}

fn cut_of(parts: &[&'static [u8]], bytes_max: usize, end: PieceEnd) -> Vec<(Bytes, PieceEnd)> {
    let mut sent = Vec::new();
    let parts = parts.iter().map(|part| Bytes::from_static(part));
    pieces(parts, bytes_max, end, |piece, end| sent.push((piece, end)));
    sent
}

#[test]
fn pieces_are_cut_at_the_limit_and_only_the_last_one_ends() {
    let piece = |text: &'static str, end| (Bytes::from_static(text.as_bytes()), end);
    assert_eq!(
        cut_of(&[b"12345", b"", b"678"], 3, PieceEnd::Last),
        [
            piece("123", PieceEnd::Open),
            piece("45", PieceEnd::Open),
            piece("678", PieceEnd::Last),
        ]
    );
    assert_eq!(
        cut_of(&[b"123"], 3, PieceEnd::Open),
        [piece("123", PieceEnd::Open)]
    );
}

#[test]
fn an_end_without_bytes_has_an_empty_piece() {
    assert_eq!(cut_of(&[], 3, PieceEnd::Open), []);
    assert_eq!(
        cut_of(&[b""], 3, PieceEnd::Last),
        [(Bytes::new(), PieceEnd::Last)]
    );
    assert_eq!(
        cut_of(&[b"1"], 3, PieceEnd::Mark),
        [
            (Bytes::from_static(b"1"), PieceEnd::Open),
            (Bytes::new(), PieceEnd::Mark),
        ]
    );
}
