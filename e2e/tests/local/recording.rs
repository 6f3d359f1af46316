//! A recorded run, replayed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use pointsman_cli::harness::binaries;
use pointsman_e2e::case::{Case, arguments, slow};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::{exposition, wait};
use serde_json::{Value, json};
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_run_replays_identically_and_a_changed_digit_is_found() {
    let case = Case::begin().await.unwrap();
    let path = case.folder().join("run.jsonl");
    record(&case, &path).await.unwrap();

    let text = fs::read_to_string(&path).unwrap();
    for secret in ["Tell me", "once upon", "hunter2"] {
        assert!(!text.contains(secret), "{secret:?} is in the recording");
    }
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let (code, report) = replay(&path).await.unwrap();
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["verdict"], "identical", "{report}");
    assert_eq!(report["end"], "complete", "{report}");
    assert_eq!(report["decisions"], REQUESTS, "{report}");
    assert_eq!(report["steps"]["ended"], REQUESTS, "{report}");
    assert!(
        report["steps"]["scrape_done"].as_u64() > Some(10),
        "{report}"
    );

    let at = text.find("{\"decided\":").unwrap();
    let line = text[..at].matches('\n').count() + 1;
    let changed = text[at..].replacen("\"generation\":1", "\"generation\":2", 1);
    fs::write(&path, [&text[..at], &changed].concat()).unwrap();
    let (code, report) = replay(&path).await.unwrap();
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["verdict"], "different", "{report}");
    assert_eq!(report["difference"]["line"], line as u64, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_never_overwritten() {
    let case = Case::begin().await.unwrap();
    let path = case.folder().join("run.jsonl");
    fs::write(&path, "kept").unwrap();
    let mut command = Command::new(binaries::pointsman_epp().unwrap());
    command.arg("--record").arg(&path).kill_on_drop(true);
    let output = wait::answer("the picker's end", command.output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("run.jsonl"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_leaves_no_recording_behind() {
    let case = Case::begin().await.unwrap();
    let path = case.folder().join("run.jsonl");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().port().to_string();
    let mut command = Command::new(binaries::pointsman_epp().unwrap());
    command
        .args(["--bind-address", "127.0.0.1", "--metrics-port", &taken])
        .args(["--grpc-port", "0", "--grpc-health-port", "0", "--record"])
        .arg(&path)
        .kill_on_drop(true);
    let output = wait::answer("the picker's end", command.output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("for admin"), "{text}");
    assert!(!path.exists(), "{text}");
}

/// Runs a setup that is recorded: chats that share beginnings, and one client that leaves.
async fn record(case: &Case, path: &Path) -> Result<()> {
    let mut options = slow(3);
    options.picker.arguments = arguments(&["--record", path.to_str().context("a path")?]);
    let mut stack = case.stack(options).await?;
    let client = Client::new(stack.address(), Protocol::Http1);
    for turn in 0..CHATS {
        let story = "once upon a time ".repeat(40 * (turn % 3));
        let mut chat = Chat::new(&story, 2);
        chat.say(&format!("Tell me about {turn}."));
        let form = [Form::Plain, Form::Stream][turn % 2];
        client.chat(&chat, form).await?;
    }
    let salted = json!({
        "model": chat::MODEL,
        "messages": [{ "role": "user", "content": "Tell me." }],
        "cache_salt": "hunter2",
        "max_tokens": 1,
    });
    let reply = client.post(chat::PATH, salted.to_string()).await?;
    ensure!(reply.status.is_success(), "{reply:?}");
    let leaving = client.stream(&Chat::new("a long story", 4000)).await?;
    drop(leaving);
    let left = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_in_flight", &[], 0.0)?;
        exposition::expect(&page, "pointsman_recording_active", &[], 1.0)
    };
    wait::until("nothing is in flight", Duration::from_secs(5), left).await?;
    stack.picker.child.stop(Duration::from_secs(10)).await?;
    Ok(())
}

/// Demands the same answers; the exit code and the report.
async fn replay(path: &Path) -> Result<(Option<i32>, Value)> {
    let mut command = Command::new(binaries::pointsman()?);
    command
        .args(["lab", "replay", "--verify", "--json"])
        .arg(path);
    let output = wait::answer("the replay", command.kill_on_drop(true).output()).await??;
    Ok((
        output.status.code(),
        serde_json::from_slice(&output.stdout)?,
    ))
}

const CHATS: usize = 12;
/// The chats, the one with a salt, and the one whose client leaves.
const REQUESTS: u64 = CHATS as u64 + 2;
