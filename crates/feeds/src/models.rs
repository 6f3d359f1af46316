//! Reading which models endpoints serve.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderValue;
use pointsman_domain::endpoint::EndpointId;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::page::{PageClient, PageFailure, PageReader, PageSettings, Target, Visit};

/// Reads lists of models. One for all endpoints.
#[derive(Debug)]
pub struct ModelReader {
    pages: PageReader,
}

/// A model, as its endpoint describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCard {
    /// The name by which requests ask for it.
    pub id: String,
    /// The whole description as the endpoint wrote it: a JSON object, of which nothing but the id is
    /// required or understood.
    pub json: Box<str>,
}

/// Where results go. Called from the loops, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    /// The endpoint has told which models it serves.
    fn told(&self, endpoint: EndpointId, models: Vec<ModelCard>);
    /// It could not be asked. What it told before is not taken back.
    fn failed(&self, endpoint: EndpointId, failure: PageFailure);
}

impl ModelReader {
    /// A reader that uses the connections of `client`.
    pub const fn new(client: PageClient, settings: PageSettings) -> Self {
        Self {
            pages: PageReader::new(client, settings, FORMATS),
        }
    }

    /// Asks the target until cancelled. A question that is under way then ends without a report.
    pub async fn run(&self, target: Target, sink: Arc<dyn Sink>, cancel: CancellationToken) {
        let endpoint = target.endpoint;
        self.pages
            .run(target, &Lists { endpoint, sink }, cancel)
            .await;
    }
}

struct Lists {
    endpoint: EndpointId,
    sink: Arc<dyn Sink>,
}

impl Visit for Lists {
    fn read(&self, page: &mut Vec<u8>) -> Result<(), PageFailure> {
        // Asked for this rarely, a page is not worth keeping its memory for the next.
        let page = core::mem::take(page);
        let models = cards(&page).ok_or(PageFailure::Foreign)?;
        self.sink.told(self.endpoint, models);
        Ok(())
    }

    fn failed(&self, failure: PageFailure) {
        self.sink.failed(self.endpoint, failure);
    }
}

/// The models of a list as OpenAI defines it; `None` if it is none. An entry that cannot be a model
/// or is too long is left out, and of entries with the same id all but the first.
fn cards(page: &[u8]) -> Option<Vec<ModelCard>> {
    let list: BTreeMap<String, &RawValue> = serde_json::from_slice(page).ok()?;
    let entries: Vec<&RawValue> = serde_json::from_str(list.get("data")?.get()).ok()?;
    let mut cards: BTreeMap<String, &RawValue> = BTreeMap::new();
    for entry in entries {
        if cards.len() == CARDS_MAX {
            break;
        }
        if let Some(id) = id(entry) {
            cards.entry(id).or_insert(entry);
        }
    }
    let cards = cards.into_iter().map(|(id, entry)| ModelCard {
        id,
        json: entry.get().into(),
    });
    Some(cards.collect())
}

fn id(entry: &RawValue) -> Option<String> {
    let text = entry.get();
    if text.len() > CARD_BYTES_MAX {
        return None;
    }
    // As for most readers of JSON, the last of repeated members counts.
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    serde_json::from_str(members.get("id")?.get()).ok()
}

const FORMATS: HeaderValue = HeaderValue::from_static("application/json");

/// Models of one endpoint that are read.
const CARDS_MAX: usize = 1_024;

/// The longest description of a model that is read. Those of engines have hundreds of bytes.
const CARD_BYTES_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests;
