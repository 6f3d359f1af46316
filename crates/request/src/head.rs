//! What routing needs of a request's headers, collected one by one as they come.

mod content;
mod dialect;
pub(crate) mod parameters;

use pointsman_domain::facts::{Dialect, LatencyGoals, NameHash};
use pointsman_domain::units::Milliseconds;

pub(crate) use content::{BodyForm, Coding};

/// The headers of one request, as far as they are read.
#[derive(Clone, Debug, Default)]
pub struct Head {
    method: Ranked<Box<str>>,
    path: Ranked<Box<str>>,
    is_path_given: bool,
    objective: Ranked<Box<str>>,
    fairness_id: Ranked<Box<str>>,
    model_override: Ranked<Box<str>>,
    ttft: Ranked<Milliseconds>,
    tpot: Ranked<Milliseconds>,
    session: Ranked<NameHash>,
    content_length: Option<u64>,
    content_type: content::Type,
    content_codings: content::Codings,
}

impl Head {
    /// A head without any header.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one header; its name may be in any case. Of a header that comes twice the last counts,
    /// except that codings of the content add up.
    ///
    /// A value that cannot be used, as it is not UTF-8, empty, too long or out of range, counts as if
    /// the header had not come.
    pub fn header(&mut self, name: &str, value: &[u8]) {
        let Some(&(_, header, rank)) = READ.iter().find(|row| name.eq_ignore_ascii_case(row.0))
        else {
            return;
        };
        let value = value.trim_ascii();
        match header {
            Header::Method => self.method.offer(rank, text(value, VALUE_BYTES_MAX)),
            Header::Path => {
                self.is_path_given |= !value.is_empty();
                let end = value.iter().position(|byte| matches!(byte, b'?' | b'#'));
                let (path, _) = value.split_at(end.unwrap_or(value.len()));
                // One that cannot be used is still the path: no other header tells another.
                let unusable = (!value.is_empty()).then_some("");
                let path = text(path, PATH_BYTES_MAX).or_else(|| unusable.map(Into::into));
                self.path.offer(rank, path);
            }
            Header::Objective => self.objective.offer(rank, text(value, VALUE_BYTES_MAX)),
            Header::FairnessId => self.fairness_id.offer(rank, text(value, VALUE_BYTES_MAX)),
            Header::ModelOverride => {
                self.model_override
                    .offer(rank, text(value, VALUE_BYTES_MAX));
            }
            Header::Ttft => self.ttft.offer(rank, milliseconds(value)),
            Header::Tpot => self.tpot.offer(rank, milliseconds(value)),
            Header::Session => {
                let session = (!value.is_empty()).then(|| NameHash::of(value));
                self.session.offer(rank, session);
            }
            Header::ContentLength => {
                self.content_length = text(value, VALUE_BYTES_MAX).and_then(|it| it.parse().ok());
            }
            Header::ContentEncoding => self.content_codings.add(value),
            Header::ContentType => self.content_type = content::Type::of(value),
        }
    }

    /// The method; empty if none came.
    pub fn method(&self) -> &str {
        self.method.text()
    }

    /// The path without its query: `:path`, else what a proxy says that it was; empty if none came
    /// that could be used.
    pub fn path(&self) -> &str {
        self.path.text()
    }

    /// The form of API: the longest suffix of the path that is known, so that prefixes of providers
    /// and of gateways do not matter. Only a POST carries a prompt.
    pub fn dialect(&self) -> Dialect {
        if self.method() != "POST" {
            return Dialect::Passthrough;
        }
        let path = if self.is_path_given {
            self.path()
        } else {
            PATH_DEFAULT
        };
        match dialect::of(path) {
            Dialect::GrpcGenerate | Dialect::GrpcEmbed
                if self.content_type != content::Type::Grpc =>
            {
                Dialect::Passthrough
            }
            dialect => dialect,
        }
    }

    /// Whether this asks which models there are.
    pub fn asks_for_models(&self) -> bool {
        self.method() == "GET" && self.path().ends_with("/v1/models")
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

    /// The model to ask the engine for, whatever the body names.
    pub(crate) fn model_override(&self) -> Option<&str> {
        self.model_override.value.as_deref()
    }

    /// The latencies that the request asks for.
    pub(crate) const fn goals(&self) -> LatencyGoals {
        LatencyGoals {
            ttft: self.ttft.value,
            tpot: self.tpot.value,
        }
    }

    /// The session that the client or its agent names.
    pub(crate) const fn session(&self) -> Option<NameHash> {
        self.session.value
    }

    /// How the body is written. An upload in parts is one only where the path takes uploads.
    pub(crate) fn body(&self) -> BodyForm {
        content::form(
            &self.content_type,
            self.content_codings,
            self.dialect() == Dialect::Multipart,
        )
    }
}

/// The new name of the flow's header.
pub(crate) const FAIRNESS_ID: &str = "x-llm-d-inference-fairness-id";
/// The older name of the flow's header.
pub(crate) const FAIRNESS_ID_DEPRECATED: &str = "x-gateway-inference-fairness-id";
/// The new name of the objective's header.
pub(crate) const OBJECTIVE: &str = "x-llm-d-inference-objective";
/// The older name of the objective's header.
pub(crate) const OBJECTIVE_DEPRECATED: &str = "x-gateway-inference-objective";
/// The new name of the header that names another model.
pub(crate) const MODEL_OVERRIDE: &str = "x-llm-d-model-name-rewrite";
/// The older name of the header that names another model.
pub(crate) const MODEL_OVERRIDE_DEPRECATED: &str = "x-gateway-model-name-rewrite";
/// The new name of the header with the time to first token.
pub(crate) const TTFT: &str = "x-llm-d-slo-ttft-ms";
/// The older name of the header with the time to first token.
pub(crate) const TTFT_DEPRECATED: &str = "x-slo-ttft-ms";
/// The new name of the header with the time per output token.
pub(crate) const TPOT: &str = "x-llm-d-slo-tpot-ms";
/// The older name of the header with the time per output token.
pub(crate) const TPOT_DEPRECATED: &str = "x-slo-tpot-ms";

/// A value that several headers can give. The lowest rank wins, in whatever order they come.
#[derive(Clone, Debug)]
struct Ranked<T> {
    rank: u8,
    value: Option<T>,
}

impl<T> Default for Ranked<T> {
    fn default() -> Self {
        Self {
            rank: u8::MAX,
            value: None,
        }
    }
}

impl<T> Ranked<T> {
    fn offer(&mut self, rank: u8, value: Option<T>) {
        if value.is_some() && rank <= self.rank {
            self.rank = rank;
            self.value = value;
        }
    }
}

impl Ranked<Box<str>> {
    fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// The value as a text of 1 to `bytes_max` bytes.
fn text(value: &[u8], bytes_max: usize) -> Option<Box<str>> {
    let text = core::str::from_utf8(value).ok()?.trim();
    (1..=bytes_max).contains(&text.len()).then(|| text.into())
}

/// A goal in milliseconds: a decimal number, with a fraction or without. A fraction counts as a whole
/// millisecond, so that nobody gets ahead by one.
fn milliseconds(value: &[u8]) -> Option<Milliseconds> {
    let mut parts = value.splitn(2, |&byte| byte == b'.');
    let whole = digits(parts.next()?)?;
    let fraction = parts.next().map_or(Some("0"), digits)?;
    let whole: u32 = whole.parse().ok()?;
    let has_fraction = fraction.bytes().any(|digit| digit != b'0');
    let rounded = whole.checked_add(has_fraction.into())?;
    (1..=GOAL_MS_MAX)
        .contains(&rounded)
        .then_some(Milliseconds(rounded))
}

/// The value if it is decimal digits, at least one, and nothing else.
fn digits(value: &[u8]) -> Option<&str> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| core::str::from_utf8(value).ok())?
}

#[derive(Clone, Copy, Debug)]
enum Header {
    Method,
    Path,
    Objective,
    FairnessId,
    ModelOverride,
    Ttft,
    Tpot,
    Session,
    ContentLength,
    ContentEncoding,
    ContentType,
}

/// The headers that are read, each with its rank among those for the same value.
///
/// A session is named by who speaks to us first (`x-session-id`), else by the agent that runs it,
/// in the order that llm-d reads agents in. `x-session-token` is none of them: it names an endpoint.
const READ: [(&str, Header, u8); 22] = [
    (":method", Header::Method, 0),
    (":path", Header::Path, 0),
    ("x-original-path", Header::Path, 1),
    ("x-forwarded-path", Header::Path, 2),
    (OBJECTIVE, Header::Objective, 0),
    (OBJECTIVE_DEPRECATED, Header::Objective, 1),
    (FAIRNESS_ID, Header::FairnessId, 0),
    (FAIRNESS_ID_DEPRECATED, Header::FairnessId, 1),
    (MODEL_OVERRIDE, Header::ModelOverride, 0),
    (MODEL_OVERRIDE_DEPRECATED, Header::ModelOverride, 1),
    (TTFT, Header::Ttft, 0),
    (TTFT_DEPRECATED, Header::Ttft, 1),
    (TPOT, Header::Tpot, 0),
    (TPOT_DEPRECATED, Header::Tpot, 1),
    ("x-session-id", Header::Session, 0),
    ("x-claude-code-session-id", Header::Session, 1),
    ("x-session-affinity", Header::Session, 2),
    ("session-id", Header::Session, 3),
    ("session_id", Header::Session, 4),
    ("content-length", Header::ContentLength, 0),
    ("content-encoding", Header::ContentEncoding, 0),
    ("content-type", Header::ContentType, 0),
];

/// What a request is taken for of which nobody tells the path, as llm-d does.
const PATH_DEFAULT: &str = "/v1/completions";

/// Longest name of a flow, an objective or a model; a longer one is ignored. These become labels.
const VALUE_BYTES_MAX: usize = 256;

/// Longest path without its query; a longer one is ignored, which leaves the request unread.
const PATH_BYTES_MAX: usize = 8 * 1024;

/// The latest goal, an hour. One beyond it is no goal, and must not wrap around into an early one.
const GOAL_MS_MAX: u32 = 3_600_000;

#[cfg(test)]
mod tests;
