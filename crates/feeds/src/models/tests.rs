use std::sync::Mutex;

use super::*;
use crate::page::tests::{ENDPOINT, listen, read_head, settings, target, whole};
use tokio::io::AsyncWriteExt;

const LIST: &str = r#"{"object":"list","data":[
    {"id":"llama","object":"model","created":1757900000,"permission":[{"id":"p"}],"max_model_len":8192},
    {"id":"sql","parent":"llama"}]}"#;

#[derive(Clone, Debug, PartialEq)]
enum Report {
    Told(Vec<ModelCard>),
    Failed(PageFailure),
}

/// Keeps the reports, and cancels the loop at the last one that is wanted.
struct Reports {
    all: Mutex<Vec<Report>>,
    wanted: usize,
    cancel: CancellationToken,
}

impl Reports {
    fn add(&self, endpoint: EndpointId, report: Report) {
        assert_eq!(endpoint, ENDPOINT);
        let mut all = self.all.lock().unwrap();
        all.push(report);
        if all.len() == self.wanted {
            self.cancel.cancel();
        }
    }
}

impl Sink for Reports {
    fn told(&self, endpoint: EndpointId, models: Vec<ModelCard>) {
        self.add(endpoint, Report::Told(models));
    }

    fn failed(&self, endpoint: EndpointId, failure: PageFailure) {
        self.add(endpoint, Report::Failed(failure));
    }
}

/// What is reported of a server that gives these pages.
async fn ask(pages: &[&str]) -> Vec<Report> {
    let (listener, address) = listen().await;
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for page in pages {
            let head = read_head(&mut stream).await.unwrap();
            assert!(head.starts_with("GET /v1/models HTTP/1.1\r\n"), "{head}");
            let answer = whole("200 OK", page);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        core::future::pending().await
    };
    let reports = Arc::new(Reports {
        all: Mutex::default(),
        wanted: pages.len(),
        cancel: CancellationToken::new(),
    });
    let settings = PageSettings {
        path: "/v1/models".to_owned(),
        body_bytes_max: 1 << 20,
        ..settings()
    };
    let reader = ModelReader::new(PageClient::new(settings.timeout), settings);
    let (sink, cancel) = (Arc::clone(&reports), reports.cancel.clone());
    tokio::select! {
        () = server => panic!("the server ended"),
        () = reader.run(target(address), sink, cancel) => {}
    }
    let all = reports.all.lock().unwrap();
    all.clone()
}

fn ids(page: &str) -> Option<Vec<String>> {
    let cards = cards(page.as_bytes())?;
    Some(cards.into_iter().map(|card| card.id).collect())
}

fn list(entries: &str) -> String {
    format!(r#"{{"object":"list","data":[{entries}]}}"#)
}

#[tokio::test]
async fn a_list_becomes_the_cards_of_its_endpoint_with_all_that_they_say() {
    let card = |id: &str, json: &str| ModelCard {
        id: id.to_owned(),
        json: json.into(),
    };
    let llama = r#"{"id":"llama","object":"model","created":1757900000,"permission":[{"id":"p"}],"max_model_len":8192}"#;
    let sql = r#"{"id":"sql","parent":"llama"}"#;
    let told = Report::Told(vec![card("llama", llama), card("sql", sql)]);
    assert_eq!(ask(&[LIST]).await, [told]);
}

#[tokio::test]
async fn a_page_that_is_no_list_is_told_as_failed_and_the_next_is_read() {
    let reports = ask(&["<html>", r#"{"data":[]}"#]).await;
    let failed = Report::Failed(PageFailure::Foreign);
    assert_eq!(reports, [failed, Report::Told(vec![])]);
}

#[test]
fn b14_an_entry_that_is_no_model_costs_no_other() {
    let deep = format!(
        r#"{{"id":"deep","x":{}1{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    for odd in [
        "7",
        "null",
        "[]",
        "[[]]",
        "\"a\"",
        "{}",
        r#"{"object":"model"}"#,
        r#"{"id":7}"#,
        r#"{"id":null}"#,
        r#"{"id":{"id":"a"}}"#,
        r#"{"id":"\ud800"}"#,
        r#"{"\ud800":1,"id":"a"}"#,
    ] {
        let page = list(&format!(r#"{{"id":"x"}},{odd},{{"id":"y"}}"#));
        assert_eq!(ids(&page).unwrap(), ["x", "y"], "{odd}");
    }
    let page = list(&format!(r#"{deep},{{"id":"number","created":1e400}}"#));
    assert_eq!(ids(&page).unwrap(), ["deep", "number"]);
}

#[test]
fn b14_nothing_but_the_id_is_needed() {
    assert_eq!(ids(r#"{"data":[{"id":"a"}]}"#).unwrap(), ["a"]);
    assert_eq!(ids(&list("")).unwrap(), Vec::<String>::new());
    let escaped = list(r#"{"id":"\u0061\/b"}"#);
    assert_eq!(ids(&escaped).unwrap(), ["a/b"]);
    let repeated = list(r#"{"id":"a","id":"b"}"#);
    assert_eq!(ids(&repeated).unwrap(), ["b"]);
}

#[test]
fn a_page_that_is_no_list_of_models_is_none_wherever_it_is_cut() {
    for page in [
        "",
        "null",
        "[]",
        "{}",
        r#"[{"id":"a"}]"#,
        r#"{"data":null}"#,
        r#"{"data":{"id":"a"}}"#,
        r#"{"error":{"message":"not found"}}"#,
    ] {
        assert_eq!(cards(page.as_bytes()), None, "{page}");
    }
    for end in 0..LIST.len() {
        assert_eq!(cards(&LIST.as_bytes()[..end]), None, "{end}");
    }
    assert_eq!(cards(b"{\"data\":[{\"id\":\"\xff\"}]}"), None);
    let deep = "[".repeat(1 << 20);
    assert_eq!(cards(deep.as_bytes()), None);
    assert_eq!(ids(&list(&deep)), None);
}

#[test]
fn the_first_of_entries_with_the_same_id_counts() {
    let page = list(r#"{"id":"a","n":1},{"id":"a","n":2},{"id":"b"},{"id":"a","n":3}"#);
    let cards = cards(page.as_bytes()).unwrap();
    let texts: Vec<_> = cards.iter().map(|card| &*card.json).collect();
    assert_eq!(texts, [r#"{"id":"a","n":1}"#, r#"{"id":"b"}"#]);
}

#[test]
fn more_models_and_longer_cards_than_the_limits_are_left_out() {
    let of_length = |bytes: usize| {
        let frame = r#"{"id":"long","x":""}"#.len();
        format!(r#"{{"id":"long","x":"{}"}}"#, "x".repeat(bytes - frame))
    };
    let fits = list(&of_length(CARD_BYTES_MAX));
    assert_eq!(ids(&fits).unwrap(), ["long"]);
    let too_long = list(&format!(
        r#"{},{{"id":"a"}}"#,
        of_length(CARD_BYTES_MAX + 1)
    ));
    assert_eq!(ids(&too_long).unwrap(), ["a"]);

    let many: Vec<_> = (0..CARDS_MAX + 1)
        .map(|number| format!(r#"{{"id":"{number:04}"}}"#))
        .collect();
    let ids = ids(&list(&many.join(","))).unwrap();
    assert_eq!((ids.len(), ids[0].as_str()), (CARDS_MAX, "0000"));
    assert_eq!(ids[CARDS_MAX - 1], "1023");
}
