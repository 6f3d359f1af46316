//! A gateway passes on what its clients do, also when one of them resets its requests in a burst: the
//! connection, which carries all clients, must stay.

use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_resets_does_not_end_the_connection_of_all_clients() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    let mut connection = TcpStream::connect(stack.picker.addresses.ext_proc)
        .await
        .unwrap();
    let mut burst = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    burst.extend(frame(SETTINGS, 0, 0, &[]));
    for stream in (1..).step_by(2).take(1000) {
        burst.extend(frame(HEADERS, END_HEADERS, stream, &request_head()));
        burst.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
    }
    burst.extend(frame(PING, 0, 0, b"all well"));
    connection.write_all(&burst).await.unwrap();

    let until_ping_is_answered = async {
        loop {
            let (kind, payload) = read_frame(&mut connection).await;
            assert_ne!(kind, GOAWAY, "the picker ended the connection: {payload:?}");
            if kind == PING {
                assert_eq!(payload, b"all well");
                return;
            }
        }
    };
    wait::answer("the answer to a ping", until_ping_is_answered)
        .await
        .unwrap();
}

/// The head of a call of `Process`, without any compression.
fn request_head() -> Vec<u8> {
    // Indexed: `:method: POST` and `:scheme: http`.
    let mut block = vec![0x83, 0x86];
    let mut literal = |name: &str, value: &str| {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    };
    literal(
        ":path",
        "/envoy.service.ext_proc.v3.ExternalProcessor/Process",
    );
    literal(":authority", "picker");
    literal("content-type", "application/grpc");
    literal("te", "trailers");
    block
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

async fn read_frame(connection: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 9];
    connection.read_exact(&mut head).await.unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    connection.read_exact(&mut payload).await.unwrap();
    (head[3], payload)
}

// RFC 9113, sections 6 and 7.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;
const CANCEL: u32 = 8;
