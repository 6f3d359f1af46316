use std::net::TcpListener;
use std::path::Path;

use pointsman_pipeline::config::Attachment;
use pointsman_policy::config;

use super::*;
use crate::flags;

/// A picker that records to `path`, on free ports but that of the admin server.
fn picker(path: &Path, metrics_port: u16) -> Result<(Picker, Opening)> {
    let path = path.to_str().unwrap();
    let metrics_port = metrics_port.to_string();
    let fixed = [
        "pointsman-epp",
        "--bind-address=127.0.0.1",
        "--secure-serving=false",
        "--grpc-port=0",
        "--grpc-health-port=0",
    ];
    let given = ["--metrics-port", &metrics_port, "--record", path];
    let (flags, _) = flags::parse(fixed.iter().chain(&given)).unwrap();
    let compiled = config::load("", Attachment::Gateway).unwrap();
    let given = Configuration::new(String::new(), Attachment::Gateway);
    Picker::new(flags, Configured { given, compiled })
}

#[tokio::test]
async fn a_start_that_fails_leaves_no_recording_in_the_way_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    for _ in 0..2 {
        let (picker, opening) = picker(&path, port).unwrap();
        let error = format!("{:#}", picker.open(opening).await.unwrap_err());
        assert!(error.contains("for admin"), "{error}");
        picker.discard().await;
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn a_picker_that_is_stopped_before_it_is_open_ends_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (picker, _opening) = picker(&path, 0).unwrap();
    picker.stop().await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.ends_with("\"reason\":\"complete\"}}\n"), "{text}");
}
