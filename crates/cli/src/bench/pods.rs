//! Engines of which there is only a metrics page, so that pickers scrape as they do in earnest.

use core::convert::Infallible;
use core::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::harness::endpoints::Entry;

/// Running metrics pages. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Pods {
    /// Where they are.
    pub(super) entries: Vec<Entry>,
    _servers: JoinSet<()>,
}

impl Pods {
    /// Serves so many pages on loopback addresses.
    pub(super) async fn start(count: usize) -> Result<Self> {
        let mut entries = Vec::new();
        let mut servers = JoinSet::new();
        for index in 0..count {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await;
            let listener = listener.context("cannot listen for a pod")?;
            entries.push(Entry {
                name: format!("pod-{index}"),
                address: listener.local_addr()?,
            });
            servers.spawn(serve(listener, Bytes::from(page(index))));
        }
        Ok(Self {
            entries,
            _servers: servers,
        })
    }
}

async fn serve(listener: TcpListener, page: Bytes) {
    // Dropped with this task, and then all connections end too.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let _ = stream.set_nodelay(true);
        let page = page.clone();
        connections.spawn(async move {
            let service = service_fn(async |request| answer(&request, &page));
            // A picker that ends takes its connections away, which is no failure of the page.
            let _ended = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, page: &Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_page = request.method() == Method::GET && request.uri().path() == "/metrics";
    let mut response = Response::new(Full::new(if is_page { page.clone() } else { Bytes::new() }));
    if is_page {
        let kind = header::HeaderValue::from_static("text/plain; version=0.0.4");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    } else {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}

/// A small page in vLLM's form. Pods differ, so that there is something to weigh.
fn page(index: usize) -> String {
    let waiting = index % 3;
    let kv_usage = (index * 7 % 40) as f64 / 100.0;
    format!(
        "# TYPE vllm:num_requests_running gauge\n\
         vllm:num_requests_running{{model_name=\"m\",engine=\"0\"}} 1.0\n\
         # TYPE vllm:num_requests_waiting gauge\n\
         vllm:num_requests_waiting{{model_name=\"m\",engine=\"0\"}} {waiting}.0\n\
         # TYPE vllm:kv_cache_usage_perc gauge\n\
         vllm:kv_cache_usage_perc{{model_name=\"m\",engine=\"0\"}} {kv_usage}\n\
         # TYPE vllm:lora_requests_info gauge\n\
         vllm:lora_requests_info{{max_lora=\"4\",running_lora_adapters=\"\",\
         waiting_lora_adapters=\"\"}} 1.7e9\n\
         # TYPE vllm:cache_config_info gauge\n\
         vllm:cache_config_info{{block_size=\"16\",num_gpu_blocks=\"2048\",engine=\"0\"}} 1.0\n"
    )
}

/// The pause after a failure to accept, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
