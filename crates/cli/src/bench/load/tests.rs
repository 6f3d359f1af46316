mod picker;

use core::net::SocketAddr;

use pointsman_proto::ext_proc::processing_request::Request;
use tokio::net::TcpListener;

use self::picker::{Fault, Picker};
use super::*;
use crate::bench::cell::{BodyMode, Cell};
use crate::bench::connection::{self, Security};
use crate::bench::prompt::PromptSet;

const MODES: [BodyMode; 4] = [
    BodyMode::Duplex,
    BodyMode::HeadersOnly,
    BodyMode::Streamed,
    BodyMode::Buffered,
];

fn cell(mode: BodyMode, load: Load) -> Cell {
    Cell {
        mode,
        prompt_bytes: 3000,
        events: 5,
        gap: Duration::ZERO,
        load,
    }
}

fn script(cell: &Cell) -> Arc<Script> {
    let prompts = PromptSet {
        bytes: cell.prompt_bytes,
        count: 3,
        shared_percent: 50,
        seed: 1,
    };
    Arc::new(Script::new(cell, prompts.bodies()))
}

fn volume(load: Load) -> Volume {
    Volume {
        load,
        requests: 200,
        duration_max: Duration::from_secs(60),
        first_number: 0,
        streams_max: 10_000,
        seed: 1,
    }
}

async fn clients(address: SocketAddr) -> Vec<Client> {
    let connect = async || connection::connect(&address.to_string(), Security::Plain).await;
    vec![connect().await.unwrap(), connect().await.unwrap()]
}

async fn tally(address: SocketAddr, cell: &Cell, volume: &Volume) -> Tally {
    let clients = clients(address).await;
    run(&clients, &script(cell), volume, |_| {}).await.unwrap()
}

/// A floor that ends when the set is dropped.
async fn floor() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = JoinSet::new();
    let destinations = vec!["10.0.0.1:80".to_owned()];
    let serve = pointsman_floor::serve(listener, destinations, core::future::pending());
    server.spawn(async move { serve.await.unwrap() });
    (address, server)
}

#[tokio::test]
async fn a_closed_loop_leads_every_stream_of_the_floor_to_its_end() {
    let (address, _server) = floor().await;
    let load = Load::Closed { streams: 8 };
    for mode in [BodyMode::Duplex, BodyMode::HeadersOnly] {
        let tally = tally(address, &cell(mode, load), &volume(load)).await;
        assert!(tally.failures().is_empty(), "{:?}", tally.failures());
        assert_eq!(tally.succeeded(), 200);
        let (pick, whole) = (tally.pick_ms(), tally.whole_ms());
        assert!(pick.p50 > 0.0 && pick.p50 < whole.p50, "{pick:?} {whole:?}");
    }
}

#[tokio::test]
async fn an_open_loop_leads_every_stream_of_the_floor_to_its_end() {
    let (address, _server) = floor().await;
    let load = Load::Open { rate: 5000.0 };
    let tally = tally(address, &cell(BodyMode::Duplex, load), &volume(load)).await;
    assert!(tally.failures().is_empty(), "{:?}", tally.failures());
    assert_eq!(tally.succeeded(), 200);
}

#[tokio::test]
async fn a_load_ends_after_its_time_though_requests_are_left() {
    let (address, _server) = floor().await;
    for load in [Load::Closed { streams: 2 }, Load::Open { rate: 1000.0 }] {
        let volume = Volume {
            requests: u64::MAX / 2,
            duration_max: Duration::from_millis(50),
            ..volume(load)
        };
        let tally = tally(address, &cell(BodyMode::Duplex, load), &volume).await;
        assert!(tally.failures().is_empty(), "{:?}", tally.failures());
        assert!(tally.succeeded() > 0);
    }
}

#[tokio::test]
async fn a_faultless_picker_is_led_through_every_body_mode() {
    let picker = Picker::start(Fault::Nothing).await;
    let load = Load::Closed { streams: 4 };
    for mode in MODES {
        let tally = tally(picker.address, &cell(mode, load), &volume(load)).await;
        assert!(
            tally.failures().is_empty(),
            "{mode:?}: {:?}",
            tally.failures()
        );
        assert_eq!(tally.succeeded(), 200, "{mode:?}");
    }
}

#[tokio::test]
async fn every_fault_of_a_picker_is_told_and_counted() {
    for (fault, expected) in [
        (
            Fault::ChangesAByte,
            "wrong echo: other bytes than were sent",
        ),
        (Fault::NamesNoDestination, "no destination"),
        (Fault::ClosesBeforeTheResponse, "closed early"),
        (Fault::Refuses, "answered here with status 503"),
        (
            Fault::FailsTheCall,
            "gRPC status ResourceExhausted: too many streams",
        ),
        (Fault::EndsTheBodyTwice, "wrong echo: more after its end"),
    ] {
        let picker = Picker::start(fault).await;
        let load = Load::Closed { streams: 4 };
        let tally = tally(picker.address, &cell(BodyMode::Duplex, load), &volume(load)).await;
        assert_eq!(tally.succeeded(), 0, "{fault:?}");
        let failures: Vec<_> = tally.failures().iter().collect();
        assert_eq!(failures, [(&expected.to_owned(), &200)], "{fault:?}");
    }
}

#[tokio::test]
async fn a_destination_in_an_answer_to_the_body_counts_only_where_envoy_still_has_the_headers() {
    let picker = Picker::start(Fault::NamesTheDestinationWithTheBody).await;
    let load = Load::Closed { streams: 4 };
    for mode in MODES {
        let tally = tally(picker.address, &cell(mode, load), &volume(load)).await;
        let failed = tally.failures().get("no destination").copied();
        let expected = (mode != BodyMode::Buffered).then_some(200);
        assert_eq!(failed, expected, "{mode:?}: {:?}", tally.failures());
    }
}

/// An open loop of a few streams within a fifth of a second, and the moments that are planned for
/// them, from the first on.
fn short_open_loop() -> (Volume, Vec<Duration>) {
    let volume = Volume {
        requests: 20,
        ..volume(OPEN)
    };
    let moments = moments(&volume, 100).join().unwrap();
    let offsets = moments.iter().map(|moment| *moment - moments[0]);
    let offsets: Vec<Duration> = offsets.collect();
    assert_eq!(offsets.len(), 20);
    (volume, offsets)
}

/// What a pacemaker tells a reader that reads at once; the thread ends when the last one is due.
fn moments(volume: &Volume, ahead: usize) -> std::thread::JoinHandle<Vec<Instant>> {
    let pacemaker = Pacemaker::new(volume, RATE);
    std::thread::spawn(move || {
        let (sender, mut arrivals) = mpsc::channel(ahead);
        let beat = std::thread::spawn(move || pacemaker.beat(&sender));
        let moments = core::iter::from_fn(|| arrivals.blocking_recv()).collect();
        beat.join().unwrap();
        moments
    })
}

#[test]
fn moments_stay_those_that_were_planned_where_the_reader_falls_behind() {
    let (volume, planned) = short_open_loop();
    let (sender, mut arrivals) = mpsc::channel(1);
    let pacemaker = Pacemaker::new(&volume, RATE);
    let beat = std::thread::spawn(move || pacemaker.beat(&sender));
    // Until all of them are due this reader takes none.
    moments(&volume, 100).join().unwrap();
    let late: Vec<Instant> = core::iter::from_fn(|| arrivals.blocking_recv()).collect();
    beat.join().unwrap();
    let offsets: Vec<Duration> = late.iter().map(|moment| *moment - late[0]).collect();
    assert_eq!(offsets, planned);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_does_not_wait_for_answers_and_counts_their_wait() {
    let (volume, offsets) = short_open_loop();
    let (picker, mut held) = Picker::start_held().await;
    let release_all = async {
        let mut releases = Vec::new();
        while releases.len() < 20 {
            releases.push(held.recv().await.unwrap());
        }
        for release in releases {
            release.send(()).unwrap();
        }
    };
    let cell = cell(BodyMode::Duplex, OPEN);
    let (tally, ()) = tokio::join!(tally(picker.address, &cell, &volume), release_all);
    assert_eq!(tally.succeeded(), 20, "{:?}", tally.failures());
    // The first stream waited for the last one, and the one in the middle for the rest.
    assert_waited(tally.pick_ms().max, offsets[19]);
    assert_waited(tally.pick_ms().p50, offsets[19] - offsets[10]);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_an_open_loop_cannot_start_in_time_count_the_wait() {
    let (volume, offsets) = short_open_loop();
    let volume = Volume {
        streams_max: 1,
        ..volume
    };
    let (picker, mut held) = Picker::start_held().await;
    let release = async {
        let first = held.recv().await.unwrap();
        // The first was due before this begins, so that all are when it ends.
        let twin = moments(&volume, 100);
        tokio::task::spawn_blocking(|| twin.join().unwrap())
            .await
            .unwrap();
        first.send(()).unwrap();
        for _ in 1..20 {
            held.recv().await.unwrap().send(()).unwrap();
        }
    };
    let cell = cell(BodyMode::Duplex, OPEN);
    let (tally, ()) = tokio::join!(tally(picker.address, &cell, &volume), release);
    assert_eq!(tally.succeeded(), 20, "{:?}", tally.failures());
    // Though the picker held only one of them, the others behind it could not start.
    assert_waited(tally.pick_ms().max, offsets[19]);
    assert_waited(tally.pick_ms().p50, offsets[19] - offsets[10]);
}

fn assert_waited(milliseconds: f64, least: Duration) {
    // The tally keeps three digits.
    let least = least.as_secs_f64() * 999.0;
    assert!(least > 10.0, "nothing to wait for");
    assert!(milliseconds >= least, "{milliseconds} of {least} ms");
}

const RATE: f64 = 200.0;
const OPEN: Load = Load::Open { rate: RATE };

#[tokio::test]
async fn times_count_from_when_a_stream_was_due() {
    let (address, _server) = floor().await;
    let clients = clients(address).await;
    let script = script(&cell(BodyMode::Duplex, Load::Open { rate: 1.0 }));
    let due = Instant::now();
    let prompt = exchange(&clients[0], &script, 0, due).await.unwrap();
    let waited = Duration::from_secs(7);
    let late = exchange(&clients[0], &script, 1, due - waited)
        .await
        .unwrap();
    assert!(prompt.whole < waited, "{prompt:?}");
    assert!(late.pick >= waited && late.whole >= late.pick, "{late:?}");
}

#[tokio::test]
async fn paced_events_make_a_response_last_in_every_body_mode() {
    let picker = Picker::start(Fault::Nothing).await;
    let clients = clients(picker.address).await;
    for mode in MODES {
        let load = Load::Closed { streams: 1 };
        let cell = Cell {
            gap: Duration::from_millis(3),
            ..cell(mode, load)
        };
        let script = script(&cell);
        let timing = exchange(&clients[0], &script, 0, Instant::now())
            .await
            .unwrap();
        let response = timing.whole - timing.pick;
        assert!(response >= script.response_time(), "{mode:?}: {timing:?}");
    }
}

#[test]
fn a_stream_says_what_envoy_says() {
    let cell = cell(BodyMode::HeadersOnly, Load::Closed { streams: 1 });
    let script = script(&cell);
    let first = script.request_headers(258);
    let config = first.protocol_config.unwrap();
    assert_eq!(
        (config.request_body_mode, config.response_body_mode),
        (4, 0)
    );
    assert!(first.metadata_context.unwrap().filter_metadata.is_empty());
    let Some(Request::RequestHeaders(headers)) = first.request else {
        panic!("headers come first");
    };
    assert!(!headers.end_of_stream);
    let value = |name: &str| {
        let headers = &headers.headers.as_ref().unwrap().headers;
        let header = headers.iter().find(|header| header.key == name).unwrap();
        assert!(header.value.is_empty(), "values are in raw_value");
        String::from_utf8(header.raw_value.to_vec()).unwrap()
    };
    assert_eq!(value(":method"), "POST");
    assert_eq!(value("content-length"), "3000");
    assert_eq!(
        value("x-request-id"),
        "00000000-0000-4000-8000-000000000102"
    );

    let body = script.prompt(258).unwrap();
    let pieces: Vec<_> = body
        .messages
        .iter()
        .map(|message| match &message.request {
            Some(Request::RequestBody(body)) => (body.body.len(), body.end_of_stream),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pieces, [(3000, false), (0, true)]);
}
