//! What routing needs of a request's headers, collected one by one as they come.

use pointsman_domain::facts::Dialect;

/// The headers of one request, as far as they are read.
#[derive(Clone, Debug, Default)]
pub struct Head {
    method: Ranked,
    path: Ranked,
    objective: Ranked,
    fairness_id: Ranked,
    content_length: Option<u64>,
    body: BodyForm,
}

impl Head {
    /// A head without any header.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one header; its name may be in any case. Of a header that comes twice the last counts.
    ///
    /// A value that is not UTF-8, empty or too long counts as if the header had not come.
    pub fn header(&mut self, name: &str, value: &[u8]) {
        let Some(&(_, header, rank)) = READ.iter().find(|row| name.eq_ignore_ascii_case(row.0))
        else {
            return;
        };
        let Ok(value) = core::str::from_utf8(value) else {
            return;
        };
        let value = value.trim();
        match header {
            Header::Method => self.method.offer(rank, value, VALUE_BYTES_MAX),
            Header::Path => {
                let path = value.split_once('?').map_or(value, |(path, _)| path);
                self.path.offer(rank, path, PATH_BYTES_MAX);
            }
            Header::Objective => self.objective.offer(rank, value, VALUE_BYTES_MAX),
            Header::FairnessId => self.fairness_id.offer(rank, value, VALUE_BYTES_MAX),
            Header::ContentLength => self.content_length = value.parse().ok(),
            Header::ContentEncoding => {
                if value.split(',').any(is_coding) {
                    self.body = BodyForm::Opaque;
                }
            }
            Header::ContentType => {
                if value.to_ascii_lowercase().starts_with("multipart/") {
                    self.body = BodyForm::Opaque;
                }
            }
        }
    }

    /// The method; empty if none came.
    pub fn method(&self) -> &str {
        self.method.text()
    }

    /// The path without its query: `:path`, else what a proxy says that it was; empty if none came.
    pub fn path(&self) -> &str {
        self.path.text()
    }

    /// The form of API: the longest suffix of the path that is known, so that prefixes of providers
    /// and of gateways do not matter. Only a POST carries a prompt.
    pub fn dialect(&self) -> Dialect {
        if self.method() != "POST" {
            return Dialect::Passthrough;
        }
        let path = self.path();
        let path = path.strip_suffix('/').unwrap_or(path);
        DIALECTS
            .iter()
            .filter(|(suffix, _)| path.ends_with(suffix))
            .max_by_key(|(suffix, _)| suffix.len())
            .map_or(Dialect::Passthrough, |&(_, dialect)| dialect)
    }

    /// The length of the body, where it was announced.
    pub const fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// The name of the inference objective.
    pub(crate) fn objective(&self) -> Option<&str> {
        self.objective.value.as_deref()
    }

    /// The flow that the request belongs to.
    pub(crate) fn fairness_id(&self) -> Option<&str> {
        self.fairness_id.value.as_deref()
    }

    /// How the body is written.
    pub(crate) const fn body(&self) -> BodyForm {
        self.body
    }
}

/// How a body is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// Plain text, as far as the headers tell.
    #[default]
    Plain,
    /// Compressed or in parts: it cannot be read as JSON, which is no fault of the client's.
    Opaque,
}

/// The new name of the flow's header.
pub(crate) const FAIRNESS_ID: &str = "x-llm-d-inference-fairness-id";
/// The older name of the flow's header.
pub(crate) const FAIRNESS_ID_DEPRECATED: &str = "x-gateway-inference-fairness-id";
/// The new name of the objective's header.
pub(crate) const OBJECTIVE: &str = "x-llm-d-inference-objective";
/// The older name of the objective's header.
pub(crate) const OBJECTIVE_DEPRECATED: &str = "x-gateway-inference-objective";

/// A value that several headers can give. The lowest rank wins, in whatever order they come.
#[derive(Clone, Debug, Default)]
struct Ranked {
    rank: u8,
    value: Option<Box<str>>,
}

impl Ranked {
    fn offer(&mut self, rank: u8, value: &str, bytes_max: usize) {
        let acceptable = !value.is_empty() && value.len() <= bytes_max;
        if acceptable && (self.value.is_none() || rank <= self.rank) {
            self.rank = rank;
            self.value = Some(value.into());
        }
    }

    fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// Whether one item of a content-encoding list changes the body's bytes.
fn is_coding(item: &str) -> bool {
    let item = item.trim();
    !item.is_empty() && !item.eq_ignore_ascii_case("identity")
}

#[derive(Clone, Copy, Debug)]
enum Header {
    Method,
    Path,
    Objective,
    FairnessId,
    ContentLength,
    ContentEncoding,
    ContentType,
}

/// The headers that are read, each with its rank among those for the same value.
const READ: [(&str, Header, u8); 11] = [
    (":method", Header::Method, 0),
    (":path", Header::Path, 0),
    ("x-original-path", Header::Path, 1),
    ("x-forwarded-path", Header::Path, 2),
    (OBJECTIVE, Header::Objective, 0),
    (OBJECTIVE_DEPRECATED, Header::Objective, 1),
    (FAIRNESS_ID, Header::FairnessId, 0),
    (FAIRNESS_ID_DEPRECATED, Header::FairnessId, 1),
    ("content-length", Header::ContentLength, 0),
    ("content-encoding", Header::ContentEncoding, 0),
    ("content-type", Header::ContentType, 0),
];

/// A suffix starts with the border of a path segment: `/xcompletions` is another path.
const DIALECTS: [(&str, Dialect); 2] = [
    ("/chat/completions", Dialect::ChatCompletions),
    ("/completions", Dialect::Completions),
];

/// Longest name of a flow or an objective; a longer one is ignored. These names become labels.
const VALUE_BYTES_MAX: usize = 256;

/// Longest path without its query; a longer one is ignored, which leaves the request unread.
const PATH_BYTES_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests;
