//! `pointsman bench`: the load generator and its comparison, as a program of its own.

use core::time::Duration;
use std::process::{Output, Stdio};

use pointsman_cli::harness::child::Child;
use pointsman_cli::harness::picker::{Picker, PickerOptions};
use pointsman_cli::harness::{binaries, endpoints, ports};
use pointsman_e2e::case::Case;
use pointsman_e2e::wait;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn the_picker_is_measured_against_the_floor_without_an_error() {
    let _case = Case::begin().await.unwrap();
    let arguments = [
        "--against=floor",
        "--prompt-bytes=1k",
        "--requests=200",
        "--json",
    ];
    let (code, report) = bench(&arguments).await;
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["ratio_to"], "floor");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1);
    let pickers = cells[0]["pickers"].as_array().unwrap();
    let names: Vec<_> = pickers.iter().map(|picker| &picker["name"]).collect();
    assert_eq!(names, ["pointsman-epp", "floor"]);
    for picker in pickers {
        assert_eq!(
            picker["requests"], 600,
            "200 in each of 3 rounds: {picker:#}"
        );
        assert_eq!(picker["errors"], json!({}), "{picker:#}");
        let median = &picker["median"];
        for figure in ["picks_per_s", "peak_mb"] {
            assert!(median[figure].as_f64().unwrap() > 0.0, "{picker:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enough_requests_tell_what_they_cost() {
    let _case = Case::begin().await.unwrap();
    let arguments = [
        "--against=floor",
        "--prompt-bytes=16k",
        "--events=500",
        "--requests=5000",
        "--rounds=1",
        "--json",
    ];
    let (code, report) = bench(&arguments).await;
    assert_eq!(code, Some(0), "{report:#}");
    for picker in report["cells"][0]["pickers"].as_array().unwrap() {
        let cost = picker["median"]["cpu_s_per_10k"].as_f64();
        assert!(cost.is_some_and(|cost| cost > 0.0), "{picker:#}");
        assert!(picker["ratio"]["cpu"].as_f64().unwrap() > 0.0, "{picker:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_of_something_else_is_refused() {
    let case = Case::begin().await.unwrap();
    let address = ports::free_address().unwrap();
    let mut floor = std::process::Command::new(binaries::pointsman().unwrap());
    floor.args(["bench", "floor", "--listen", &address.to_string()]);
    let mut floor = Child::start("floor", floor, case.folder()).unwrap();
    let connects = async || Ok(TcpStream::connect(address).await.map(drop)?);
    floor
        .ready(Duration::from_secs(10), connects)
        .await
        .unwrap();
    // It waits for an input that never comes.
    let mut idle = Command::new("cat")
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let _input = idle.stdin.take();
    let target = format!("--target=wrong={address}@{}", idle.id().unwrap());
    let output = output(&[&target, "--prompt-bytes=1k", "--requests=1000"]).await;
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("(cat) is not the one that answers"), "{text}");
    assert!(!text.contains("logs are in"), "nothing was started: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_body_mode_is_measured_over_tls_in_an_open_loop() {
    let _case = Case::begin().await.unwrap();
    let arguments = [
        "--tls",
        "--body-mode=duplex,headers-only,streamed,buffered",
        "--prompt-bytes=16k",
        "--rate=200",
        "--requests=50",
        "--rounds=1",
        "--json",
    ];
    let (code, report) = bench(&arguments).await;
    assert_eq!(code, Some(0), "{report:#}");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(cell["rate"], 200.0);
        assert_eq!(cell["pickers"][0]["requests"], 50, "{cell:#}");
        assert_eq!(cell["pickers"][0]["errors"], json!({}), "{cell:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_fail_are_told_by_kind_and_make_the_command_fail() {
    let case = Case::begin().await.unwrap();
    let endpoints = case.folder().join("endpoints.yaml");
    endpoints::write(&endpoints, &[]).unwrap();
    let picker = Picker::start(PickerOptions::default_profile(), &endpoints, case.folder())
        .await
        .unwrap();
    let (address, pid) = (picker.addresses.ext_proc, picker.child.id());
    let target = format!("--target=empty={address}@{pid}");
    let arguments = [&target, "--prompt-bytes=1k", "--requests=20", "--json"];
    let (code, report) = bench(&arguments).await;
    assert_eq!(code, Some(1), "{report:#}");
    let picker = &report["cells"][0]["pickers"][0];
    assert_eq!(picker["name"], "empty");
    assert_eq!(
        picker["errors"],
        json!({ "answered here with status 503": 60 })
    );
    assert!(picker["median"]["peak_mb"].as_f64().unwrap() > 0.0);
}

/// Runs the command; its exit code, and what it printed.
async fn bench(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = output(arguments).await;
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(&output.stderr);
        panic!("no JSON: {error}\n{text}");
    });
    (output.status.code(), report)
}

async fn output(arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::pointsman().expect("the command is built"));
    command.arg("bench").args(arguments).kill_on_drop(true);
    wait::answer("the end of the bench", command.output())
        .await
        .and_then(|output| Ok(output?))
        .expect("the command runs")
}
