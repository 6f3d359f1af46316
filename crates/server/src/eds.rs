//! The endpoint discovery service of the standalone Envoy: it gets its endpoints from the picker,
//! keeps them when the picker dies, and acknowledges each version.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::BTreeMap;
use std::sync::Arc;

use envoy_types::pb::envoy::config::core::v3::address::Address as AddressKind;
use envoy_types::pb::envoy::config::core::v3::socket_address::PortSpecifier;
use envoy_types::pb::envoy::config::core::v3::{Address, SocketAddress};
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints,
};
use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use envoy_types::pb::envoy::service::endpoint::v3::endpoint_discovery_service_server::EndpointDiscoveryService;
use envoy_types::pb::google::protobuf::Any;
use pointsman_domain::endpoint::EndpointSpec;
use prost::{Message, Name};
use tokio::sync::watch;
use tokio_stream::Stream;
use tokio_stream::wrappers::WatchStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::warn;

/// The set of endpoints as Envoys see it, and how far each has come.
#[derive(Debug)]
pub(crate) struct EdsTable {
    /// Marks this process's versions: after a restart Envoy still names those of the one before.
    process: String,
    assignment: watch::Sender<Assignment>,
    envoys: watch::Sender<Envoys>,
}

/// One version of the set, encoded once for all.
#[derive(Clone, Debug, Default)]
struct Assignment {
    version: u64,
    endpoints: Vec<LbEndpoint>,
}

/// The version that each connected Envoy has acknowledged.
#[derive(Debug, Default)]
struct Envoys {
    next: u64,
    acknowledged: BTreeMap<u64, u64>,
}

/// The discovery service.
#[derive(Clone, Debug)]
pub(crate) struct EdsService {
    table: Arc<EdsTable>,
}

/// One Envoy's stream.
pub(crate) struct EdsStream {
    table: Arc<EdsTable>,
    envoy: u64,
    inbound: Streaming<DiscoveryRequest>,
    versions: WatchStream<Assignment>,
    /// The cluster that Envoy asked for; nothing is sent before.
    cluster: Option<String>,
    /// A version that came before the cluster was asked for.
    pending: Option<Assignment>,
}

impl EdsTable {
    /// An empty set. `process` tells this process's versions from those of others.
    pub(crate) fn new(process: u64) -> Self {
        Self {
            process: format!("{process:x}"),
            assignment: watch::Sender::new(Assignment::default()),
            envoys: watch::Sender::new(Envoys::default()),
        }
    }

    /// Makes `specs` the set; returns its version.
    pub(crate) fn publish(&self, specs: &[EndpointSpec]) -> u64 {
        let endpoints: Vec<_> = specs.iter().map(lb_endpoint).collect();
        let mut version = 0;
        self.assignment.send_modify(|assignment| {
            assignment.version += 1;
            assignment.endpoints = endpoints;
            version = assignment.version;
        });
        version
    }

    /// Waits until every connected Envoy has acknowledged `version`.
    pub(crate) async fn acknowledged(&self, version: u64) {
        let mut envoys = self.envoys.subscribe();
        let all = |envoys: &Envoys| envoys.acknowledged.values().all(|&seen| seen >= version);
        // The sender lives in the same table, so the wait cannot fail.
        let _never = envoys.wait_for(all).await;
    }
}

impl EdsTable {
    fn version_info(&self, version: u64) -> String {
        format!("{}-{version}", self.process)
    }

    fn parse(&self, version_info: &str) -> Option<u64> {
        version_info
            .strip_prefix(&self.process)?
            .strip_prefix('-')?
            .parse()
            .ok()
    }
}

impl EdsService {
    /// Serves `table`.
    pub(crate) const fn new(table: Arc<EdsTable>) -> Self {
        Self { table }
    }
}

#[tonic::async_trait]
impl EndpointDiscoveryService for EdsService {
    type StreamEndpointsStream = EdsStream;
    type DeltaEndpointsStream =
        Pin<Box<dyn Stream<Item = Result<DeltaDiscoveryResponse, Status>> + Send>>;

    async fn stream_endpoints(
        &self,
        request: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<EdsStream>, Status> {
        let mut envoy = 0;
        self.table.envoys.send_modify(|envoys| {
            envoy = envoys.next;
            envoys.next += 1;
            envoys.acknowledged.insert(envoy, 0);
        });
        Ok(Response::new(EdsStream {
            table: Arc::clone(&self.table),
            envoy,
            inbound: request.into_inner(),
            versions: WatchStream::new(self.table.assignment.subscribe()),
            cluster: None,
            pending: None,
        }))
    }

    async fn delta_endpoints(
        &self,
        _: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaEndpointsStream>, Status> {
        Err(Status::unimplemented("use StreamEndpoints (api_type GRPC)"))
    }

    async fn fetch_endpoints(
        &self,
        _: Request<DiscoveryRequest>,
    ) -> Result<Response<DiscoveryResponse>, Status> {
        Err(Status::unimplemented("use StreamEndpoints (api_type GRPC)"))
    }
}

impl Stream for EdsStream {
    type Item = Result<DiscoveryResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = &mut *self;
        while let Poll::Ready(request) = Pin::new(&mut stream.inbound).poll_next(cx) {
            match request {
                Some(Ok(request)) => stream.requested(request),
                None | Some(Err(_)) => return Poll::Ready(None),
            }
        }
        while let Poll::Ready(assignment) = Pin::new(&mut stream.versions).poll_next(cx) {
            match assignment {
                // Before the first version nothing is known; an empty set would take away what an
                // Envoy kept from the process before this one.
                Some(assignment) if assignment.version == 0 => {}
                Some(assignment) => stream.pending = Some(assignment),
                None => return Poll::Ready(None),
            }
        }
        let Some(cluster) = &stream.cluster else {
            return Poll::Pending;
        };
        let Some(next) = stream.pending.take() else {
            return Poll::Pending;
        };
        let version_info = stream.table.version_info(next.version);
        Poll::Ready(Some(Ok(response(cluster, version_info, next.endpoints))))
    }
}

impl EdsStream {
    fn requested(&mut self, request: DiscoveryRequest) {
        if let Some(error) = request.error_detail {
            warn!(
                version = request.version_info,
                "Envoy refused endpoints: {}", error.message
            );
        } else if let Some(version) = self.table.parse(&request.version_info) {
            self.table.envoys.send_modify(|envoys| {
                envoys.acknowledged.insert(self.envoy, version);
            });
        }
        if self.cluster.is_none() {
            self.cluster = request.resource_names.into_iter().next();
        }
    }
}

impl Drop for EdsStream {
    fn drop(&mut self) {
        self.table.envoys.send_modify(|envoys| {
            envoys.acknowledged.remove(&self.envoy);
        });
    }
}

fn response(
    cluster: &str,
    version_info: String,
    lb_endpoints: Vec<LbEndpoint>,
) -> DiscoveryResponse {
    let resource = ClusterLoadAssignment {
        cluster_name: cluster.to_owned(),
        endpoints: vec![LocalityLbEndpoints {
            lb_endpoints,
            ..LocalityLbEndpoints::default()
        }],
        ..ClusterLoadAssignment::default()
    };
    let type_url = ClusterLoadAssignment::type_url();
    DiscoveryResponse {
        nonce: version_info.clone(),
        version_info,
        resources: vec![Any {
            type_url: type_url.clone(),
            value: resource.encode_to_vec(),
        }],
        type_url,
        ..DiscoveryResponse::default()
    }
}

fn lb_endpoint(spec: &EndpointSpec) -> LbEndpoint {
    let socket = SocketAddress {
        address: spec.address.ip().to_string(),
        port_specifier: Some(PortSpecifier::PortValue(spec.address.port().into())),
        ..SocketAddress::default()
    };
    let address = Address {
        address: Some(AddressKind::SocketAddress(socket)),
    };
    let endpoint = Endpoint {
        address: Some(address),
        ..Endpoint::default()
    };
    LbEndpoint {
        host_identifier: Some(HostIdentifier::Endpoint(endpoint)),
        ..LbEndpoint::default()
    }
}
