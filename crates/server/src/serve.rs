//! The process's servers. Each function binds its port, and gives the future that serves it.

use core::future::Future;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::sync::Arc;

use anyhow::{Context, Result};
use envoy_types::pb::envoy::service::endpoint::v3::endpoint_discovery_service_server::EndpointDiscoveryServiceServer;
use pointsman_proto::health::health_server::HealthServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tracing::{info, warn};

use crate::admin::Admin;
use crate::connections::Connections;
use crate::eds::{EdsService, EdsTable};
use crate::flags::Flags;
use crate::health::{HealthService, Readiness};
use crate::session::Service;
use crate::tls;

/// What gateways call: ext_proc, and health for those that ask at the same port. At `stop` it accepts
/// no more, and ends when its streams have ended.
pub(crate) async fn ext_proc(
    flags: &Flags,
    service: Service,
    readiness: Readiness,
    connections: &Connections,
    stop: CancellationToken,
) -> Result<impl Future<Output = ()> + use<>> {
    let mut server = server();
    if flags.secure_serving {
        let tls = tls::config(&flags.cert_path).await?;
        server = server.tls_config(tls).context("set up TLS")?;
    }
    let server = server
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .add_service(service)
        .add_service(health_service(readiness));
    let incoming = listen_grpc(flags, flags.grpc_port, "ext_proc").await?;
    let incoming = connections.of(incoming);
    Ok(async move {
        let stopped = stop.cancelled_owned();
        ended(
            "ext_proc",
            server.serve_with_incoming_shutdown(incoming, stopped).await,
        );
    })
}

/// Health on a port of its own, without TLS, for kubelet.
pub(crate) async fn health(
    flags: &Flags,
    readiness: Readiness,
) -> Result<impl Future<Output = ()> + use<>> {
    let incoming = listen_grpc(flags, flags.grpc_health_port, "health").await?;
    let server = server().add_service(health_service(readiness));
    Ok(async move { ended("health", server.serve_with_incoming(incoming).await) })
}

/// Endpoint discovery for our standalone Envoy.
pub(crate) async fn eds(
    flags: &Flags,
    port: u16,
    table: Arc<EdsTable>,
) -> Result<impl Future<Output = ()> + use<>> {
    let incoming = listen_grpc(flags, port, "EDS").await?;
    let service = EndpointDiscoveryServiceServer::new(EdsService::new(table));
    let server = server().add_service(service);
    Ok(async move { ended("EDS", server.serve_with_incoming(incoming).await) })
}

/// Metrics and debug pages.
pub(crate) async fn admin(flags: &Flags, admin: Admin) -> Result<impl Future<Output = ()> + use<>> {
    let listener = listen(flags.bind_address, flags.metrics_port, "admin").await?;
    Ok(async move { ended("admin", axum::serve(listener, admin.router()).await) })
}

fn server() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .http2_max_pending_accept_reset_streams(Some(RESETS_PENDING_MAX))
}

fn health_service(readiness: Readiness) -> HealthServer<HealthService> {
    HealthServer::new(HealthService::new(readiness))
}

async fn listen_grpc(flags: &Flags, port: u16, what: &str) -> Result<TcpIncoming> {
    let listener = listen(flags.bind_address, port, what).await?;
    Ok(TcpIncoming::from(listener).with_nodelay(Some(true)))
}

async fn listen(ip: IpAddr, port: u16, what: &str) -> Result<TcpListener> {
    let mut bound = TcpListener::bind((ip, port)).await;
    // `::` takes both families, where there are both.
    if bound.is_err() && ip == Ipv6Addr::UNSPECIFIED {
        bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
    }
    let listener = bound.with_context(|| {
        format!(
            "listen on {} for {what}: choose another port or --bind-address",
            SocketAddr::new(ip, port)
        )
    })?;
    info!(address = %listener.local_addr()?, "serving {what}");
    Ok(listener)
}

fn ended(what: &str, result: Result<(), impl core::fmt::Display>) {
    if let Err(error) = result {
        warn!("the {what} server ended: {error}");
    }
}

/// A whole prompt of ordinary size fits in flight on one stream.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// One connection carries the streams of many clients. Each stream has its window; one of them that
/// is not read must not use up the connection's.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;
/// The gateway passes on what its clients do. With the library's default of 20, one client that
/// resets a burst of requests would end the connection, and every other client's response on it.
const RESETS_PENDING_MAX: usize = 1 << 20;
/// A gateway that vanished without a word must not hold reservations for ever.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
