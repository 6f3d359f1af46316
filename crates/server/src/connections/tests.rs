use std::io::{Read, Write};
use std::net;

use tokio::net::TcpListener;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::*;

/// A connection, and the gateway's side of it.
async fn connected(connections: &Connections) -> (Connection, net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_nonblocking(true).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    (connections.opened(stream), peer)
}

async fn write(connection: &mut Connection, bytes: &[u8]) {
    let written = poll_fn(|cx| Pin::new(&mut *connection).poll_write(cx, bytes)).await;
    assert_eq!(written.unwrap(), bytes.len());
}

async fn read(connection: &mut Connection) -> io::Result<usize> {
    let mut room = [0; 8];
    let mut room = ReadBuf::new(&mut room);
    poll_fn(|cx| Pin::new(&mut *connection).poll_read(cx, &mut room)).await?;
    Ok(room.filled().len())
}

/// What `peer` reads up to the clean end of the connection, writing all the while as Envoy does:
/// before each reading, and a write that fails is the end.
async fn read_to_end(peer: &mut net::TcpStream) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut room = [0; 1024];
    loop {
        match peer.write(b"more") {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        match peer.read(&mut room) {
            Ok(0) => return Ok(read),
            Ok(length) => read.extend_from_slice(&room[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => yield_now().await,
            Err(error) => return Err(error),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_reads_all_answers_and_a_clean_end_although_it_goes_on_writing() {
    let connections = Connections::default();
    let (mut connection, mut peer) = connected(&connections).await;
    peer.write_all(b"never read").unwrap();
    connection
        .stream
        .as_ref()
        .unwrap()
        .readable()
        .await
        .unwrap();
    write(&mut connection, b"the last answer").await;
    drop(connection);
    assert_eq!(read_to_end(&mut peer).await.unwrap(), b"the last answer");
    // The end does not keep it from writing what it had begun.
    for _ in 0..100 {
        peer.write_all(b"more").unwrap();
        yield_now().await;
    }
    drop(peer);
    connections.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_still_read_sees_its_end_when_all_are_ended() {
    let connections = Connections::default();
    let (mut connection, mut peer) = connected(&connections).await;
    write(&mut connection, b"the last answer").await;
    let reading = async {
        assert_eq!(read(&mut connection).await.unwrap(), 0);
        drop(connection);
        let answer = read_to_end(&mut peer).await.unwrap();
        drop(peer);
        answer
    };
    // The first is waiting when the second begins.
    let (answer, ()) = tokio::join!(biased; reading, connections.end());
    assert_eq!(answer, b"the last answer");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_close_its_side_is_not_waited_for_longer_than_the_limit() {
    let connections = Connections::default();
    let (connection, _peer) = connected(&connections).await;
    drop(connection);
    let begun = Instant::now();
    connections.end().await;
    assert_eq!(begun.elapsed(), CLOSING_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_drops_is_not_waited_for_longer_than_the_limit() {
    let connections = Connections::default();
    let (_connection, _peer) = connected(&connections).await;
    let begun = Instant::now();
    connections.end().await;
    assert_eq!(begun.elapsed(), END_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_its_peer_ended_is_not_waited_for() {
    let connections = Connections::default();
    let (mut connection, peer) = connected(&connections).await;
    drop(peer);
    assert_eq!(read(&mut connection).await.unwrap(), 0);
    let begun = Instant::now();
    drop(connection);
    connections.end().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
