use super::*;

fn shell(script: &str, folder: &Path) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Child::start("script", command, folder).unwrap()
}

fn exists(id: u32) -> bool {
    kill(Pid::from_raw(i32::try_from(id).unwrap()), None).is_ok()
}

const WAIT_MAX: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_child_that_ends_before_it_is_ready_is_reported_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = shell("echo no such port >&2; exit 7", folder.path());
    let error = child
        .ready(WAIT_MAX, async || bail!("not yet"))
        .await
        .unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("exit status: 7"), "{text}");
    assert!(text.contains("no such port"), "{text}");
}

#[tokio::test]
async fn a_child_that_is_never_ready_is_reported_with_what_was_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = shell("exec sleep 600", folder.path());
    let error = child
        .ready(Duration::ZERO, async || bail!("the door is closed"))
        .await
        .unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("script was not ready"), "{text}");
    assert!(text.contains("the door is closed"), "{text}");
}

#[tokio::test]
async fn a_dropped_child_is_gone_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("grandchild");
    let script = format!(
        "sleep 600 & echo $! > {}.new && mv {0}.new {0}; wait",
        note.display()
    );
    let mut child = shell(&script, folder.path());
    child
        .ready(WAIT_MAX, async || Ok(fs::metadata(&note).map(drop)?))
        .await
        .unwrap();
    let (id, grandchild) = (child.id(), fs::read_to_string(&note).unwrap());
    drop(child);
    assert!(!exists(id));
    // It is adopted by another process, which reaps it in its own time.
    let stat = format!("/proc/{}/stat", grandchild.trim());
    let ended = || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    let deadline = Instant::now() + WAIT_MAX;
    while !ended() && Instant::now() < deadline {
        sleep(POLL_INTERVAL).await;
    }
    assert!(ended());
}

#[tokio::test]
async fn a_child_that_obeys_is_stopped_with_its_own_status() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("listening");
    let script = format!(
        "trap 'exit 5' TERM; echo > {}; while :; do sleep 0.01; done",
        note.display()
    );
    let mut child = shell(&script, folder.path());
    child
        .ready(WAIT_MAX, async || Ok(fs::metadata(&note).map(drop)?))
        .await
        .unwrap();
    assert_eq!(child.stop(WAIT_MAX).await.unwrap().code(), Some(5));
}

#[tokio::test]
async fn a_child_that_does_not_obey_is_killed_and_that_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("deaf");
    let script = format!(
        "trap '' TERM; echo > {}; while :; do sleep 0.01; done",
        note.display()
    );
    let mut child = shell(&script, folder.path());
    child
        .ready(WAIT_MAX, async || Ok(fs::metadata(&note).map(drop)?))
        .await
        .unwrap();
    assert!(child.stop(Duration::from_millis(50)).await.is_err());
    assert!(child.exit_status().unwrap().is_some());
}
