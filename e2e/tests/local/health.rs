//! gRPC health, as charts, gateways and operators ask for it.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::gateway::{connect, health};
use pointsman_e2e::wait;
use pointsman_proto::health::health_check_response::ServingStatus;
use pointsman_proto::health::health_client::HealthClient;
use pointsman_proto::health::{HealthCheckRequest, HealthCheckResponse, HealthListRequest};
use tonic::{Code, Status, Streaming};

#[tokio::test(flavor = "multi_thread")]
async fn health_is_served_under_every_name_on_both_ports() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(1)).await.unwrap();
    let addresses = stack.picker.addresses;
    let mut watches = Vec::new();
    for address in [addresses.health, addresses.ext_proc] {
        let channel = connect(address).await.unwrap();
        let mut client = HealthClient::new(channel.clone());
        for name in NAMES {
            assert_eq!(
                health(&channel, name).await.unwrap(),
                ServingStatus::Serving,
                "{name}"
            );
        }
        let unknown = health(&channel, "no-such-service").await.unwrap_err();
        assert_eq!(
            unknown.downcast_ref::<Status>().unwrap().code(),
            Code::NotFound
        );

        let list = client
            .list(HealthListRequest {})
            .await
            .unwrap()
            .into_inner()
            .statuses;
        let names: BTreeSet<&str> = list.keys().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from(NAMES));
        assert!(
            list.values()
                .all(|answer| answer.status() == ServingStatus::Serving)
        );

        let unknown = HealthCheckRequest {
            service: "no-such-service".to_owned(),
        };
        let mut unknown = client.watch(unknown).await.unwrap().into_inner();
        assert_eq!(next(&mut unknown).await, ServingStatus::ServiceUnknown);

        for name in ["readiness", "inference-extension"] {
            let request = HealthCheckRequest {
                service: name.to_owned(),
            };
            let mut watch = client.watch(request).await.unwrap().into_inner();
            assert_eq!(next(&mut watch).await, ServingStatus::Serving);
            watches.push(watch);
        }
    }
    stack.picker.child.signal(Signal::SIGTERM).unwrap();
    for mut watch in watches {
        assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
    }
}

async fn next(watch: &mut Streaming<HealthCheckResponse>) -> ServingStatus {
    let message = wait::answer("a change of health", watch.message()).await;
    message
        .expect("in time")
        .expect("no error")
        .expect("no end")
        .status()
}

const NAMES: [&str; 5] = [
    "",
    "liveness",
    "readiness",
    "inference-extension",
    "envoy.service.ext_proc.v3.ExternalProcessor",
];
