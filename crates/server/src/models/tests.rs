use super::*;

const A: EndpointId = life(0, 0);
const B: EndpointId = life(1, 0);

const fn life(slot: u32, generation: u32) -> EndpointId {
    EndpointId { slot, generation }
}

/// A table of these lives, which have told nothing.
fn table(lives: &[EndpointId]) -> ModelTable {
    let table = ModelTable::default();
    for &endpoint in lives {
        table.begin(endpoint);
    }
    table
}

/// The card of a model that says who wrote it.
fn card(id: &str, writer: EndpointId) -> ModelCard {
    ModelCard {
        id: id.to_owned(),
        json: format!(r#"{{"id":"{id}","by":"{writer}"}}"#).into(),
    }
}

fn tell(table: &ModelTable, endpoint: EndpointId, ids: &[&str]) {
    let cards = ids.iter().map(|id| card(id, endpoint));
    table.told(endpoint, cards.collect());
}

/// Which models are listed, each with who described it.
fn listed(table: &ModelTable) -> Option<Vec<String>> {
    let text = String::from_utf8(table.merged()?.to_vec()).unwrap();
    let cards = text.strip_prefix(LIST_BEGIN)?.strip_suffix(LIST_END)?;
    let cards = cards.split("},").filter(|card| !card.is_empty());
    let short = |card: &str| {
        let values = card.split('"').skip(3).step_by(4);
        values.collect::<Vec<_>>().join(" by ")
    };
    Some(cards.map(short).collect())
}

#[test]
fn the_list_is_that_of_openai_with_the_cards_as_they_were_told() {
    let table = table(&[A]);
    tell(&table, A, &["sql", "llama"]);
    let list = r#"{"object":"list","data":[{"id":"llama","by":"0.0"},{"id":"sql","by":"0.0"}]}"#;
    assert_eq!(table.merged().unwrap(), list);
    tell(&table, A, &[]);
    assert_eq!(table.merged().unwrap(), r#"{"object":"list","data":[]}"#);
}

#[test]
fn a_model_of_several_endpoints_is_listed_once_as_the_first_describes_it() {
    let table = table(&[A, B]);
    tell(&table, B, &["llama", "law"]);
    assert_eq!(listed(&table).unwrap(), ["law by 1.0", "llama by 1.0"]);
    tell(&table, A, &["llama", "sql"]);
    let union = ["law by 1.0", "llama by 0.0", "sql by 0.0"];
    assert_eq!(listed(&table).unwrap(), union);
    table.end(A);
    assert_eq!(listed(&table).unwrap(), ["law by 1.0", "llama by 1.0"]);
}

#[test]
fn there_is_no_list_before_an_endpoint_has_told_one_nor_when_all_who_did_are_gone() {
    let table = table(&[A, B]);
    assert_eq!(table.merged(), None);
    table.failed(A, PageFailure::Refused);
    assert_eq!(table.merged(), None);
    tell(&table, B, &[]);
    assert_eq!(listed(&table).unwrap(), Vec::<String>::new());
    table.end(B);
    assert_eq!(table.merged(), None);
}

#[test]
fn an_endpoint_that_fails_keeps_its_models_until_its_life_ends() {
    let table = table(&[A, B]);
    tell(&table, A, &["llama"]);
    tell(&table, B, &["law"]);
    table.failed(B, PageFailure::TimedOut);
    assert_eq!(listed(&table).unwrap(), ["law by 1.0", "llama by 0.0"]);
    table.end(B);
    assert_eq!(listed(&table).unwrap(), ["llama by 0.0"]);
}

#[test]
fn what_is_told_after_the_end_of_a_life_is_not_listed() {
    let table = table(&[A, B]);
    tell(&table, B, &["law"]);
    table.end(A);
    table.begin(life(0, 1));
    tell(&table, A, &["llama"]);
    assert_eq!(listed(&table).unwrap(), ["law by 1.0"]);
    tell(&table, life(0, 1), &["sql"]);
    assert_eq!(listed(&table).unwrap(), ["law by 1.0", "sql by 0.1"]);
}

#[test]
fn a_list_that_nothing_changed_is_written_once() {
    let table = table(&[A]);
    tell(&table, A, &["llama"]);
    let first = table.merged().unwrap();
    assert_eq!(table.merged().unwrap().as_ptr(), first.as_ptr());
}

#[test]
fn models_over_the_limit_wait_until_others_leave() {
    let table = table(&[A, B]);
    let ids: Vec<String> = (0..MODELS_MAX).map(|number| number.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    tell(&table, A, &ids);
    tell(&table, B, &["0", "new"]);
    let full = listed(&table).unwrap();
    assert_eq!(full.len(), MODELS_MAX);
    assert!(!full.contains(&"new by 1.0".to_owned()));
    tell(&table, A, &ids[1..]);
    assert_eq!(listed(&table).unwrap().len(), MODELS_MAX);
    tell(&table, B, &["new"]);
    assert!(listed(&table).unwrap().contains(&"new by 1.0".to_owned()));
}

#[test]
fn a_list_that_would_be_too_long_leaves_out_what_does_not_fit() {
    let table = table(&[A]);
    let cards = (0..100).map(|number| ModelCard {
        id: format!("{number:03}"),
        json: format!("\"{}\"", "x".repeat(16 << 10)).into(),
    });
    table.told(A, cards.chain([card("small", A)]).collect());
    let list = table.merged().unwrap();
    assert!(list.len() <= LIST_BYTES_MAX && list.len() > LIST_BYTES_MAX - (17 << 10));
    let text = String::from_utf8(list.to_vec()).unwrap();
    assert!(text.ends_with(r#",{"id":"small","by":"0.0"}]}"#));
    assert_eq!(text.matches('x').count() % (16 << 10), 0);
}
