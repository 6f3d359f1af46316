//! The HTTP client that all commands use.

use core::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// A client of plain HTTP with a pool of connections.
pub type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// A client whose small writes are not delayed.
pub fn http_client() -> HttpClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_WAIT_MAX));
    Client::builder(TokioExecutor::new()).build(connector)
}

const CONNECT_WAIT_MAX: Duration = Duration::from_secs(5);
