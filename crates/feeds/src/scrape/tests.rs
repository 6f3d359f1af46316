use std::sync::Mutex;

use pointsman_domain::load::LoadSample;
use pointsman_telemetry::engines;

use super::*;
use crate::page::tests::{ENDPOINT, listen, serve, settings, target, whole};

const PAGE: &str = "vllm:num_requests_waiting 4\nvllm:num_requests_running 2\n";

#[derive(Clone, Debug, PartialEq)]
enum Report {
    Begun,
    Done(Box<EngineSample>),
    Failed(PageFailure),
}

/// Keeps the reports, and cancels the loop at the second one.
#[derive(Default)]
struct Reports {
    all: Mutex<Vec<Report>>,
    cancel: CancellationToken,
}

impl Reports {
    fn add(&self, endpoint: EndpointId, report: Report) {
        assert_eq!(endpoint, ENDPOINT);
        let mut all = self.all.lock().unwrap();
        all.push(report);
        if all.len() == 2 {
            self.cancel.cancel();
        }
    }
}

impl Sink for Reports {
    fn begun(&self, endpoint: EndpointId) {
        self.add(endpoint, Report::Begun);
    }

    fn done(&self, endpoint: EndpointId, sample: EngineSample) {
        self.add(endpoint, Report::Done(Box::new(sample)));
    }

    fn failed(&self, endpoint: EndpointId, failure: PageFailure) {
        self.add(endpoint, Report::Failed(failure));
    }
}

/// What is reported of one scrape of a server that gives this answer.
async fn scrape_once(answer: String) -> Vec<Report> {
    let (listener, address) = listen().await;
    let reports = Arc::new(Reports::default());
    let settings = settings();
    let scraper = Scraper::new(PageClient::new(settings.timeout), settings);
    let (sink, cancel) = (Arc::clone(&reports), reports.cancel.clone());
    tokio::select! {
        () = serve(listener, answer) => panic!("the server ended"),
        () = scraper.run(target(address), vllm(), sink, cancel) => {}
    }
    let all = reports.all.lock().unwrap();
    all.clone()
}

fn vllm() -> Engine {
    Engine {
        mapping: Arc::new(Mapping::new(&engines::Engine::Vllm.names())),
        rank: None,
    }
}

#[tokio::test]
async fn a_page_becomes_a_sample_of_its_endpoint() {
    let sample = EngineSample {
        load: LoadSample {
            waiting: Some(4),
            running: Some(2),
            ..LoadSample::default()
        },
        ..EngineSample::default()
    };
    let reports = scrape_once(whole("200 OK", PAGE)).await;
    assert_eq!(reports, [Report::Begun, Report::Done(Box::new(sample))]);
}

#[tokio::test]
async fn a_scrape_without_a_page_is_told_as_failed() {
    let reports = scrape_once(whole("500 Internal Server Error", PAGE)).await;
    let failed = Report::Failed(PageFailure::Status(500));
    assert_eq!(reports, [Report::Begun, failed]);
}
