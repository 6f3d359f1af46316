use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::advance;

use super::*;

pub(crate) const ENDPOINT: EndpointId = EndpointId {
    slot: 3,
    generation: 5,
};
/// What this test takes for another page than the one that it asked for.
const FOREIGN: &str = "something else";
const PAGE: &str = "The first line of a page.\nAnd its last one.\n";

#[derive(Clone, Debug, PartialEq)]
enum Report {
    Begun,
    Read(String),
    Failed(PageFailure),
}

/// Keeps the reports, and cancels the loop with the last one that is wanted.
struct Reports {
    wanted: usize,
    cancel: CancellationToken,
    all: Mutex<Vec<Report>>,
    begun_at: Mutex<Vec<Instant>>,
}

impl Reports {
    fn new(wanted: usize) -> Self {
        Self {
            wanted,
            cancel: CancellationToken::new(),
            all: Mutex::default(),
            begun_at: Mutex::default(),
        }
    }

    fn add(&self, report: Report) {
        let mut all = self.all.lock().unwrap();
        all.push(report);
        if all.len() == self.wanted {
            self.cancel.cancel();
        }
    }

    fn all(&self) -> Vec<Report> {
        self.all.lock().unwrap().clone()
    }

    /// The times from one reading to the next.
    fn gaps(&self) -> Vec<Duration> {
        let begun_at = self.begun_at.lock().unwrap();
        begun_at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

impl Visit for Reports {
    fn begun(&self) {
        self.begun_at.lock().unwrap().push(Instant::now());
        self.add(Report::Begun);
    }

    fn read(&self, page: &mut Vec<u8>) -> Result<(), PageFailure> {
        let text = String::from_utf8(page.clone()).unwrap();
        if text == FOREIGN {
            return Err(PageFailure::Foreign);
        }
        self.add(Report::Read(text));
        Ok(())
    }

    fn failed(&self, failure: PageFailure) {
        self.add(Report::Failed(failure));
    }
}

/// Settings with which nothing but the test's server decides when something happens.
pub(crate) fn settings() -> PageSettings {
    PageSettings {
        path: "/page".to_owned(),
        interval: Duration::from_millis(1),
        timeout: Duration::from_secs(60),
        back_off_max: Duration::from_secs(1),
        body_bytes_max: 100,
    }
}

/// The endpoint at `address`, asked without delay.
pub(crate) const fn target(address: SocketAddr) -> Target {
    Target {
        endpoint: ENDPOINT,
        address,
        phase: Duration::ZERO,
    }
}

pub(crate) fn whole(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn chunked(chunks: &[&str]) -> String {
    let mut answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for chunk in chunks {
        answer += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
    }
    answer + "0\r\n\r\n"
}

fn read(text: &str) -> Report {
    Report::Read(text.to_owned())
}

pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A port that is bound, so that nobody else gets it, but not listening.
fn closed_port() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Reads one request's head; `None` when the connection ends.
pub(crate) async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Answers any number of requests on one connection after the other.
pub(crate) async fn serve(listener: TcpListener, answer: String) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        while read_head(&mut stream).await.is_some() {
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }
}

/// Runs a loop against a server that always gives `answer`, up to the first result.
async fn read_once(answer: String) -> Report {
    let (listener, address) = listen().await;
    let reports = Reports::new(2);
    run_beside(serve(listener, answer), settings(), address, &reports).await;
    let all = reports.all();
    assert_eq!((all.len(), &all[0]), (2, &Report::Begun));
    all[1].clone()
}

/// Runs a loop until it is cancelled, beside a future that never ends.
async fn run_beside(
    server: impl Future<Output = ()>,
    settings: PageSettings,
    address: SocketAddr,
    reports: &Reports,
) {
    let reader = reader(settings);
    let cancel = reports.cancel.clone();
    tokio::select! {
        () = server => panic!("the server ended"),
        () = reader.run(target(address), reports, cancel) => {}
    }
}

fn reader(settings: PageSettings) -> PageReader {
    let client = PageClient::new(settings.timeout);
    PageReader::new(client, settings, HeaderValue::from_static("text/odd"))
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now().await;
    }
}

#[tokio::test]
async fn a_page_is_read_whole_however_it_comes() {
    assert_eq!(read_once(whole("200 OK", PAGE)).await, read(PAGE));
    let (head, tail) = PAGE.split_at(25);
    let answer = chunked(&[head, tail]);
    assert_eq!(read_once(answer).await, read(PAGE));
}

#[tokio::test]
async fn readings_ask_for_path_and_format_and_share_one_connection() {
    let (listener, address) = listen().await;
    let server = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        loop {
            let head = read_head(&mut stream).await.unwrap();
            assert!(
                head.starts_with("GET /page?format=text HTTP/1.1\r\n"),
                "{head}"
            );
            assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
            assert!(head.contains("accept: text/odd\r\n"), "{head}");
            let answer = whole("200 OK", PAGE);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    let reports = Reports::new(6);
    let settings = PageSettings {
        path: "/page?format=text".to_owned(),
        ..settings()
    };
    run_beside(server, settings, address, &reports).await;
    let expected = [Report::Begun, read(PAGE)];
    assert_eq!(reports.all(), [expected.as_slice(); 3].concat());
}

#[tokio::test]
async fn any_other_status_than_200_is_a_failure() {
    for (status, code) in [
        ("500 Internal Server Error", 500),
        ("404 Not Found", 404),
        ("302 Found", 302),
    ] {
        let failed = Report::Failed(PageFailure::Status(code));
        assert_eq!(read_once(whole(status, PAGE)).await, failed);
    }
}

#[tokio::test]
async fn a_page_over_the_limit_is_given_up() {
    let too_large = Report::Failed(PageFailure::TooLarge);
    let piece = "x".repeat(60);
    assert_eq!(
        read_once(whole("200 OK", &"x".repeat(101))).await,
        too_large
    );
    assert_eq!(read_once(chunked(&[&piece, &piece])).await, too_large);
    let fits = chunked(&[&piece, &piece[..40]]);
    assert_eq!(read_once(fits).await, read(&"x".repeat(100)));
}

#[tokio::test]
async fn an_answer_that_is_no_http_or_is_cut_is_broken() {
    let broken = Report::Failed(PageFailure::Broken);
    assert_eq!(read_once("SSH-2.0-server\r\n\r\n".to_owned()).await, broken);
    let (listener, address) = listen().await;
    let cutting = async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await.unwrap();
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nThe first";
            stream.write_all(head).await.unwrap();
        }
    };
    let reports = Reports::new(2);
    run_beside(cutting, settings(), address, &reports).await;
    assert_eq!(reports.all(), [Report::Begun, broken]);
}

#[tokio::test]
async fn a_page_that_its_reader_does_not_take_is_a_failure_like_any_other() {
    let foreign = Report::Failed(PageFailure::Foreign);
    assert_eq!(read_once(whole("200 OK", FOREIGN)).await, foreign);
}

#[tokio::test]
async fn a_closed_port_refuses_and_is_asked_again() {
    let (_socket, address) = closed_port();
    let reports = Reports::new(4);
    run_beside(core::future::pending(), settings(), address, &reports).await;
    let refused = [Report::Begun, Report::Failed(PageFailure::Refused)];
    assert_eq!(reports.all(), [refused.as_slice(); 2].concat());
}

#[tokio::test]
async fn an_endpoint_that_comes_back_is_read_again() {
    let (listener, address) = listen().await;
    let server = async move {
        for status in ["503 Service Unavailable", "200 OK"] {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await.unwrap();
            let answer = whole(status, PAGE);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        core::future::pending().await
    };
    let reports = Reports::new(4);
    run_beside(server, settings(), address, &reports).await;
    let failed = Report::Failed(PageFailure::Status(503));
    let expected = [Report::Begun, failed, Report::Begun, read(PAGE)];
    assert_eq!(reports.all(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_never_answers_times_out() {
    let (listener, address) = listen().await;
    let silent = async move {
        let _held = listener.accept().await.unwrap();
        core::future::pending().await
    };
    let reports = Reports::new(2);
    run_beside(silent, settings(), address, &reports).await;
    let expected = [Report::Begun, Report::Failed(PageFailure::TimedOut)];
    assert_eq!(reports.all(), expected);
}

#[tokio::test(start_paused = true)]
async fn b54_a_slow_reading_leaves_out_the_ticks_that_it_missed() {
    let (listener, address) = listen().await;
    let (released, done) = (Notify::new(), whole("200 OK", PAGE));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await.unwrap();
        released.notified().await;
        stream.write_all(done.as_bytes()).await.unwrap();
        while read_head(&mut stream).await.is_some() {
            stream.write_all(done.as_bytes()).await.unwrap();
        }
    };
    let reports = Reports::new(5);
    // The clock moves only where this says so: it never rests, and so the runtime never does.
    let clock = async {
        until(|| reports.all().len() == 1).await;
        advance(Duration::from_secs(35)).await;
        released.notify_one();
        until(|| reports.all().len() >= 4).await;
        advance(Duration::from_secs(5)).await;
        until(|| false).await;
    };
    let settings = PageSettings {
        interval: Duration::from_secs(10),
        timeout: Duration::from_secs(3600),
        ..settings()
    };
    let server = async {
        tokio::join!(server, clock);
    };
    run_beside(server, settings, address, &reports).await;
    // The overdue tick comes at once, and then none before the next full one.
    assert_eq!(reports.gaps(), [35, 5].map(Duration::from_secs));
}

#[tokio::test(start_paused = true)]
async fn b55_an_endpoint_that_fails_is_asked_less_and_less_often() {
    let (_socket, address) = closed_port();
    let reports = Reports::new(9);
    // Never rests either, and gives the sockets some turns before each step.
    let clock = async {
        loop {
            for _ in 0..100 {
                yield_now().await;
            }
            advance(Duration::from_millis(1)).await;
        }
    };
    let settings = PageSettings {
        interval: Duration::from_millis(20),
        ..settings()
    };
    run_beside(clock, settings, address, &reports).await;
    let gaps = reports.gaps();
    for (gap, expected) in gaps.iter().zip([20, 40, 80, 160]) {
        assert!(*gap >= Duration::from_millis(expected) * 9 / 10, "{gaps:?}");
    }
    assert_eq!(gaps.len(), 4);
}

#[tokio::test]
async fn cancelling_ends_the_loop_within_a_reading_without_a_report() {
    let (_listener, address) = listen().await;
    let reports = Reports::new(1);
    run_beside(core::future::pending(), settings(), address, &reports).await;
    assert_eq!(reports.all(), [Report::Begun]);
}

#[tokio::test]
async fn cancelling_ends_the_loop_before_its_first_reading() {
    let (_listener, address) = listen().await;
    let reports = Reports::new(9);
    let (reader, cancel) = (reader(settings()), CancellationToken::new());
    let target = Target {
        phase: Duration::from_secs(3600),
        ..target(address)
    };
    let running = reader.run(target, &reports, cancel.clone());
    tokio::join!(running, async { cancel.cancel() });
    assert_eq!(reports.all(), []);
}

#[test]
fn b13_an_ipv6_address_is_in_brackets() {
    let address = "[fd00:1::5]:8000".parse().unwrap();
    let uri = page_uri(address, "/metrics").unwrap();
    assert_eq!(uri.to_string(), "http://[fd00:1::5]:8000/metrics");
    assert_eq!(page_uri(address, "metrics"), None);
}

#[test]
fn phases_spread_over_the_interval() {
    let interval = Duration::from_millis(100);
    let mut phases: Vec<_> = (0..8).map(|slot| phase(slot, interval)).collect();
    phases.sort_unstable();
    assert_eq!(phases[0], Duration::ZERO);
    assert!(phases[7] < interval);
    for pair in phases.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap > Duration::from_millis(4) && gap < Duration::from_millis(25));
    }
}

#[test]
fn the_wait_after_failures_grows_to_a_limit_or_to_the_interval() {
    let (short, wait_max) = (Duration::from_millis(50), Duration::from_secs(1));
    let waits: Vec<_> = (1..8)
        .map(|failures| back_off(failures, short, wait_max, 0))
        .collect();
    let millis = [50, 100, 200, 400, 800, 1000, 1000].map(Duration::from_millis);
    assert_eq!(waits, millis);
    let long = Duration::from_secs(5);
    assert_eq!(back_off(9, long, wait_max, 0), long);
    for failures in [32, 33, u32::MAX] {
        assert_eq!(back_off(failures, INTERVAL_MIN, wait_max, 0), wait_max);
    }
    for slot in 0..1000 {
        let wait = back_off(9, short, wait_max, slot);
        assert!(wait > wait_max * 9 / 10 && wait <= wait_max);
    }
    assert_ne!(
        back_off(9, short, wait_max, 1),
        back_off(9, short, wait_max, 2)
    );
}
