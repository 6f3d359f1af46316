//! The models of all endpoints as one list.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pointsman_domain::endpoint::EndpointId;
use pointsman_feeds::models::{ModelCard, ModelReader, Sink};
use pointsman_feeds::page::{PageClient, PageFailure, PageSettings, Target, phase};
use tracing::{debug, warn};

use crate::feeding::{Feed, Life};
use crate::task::Tasks;

/// What the living endpoints have told of their models. An endpoint that cannot be asked any more
/// keeps what it told last until its life ends.
#[derive(Debug, Default)]
pub(crate) struct ModelTable {
    inside: Mutex<Inside>,
}

/// A loop for each life of each endpoint that asks for its models.
pub(crate) struct Listing {
    reader: Arc<ModelReader>,
    table: Arc<ModelTable>,
}

#[derive(Debug, Default)]
struct Inside {
    /// The cards of each model, by its id. Of an endpoint there is at most one, and the first
    /// endpoint's is listed.
    models: BTreeMap<String, BTreeMap<EndpointId, Box<str>>>,
    /// How many models of each life had no place, once it has told any.
    lives: BTreeMap<EndpointId, Option<usize>>,
    /// The list, if it was asked for since the last change.
    list: Option<Bytes>,
    /// How many models had no place in the list when it was last written.
    cut: usize,
}

impl ModelTable {
    /// All models in one list as OpenAI defines it, in the order of their ids; `None` as long as no
    /// endpoint has told its models.
    pub(crate) fn merged(&self) -> Option<Bytes> {
        self.inside.lock().merged()
    }

    /// From now on takes what this life tells.
    pub(crate) fn begin(&self, endpoint: EndpointId) {
        self.inside.lock().lives.insert(endpoint, None);
    }

    fn end(&self, endpoint: EndpointId) {
        let mut inside = self.inside.lock();
        inside.lives.remove(&endpoint);
        inside.forget(endpoint);
    }
}

impl Sink for ModelTable {
    fn told(&self, endpoint: EndpointId, models: Vec<ModelCard>) {
        self.inside.lock().told(endpoint, models);
    }

    fn failed(&self, endpoint: EndpointId, failure: PageFailure) {
        debug!(%endpoint, %failure, "its models are not known");
    }
}

impl Listing {
    /// Asks for the models that go into `table`; an endpoint has so long to answer.
    pub(crate) fn new(table: Arc<ModelTable>, client: PageClient, timeout: Duration) -> Self {
        let settings = PageSettings {
            path: "/v1/models".to_owned(),
            interval: INTERVAL,
            timeout,
            back_off_max: BACK_OFF_MAX,
            body_bytes_max: BODY_BYTES_MAX,
        };
        let reader = Arc::new(ModelReader::new(client, settings));
        Self { reader, table }
    }
}

impl Feed for Listing {
    fn begin(&self, life: Life<'_>, tasks: &Tasks) {
        self.table.begin(life.id);
        let target = Target {
            endpoint: life.id,
            address: life.spec.address,
            phase: phase(life.id.slot, FIRST_WITHIN),
        };
        let (reader, table) = (Arc::clone(&self.reader), Arc::clone(&self.table));
        let list = async move { reader.run(target, table, life.over).await };
        tasks.spawn("models", list);
    }

    fn end(&self, id: EndpointId) {
        self.table.end(id);
    }
}

impl Inside {
    fn told(&mut self, endpoint: EndpointId, models: Vec<ModelCard>) {
        // A loop may have read a page when it was told to end.
        let Some(&before) = self.lives.get(&endpoint) else {
            return;
        };
        self.forget(endpoint);
        let mut left_out = 0;
        for ModelCard { id, json } in models {
            if self.models.len() < MODELS_MAX || self.models.contains_key(&id) {
                self.models.entry(id).or_default().insert(endpoint, json);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 && before.is_none_or(|before| before == 0) {
            let models_max = MODELS_MAX;
            warn!(%endpoint, left_out, models_max, "more models than are listed");
        }
        self.lives.insert(endpoint, Some(left_out));
    }

    fn forget(&mut self, endpoint: EndpointId) {
        self.models.retain(|_, cards| {
            cards.remove(&endpoint);
            !cards.is_empty()
        });
        self.list = None;
    }

    fn merged(&mut self) -> Option<Bytes> {
        if !self.lives.values().any(Option::is_some) {
            return None;
        }
        if self.list.is_none() {
            let (list, cut) = self.write();
            if cut > 0 && self.cut == 0 {
                let bytes_max = LIST_BYTES_MAX;
                warn!(cut, bytes_max, "the list of models is cut");
            }
            self.cut = cut;
            self.list = Some(list);
        }
        self.list.clone()
    }

    /// The list, and how many models had no place in it.
    fn write(&self) -> (Bytes, usize) {
        let mut list = String::from(LIST_BEGIN);
        let mut cut = 0;
        let of_first = |cards| BTreeMap::values(cards).next();
        for card in self.models.values().filter_map(of_first) {
            if list.len() + 1 + card.len() + LIST_END.len() > LIST_BYTES_MAX {
                cut += 1;
                continue;
            }
            if list.len() > LIST_BEGIN.len() {
                list.push(',');
            }
            list.push_str(card);
        }
        list.push_str(LIST_END);
        (Bytes::from(list), cut)
    }
}

const LIST_BEGIN: &str = r#"{"object":"list","data":["#;
const LIST_END: &str = "]}";

/// Models of all endpoints.
const MODELS_MAX: usize = 1_024;

/// The longest list that is answered: gateways may refuse messages of some megabytes.
const LIST_BYTES_MAX: usize = 1 << 20;

const INTERVAL: Duration = Duration::from_secs(10);
/// The first questions to all endpoints spread over this time.
const FIRST_WITHIN: Duration = Duration::from_millis(500);
/// An engine that starts late is listed this long after it serves, at the latest.
const BACK_OFF_MAX: Duration = Duration::from_secs(30);
const BODY_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;
