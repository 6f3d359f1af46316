//! A gateway passes on what its clients do, also when one of them resets its requests in a burst: the
//! connection, which carries all clients, must stay.

use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::frames::{CANCEL, Frame, Frames, GOAWAY, PING, RST_STREAM};

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_resets_does_not_end_the_connection_of_all_clients() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    let mut connection = Frames::connect(stack.picker.addresses.ext_proc)
        .await
        .unwrap();
    let mut burst = Vec::new();
    for stream in (1..).step_by(2).take(1000) {
        burst.push(Frame::call(stream).unwrap());
        burst.push(Frame::new(RST_STREAM, 0, stream, CANCEL.to_be_bytes()));
    }
    burst.push(Frame::new(PING, 0, 0, *b"all well"));
    connection.send(&burst).await.unwrap();

    loop {
        let frame = connection.next().await.unwrap();
        assert_ne!(frame.kind, GOAWAY, "the picker ended the connection");
        if frame.kind == PING {
            assert_eq!(frame.payload, b"all well");
            return;
        }
    }
}
