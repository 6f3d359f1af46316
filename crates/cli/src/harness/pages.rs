//! Reads the admin pages of the processes that the harness starts.

use core::net::SocketAddr;
use core::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};

use crate::client::http_client;

/// The answer of a GET, whatever its status.
pub async fn get(address: SocketAddr, path: &str) -> Result<(StatusCode, Bytes)> {
    request(address, Method::GET, path, String::new()).await
}

/// The answer of a POST, whatever its status.
pub async fn post(address: SocketAddr, path: &str, body: String) -> Result<(StatusCode, Bytes)> {
    request(address, Method::POST, path, body).await
}

/// The JSON page at `path`; any status but 200 is an error.
pub async fn get_json(address: SocketAddr, path: &str) -> Result<serde_json::Value> {
    let (status, body) = get(address, path).await?;
    if status != StatusCode::OK {
        bail!("GET http://{address}{path} answered {status}");
    }
    serde_json::from_slice(&body)
        .with_context(|| format!("GET http://{address}{path} did not answer JSON"))
}

async fn request(
    address: SocketAddr,
    method: Method,
    path: &str,
    body: String,
) -> Result<(StatusCode, Bytes)> {
    let what = format!("{method} http://{address}{path}");
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{address}{path}"))
        .body(Full::from(body))?;
    let exchange = async {
        let response = http_client().request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), BODY_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| anyhow::anyhow!(error))?;
        anyhow::Ok((status, body.to_bytes()))
    };
    tokio::time::timeout(TIMEOUT, exchange)
        .await
        .with_context(|| format!("{what}: no answer within {TIMEOUT:?}"))?
        .context(what)
}

const TIMEOUT: Duration = Duration::from_secs(5);
const BODY_BYTES_MAX: usize = 16 << 20;
