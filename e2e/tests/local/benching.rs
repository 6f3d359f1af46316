//! `pointsman bench`: the load generator and its comparison, as a program of its own.

use pointsman_cli::harness::picker::{Picker, PickerOptions};
use pointsman_cli::harness::{binaries, endpoints};
use pointsman_e2e::case::Case;
use pointsman_e2e::wait;
use serde_json::{Value, json};
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
        assert!(median["cpu_s_per_10k"].is_number(), "{picker:#}");
    }
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
    let mut command = Command::new(binaries::pointsman().expect("the command is built"));
    command.arg("bench").args(arguments).kill_on_drop(true);
    let output = wait::answer("the end of the bench", command.output())
        .await
        .and_then(|output| Ok(output?))
        .expect("the command runs");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(&output.stderr);
        panic!("no JSON: {error}\n{text}");
    });
    (output.status.code(), report)
}
