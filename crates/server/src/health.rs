//! gRPC health, with Check, List and Watch.

use core::pin::Pin;
use std::collections::HashMap;

use pointsman_proto::health::health_check_response::ServingStatus;
use pointsman_proto::health::health_server::Health;
use pointsman_proto::health::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

/// Whether new requests should be sent to this process. Shared by all that tell or need it.
#[derive(Clone, Debug)]
pub(crate) struct Readiness {
    ready: watch::Sender<bool>,
}

/// The health service.
#[derive(Clone, Debug)]
pub(crate) struct HealthService {
    readiness: Readiness,
}

impl Readiness {
    /// Not ready.
    pub(crate) fn new() -> Self {
        Self {
            ready: watch::Sender::new(false),
        }
    }

    /// From now on ready, or not.
    pub(crate) fn set(&self, ready: bool) {
        self.ready.send_replace(ready);
    }

    /// Whether ready now.
    pub(crate) fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }
}

impl HealthService {
    /// Serves what `readiness` says.
    pub(crate) const fn new(readiness: Readiness) -> Self {
        Self { readiness }
    }
}

#[tonic::async_trait]
impl Health for HealthService {
    type WatchStream =
        Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send + 'static>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        match status_of(&service, self.readiness.is_ready()) {
            ServingStatus::ServiceUnknown => Err(Status::not_found("unknown service")),
            status => Ok(Response::new(HealthCheckResponse {
                status: status.into(),
            })),
        }
    }

    async fn list(
        &self,
        _: Request<HealthListRequest>,
    ) -> Result<Response<HealthListResponse>, Status> {
        let ready = self.readiness.is_ready();
        let statuses: HashMap<_, _> = SERVICES
            .iter()
            .map(|&service| {
                let status = status_of(service, ready).into();
                (service.to_owned(), HealthCheckResponse { status })
            })
            .collect();
        Ok(Response::new(HealthListResponse { statuses }))
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        let changes = WatchStream::new(self.readiness.ready.subscribe());
        let statuses = changes.map(move |ready| {
            Ok(HealthCheckResponse {
                status: status_of(&service, ready).into(),
            })
        });
        Ok(Response::new(Box::pin(statuses)))
    }
}

fn status_of(service: &str, ready: bool) -> ServingStatus {
    match service {
        LIVENESS => ServingStatus::Serving,
        known if SERVICES.contains(&known) => {
            if ready {
                ServingStatus::Serving
            } else {
                ServingStatus::NotServing
            }
        }
        _ => ServingStatus::ServiceUnknown,
    }
}

/// Serving as long as the process is there.
const LIVENESS: &str = "liveness";

/// Every name that charts and gateways ask for.
const SERVICES: [&str; 5] = [
    "",
    LIVENESS,
    "readiness",
    "inference-extension",
    "envoy.service.ext_proc.v3.ExternalProcessor",
];
