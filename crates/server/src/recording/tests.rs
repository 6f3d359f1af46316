use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;

use bytes::Bytes;
use parking_lot::Mutex;
use pointsman_domain::block::{BLOCKS_MAX, BlockHash, BlockSize};
use pointsman_domain::decision::Decision;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_domain::facts::RequestFacts;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::Input;
use pointsman_pipeline::record::reader::Reader;
use pointsman_pipeline::record::{Configuration, End, EndReason, FORMAT, Line};
use pointsman_policy::config;
use pointsman_request::head::Head;
use pointsman_request::read::with_body;

use super::*;
use crate::metrics::Metrics;
use crate::pool::{Answer, PoolDoor};
use crate::record::Recorder;

/// A disk that keeps what it is given.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<u8>>>);

impl Disk {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
    }

    /// The steps and the end of the recording on it. Every line must be in its place.
    fn recording(&self) -> (Vec<Step>, Option<End>) {
        let (mut steps, mut end) = (Vec::new(), None);
        let mut reader = Reader::default();
        for text in self.bytes().split_inclusive(|&byte| byte == b'\n') {
            match reader.read(text).unwrap() {
                Line::Header(header) => assert_eq!(header, self::header()),
                Line::Entry(entry) => steps.push(entry.step),
                Line::End(last) => end = Some(last),
            }
        }
        reader.finish().unwrap();
        (steps, end)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that does what `before` says before it takes the bytes that follow the header.
struct Troubled<F> {
    disk: Disk,
    before: F,
}

impl<F: FnMut() -> io::Result<()>> Write for Troubled<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.disk.bytes().is_empty() {
            (self.before)()?;
        }
        self.disk.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pool of one endpoint that is recorded.
struct Recorded {
    door: Arc<PoolDoor>,
    recording: Recording,
}

impl Recorded {
    fn to(disk: impl Write + Send + 'static, limits: Limits) -> Self {
        let recorder = Arc::new(Recorder::new(Metrics::new().unwrap()));
        let gauges = recorder.metrics.recording.clone();
        let (tape, recording) = start(disk, header(), limits, gauges).unwrap();
        let compiled = config::load("", Attachment::Gateway).unwrap();
        let (door, _lives) = PoolDoor::new(compiled.runtime, 7, 1, recorder, tape);
        door.input(Input::Endpoints(vec![EndpointSpec::new(
            "default/one".to_owned(),
            ([127, 0, 0, 1], 8000).into(),
        )]));
        Self { door, recording }
    }

    /// Sends a request through the pool.
    fn serve(&self, facts: RequestFacts) {
        let (_ticket, answer) = self.door.offer(Box::new(facts));
        assert!(matches!(answer, Answer::Now(Decision::Picked(_))));
    }

    /// Sends requests until the recording has ended, and one more.
    fn serve_until_it_ends(&self) {
        let until_it_ends = (0..REQUESTS_MAX).take_while(|_| {
            self.serve(plain());
            gauge(&self.door, ACTIVE) == "1"
        });
        assert!(until_it_ends.count() < REQUESTS_MAX, "it goes on");
        self.serve(plain());
    }

    async fn finish(self) -> Arc<PoolDoor> {
        self.door.end_recording();
        self.recording.finished().await;
        self.door
    }
}

fn gauge(door: &PoolDoor, name: &str) -> String {
    let metrics = &door.recorder().metrics;
    let page = metrics.render("", &[], door.sizes(), 0).unwrap();
    let mut lines = page.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().to_owned()
}

fn header() -> Header {
    Header {
        format: FORMAT,
        version: "0".to_owned(),
        pool: "default".to_owned(),
        seed: 7,
        configuration: Configuration::new(String::new(), Attachment::Gateway),
    }
}

fn plain() -> RequestFacts {
    RequestFacts::passthrough(BlockSize::DEFAULT)
}

fn kinds(steps: &[Step]) -> Vec<&'static str> {
    steps.iter().map(Step::kind).collect()
}

const ROOMY: Limits = Limits::of_bytes(1 << 30);
const ACTIVE: &str = "pointsman_recording_active";
const REQUESTS_MAX: usize = 100_000;

#[tokio::test]
async fn every_step_is_written_in_its_order_and_then_the_end() {
    let disk = Disk::default();
    let recorded = Recorded::to(disk.clone(), ROOMY);
    assert_eq!(gauge(&recorded.door, ACTIVE), "1");
    recorded.serve(plain());
    recorded.door.input(Input::ShutDown);
    let door = recorded.finish().await;

    let (steps, end) = disk.recording();
    assert_eq!(kinds(&steps), ["endpoints", "offer", "ended", "shut_down"]);
    let (entries, reason) = (4, EndReason::Complete);
    assert_eq!(end, Some(End { entries, reason }));
    assert_eq!(gauge(&door, ACTIVE), "0");
    let bytes = disk.bytes().len().to_string();
    assert_eq!(gauge(&door, "pointsman_recording_bytes"), bytes);
}

#[tokio::test]
async fn a_panic_and_what_came_of_it_are_steps_too() {
    let disk = Disk::default();
    let recorded = Recorded::to(disk.clone(), ROOMY);
    recorded.door.panic_over(Input::Expire);
    recorded.serve(plain());
    recorded.finish().await;
    let (steps, _) = disk.recording();
    let expected = ["endpoints", "panicked", "recover", "offer", "ended"];
    assert_eq!(kinds(&steps), expected);
}

#[tokio::test]
async fn a_full_queue_ends_the_recording_and_slows_no_request() {
    let (hold, held) = mpsc::channel::<()>();
    let disk = Disk::default();
    let stuck = Troubled {
        disk: disk.clone(),
        // Waits until the test lets go.
        before: move || held.recv().or(Ok(())),
    };
    let limits = Limits {
        entries_waiting_max: 4,
        ..ROOMY
    };
    let recorded = Recorded::to(stuck, limits);
    recorded.serve_until_it_ends();
    drop(hold);
    recorded.finish().await;

    let (steps, end) = disk.recording();
    let (entries, reason) = (steps.len() as u64, EndReason::QueueFull);
    assert_eq!(end, Some(End { entries, reason }));
}

#[tokio::test]
async fn a_queue_that_is_full_of_bytes_ends_the_recording_however_few_its_entries() {
    let (hold, held) = mpsc::channel::<()>();
    let disk = Disk::default();
    let stuck = Troubled {
        disk: disk.clone(),
        before: move || held.recv().or(Ok(())),
    };
    let limits = Limits {
        bytes_waiting_max: 1 << 20,
        ..ROOMY
    };
    let recorded = Recorded::to(stuck, limits);
    let long = || {
        let mut facts = plain();
        facts.prompt.blocks = vec![BlockHash(1); BLOCKS_MAX];
        facts
    };
    // Sixty-four prompts of 16 KiB are a mebibyte.
    let served = (0..64).take_while(|_| {
        recorded.serve(long());
        gauge(&recorded.door, ACTIVE) == "1"
    });
    let served = served.count();
    assert!((32..64).contains(&served), "it ends after {served}");
    drop(hold);
    recorded.finish().await;
    let end = disk.recording().1.unwrap();
    assert_eq!(end.reason, EndReason::QueueFull);
}

#[test]
fn what_was_written_waits_no_more() {
    let entries = (0..3).map(|sequence| Entry {
        sequence,
        now: Timestamp::ZERO,
        step: Step::Input(Input::Expire),
        outputs: Vec::new(),
    });
    let (sender, taken) = sync_channel(3);
    let backlog = Backlog::default();
    for entry in entries {
        backlog.bytes.fetch_add(size::of(&entry), Ordering::Relaxed);
        sender.send(entry).unwrap();
    }
    drop(sender);
    let gauges = Metrics::new().unwrap().recording.clone();
    let writer = writer::Writer::new(Disk::default(), header(), 1 << 20, gauges).unwrap();
    writer.run(&taken, &backlog);
    assert_eq!(backlog.bytes.into_inner(), 0);
}

#[tokio::test]
async fn a_recording_ends_at_its_size_and_serving_goes_on() {
    let disk = Disk::default();
    let recorded = Recorded::to(disk.clone(), Limits::of_bytes(20_000));
    recorded.serve_until_it_ends();
    recorded.finish().await;

    let (steps, end) = disk.recording();
    let (entries, reason) = (steps.len() as u64, EndReason::BytesMax);
    assert_eq!(end, Some(End { entries, reason }));
    let bytes = disk.bytes().len();
    assert!((18_000..=20_000).contains(&bytes), "{bytes} bytes");
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_recording_and_serving_goes_on() {
    let disk = Disk::default();
    let failing = Troubled {
        disk: disk.clone(),
        before: || Err(io::Error::other("no space is left")),
    };
    let recorded = Recorded::to(failing, ROOMY);
    recorded.serve_until_it_ends();
    recorded.finish().await;
    assert_eq!(disk.recording(), (Vec::new(), None));
}

#[tokio::test]
async fn what_has_no_form_in_a_recording_ends_it() {
    let disk = Disk::default();
    let recorded = Recorded::to(disk.clone(), ROOMY);
    let compiled = config::load("", Attachment::Gateway).unwrap();
    let next = Box::new(compiled.runtime);
    recorded.door.input(Input::Configure(next));
    recorded.serve_until_it_ends();
    recorded.finish().await;
    let (steps, end) = disk.recording();
    assert_eq!(kinds(&steps), ["endpoints"]);
    let (entries, reason) = (1, EndReason::Unwritable);
    assert_eq!(end, Some(End { entries, reason }));
}

#[test]
fn what_was_taken_is_on_the_disk_within_about_a_second_without_an_end() {
    let (wrote, written) = mpsc::channel();
    let disk = Disk::default();
    let watched = Troubled {
        disk: disk.clone(),
        before: move || wrote.send(()).or(Ok(())),
    };
    let recorded = Recorded::to(watched, ROOMY);
    // Long enough for any machine; a flush that never comes fails here.
    written.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(recorded);
    // The writer has gone, and with it the sender.
    while written.recv().is_ok() {}
    assert_eq!(kinds(&disk.recording().0), ["endpoints"]);
}

#[tokio::test]
async fn neither_prompts_nor_salts_are_in_the_bytes_but_names_are() {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", b"/v1/chat/completions");
    head.header("x-llm-d-inference-fairness-id", b"tenant-7");
    let prompt = "attack at dawn ".repeat(40);
    let body = format!(
        r#"{{"model":"llama","cache_salt":"hunter2","messages":[{{"role":"user","content":"{prompt}"}}]}}"#
    );
    let facts = with_body(&head, &[Bytes::from(body)], BlockSize::DEFAULT)
        .unwrap()
        .facts;
    assert!(facts.cache_salt.is_some() && facts.prompt.blocks.len() > 1);
    let disk = Disk::default();
    let recorded = Recorded::to(disk.clone(), ROOMY);
    recorded.serve(facts);
    recorded.finish().await;

    let text = String::from_utf8(disk.bytes()).unwrap();
    for secret in ["attack", "dawn", "hunter2"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for name in ["llama", "tenant-7", "default/one", "127.0.0.1:8000"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn a_file_is_made_for_its_owner_alone_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    create(&path).unwrap().write_all(b"kept").unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let error = format!("{:#}", create(&path).unwrap_err());
    assert!(
        error.contains("run.jsonl") && error.contains("never overwrites"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    let error = format!(
        "{:#}",
        create(&folder.path().join("none/run.jsonl")).unwrap_err()
    );
    assert!(error.contains("none/run.jsonl"), "{error}");
}

#[tokio::test]
async fn a_recording_that_is_discarded_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let gauges = Metrics::new().unwrap().recording.clone();
    let (mut tape, recording) = start_file(&path, header(), ROOMY, gauges.clone()).unwrap();
    assert!(path.exists());
    tape.end();
    recording.discarded().await;
    assert!(!path.exists());

    start_file(&path, header(), Limits::of_bytes(100), gauges).unwrap_err();
    assert!(!path.exists());
}

#[test]
fn a_limit_without_room_for_the_header_is_an_error() {
    let gauges = Metrics::new().unwrap().recording.clone();
    let started = start(Disk::default(), header(), Limits::of_bytes(100), gauges);
    let error = format!("{:#}", started.unwrap_err());
    assert!(error.contains("--record-bytes-max"), "{error}");
}
