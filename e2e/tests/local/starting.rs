//! Command lines and configurations that cannot be used.

use std::fs;
use std::net::TcpListener;

use anyhow::Result;
use pointsman_cli::harness::binaries;
use pointsman_e2e::case::Case;
use pointsman_e2e::wait;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_broken_configuration_ends_with_code_2_and_every_problem_in_it() {
    let case = Case::begin().await.unwrap();
    let path = case.folder().join("broken.yaml");
    let configuration = "
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControll]
plugins:
- type: queue-scorer
- type: no-such-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
    weight: -1
  - pluginRef: prefix-cache-scorerr
colour: blue
";
    fs::write(&path, configuration).unwrap();
    let (code, text) = run(&["--config-file", path.to_str().unwrap()])
        .await
        .unwrap();
    assert_eq!(code, Some(2), "{text}");
    for problem in [
        "broken.yaml",
        "featureGates[0]",
        "plugins[1]",
        "no-such-scorer",
        "schedulingProfiles[0].plugins[0].weight",
        "schedulingProfiles[0].plugins[1].pluginRef",
        "colour",
    ] {
        assert!(text.contains(problem), "{problem} is not told in:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_flag_ends_with_code_2_and_its_name() {
    let _case = Case::begin().await.unwrap();
    let (code, text) = run(&["--no-such-flag=1"]).await.unwrap();
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--no-such-flag"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_says_which_file_or_address_is_to_blame() {
    let case = Case::begin().await.unwrap();
    let missing = case.folder().join("no-endpoints.yaml");
    let configuration = format!(
        "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n\
         plugins: [{{type: file-discovery, parameters: {{path: {missing:?}}}}}]\n\
         dataLayer: {{discovery: {{pluginRef: file-discovery}}}}\n"
    );
    let free = ["--grpc-port=0", "--grpc-health-port=0", "--metrics-port=0"];
    let mut arguments = vec!["--config-text", &configuration, "--bind-address=127.0.0.1"];
    arguments.extend(free);
    let (code, text) = run(&arguments).await.unwrap();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no-endpoints.yaml"), "{text}");

    let blocker = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = blocker.local_addr().unwrap();
    let port = format!("--metrics-port={}", taken.port());
    let arguments = ["--bind-address=127.0.0.1", free[0], free[1], &port];
    let (code, text) = run(&arguments).await.unwrap();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&taken.to_string()), "{text}");
    drop(blocker);
}

/// Runs a picker that is expected to end by itself; its exit code and all that it printed.
async fn run(arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = Command::new(binaries::pointsman_epp()?);
    command.args(arguments).kill_on_drop(true);
    let output = wait::answer("the picker's end", command.output()).await??;
    let text = [output.stdout, output.stderr].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}
