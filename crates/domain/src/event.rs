//! One event per fact. Shells turn events into metrics, logs and explanations; nothing else does.

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decision::Refusal;
use crate::endpoint::EndpointId;
use crate::facts::RequestId;
use crate::observation::{EndCause, Usage};
use crate::units::Tokens;

/// A fact about the pool or about one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The request waits for an endpoint.
    Held {
        /// The request.
        request: RequestId,
    },
    /// The request got an endpoint, and its load is reserved there.
    Picked(Box<Picked>),
    /// The request was refused.
    Refused {
        /// The request.
        request: RequestId,
        /// Why.
        refusal: Refusal,
        /// How long it was held before.
        waited: Duration,
    },
    /// The first output was seen.
    FirstOutput {
        /// The request.
        request: RequestId,
        /// Time since the request came.
        after: Duration,
    },
    /// Another endpoint served than the one that was picked: the gateway went down the list.
    ServedElsewhere {
        /// The request.
        request: RequestId,
        /// The pick's first choice.
        picked: EndpointId,
        /// Who served.
        served: EndpointId,
    },
    /// The request ended, once.
    Completed(Box<Completed>),
    /// The set of endpoints changed.
    EndpointsChanged {
        /// Endpoints now in the pool.
        endpoints: usize,
    },
    /// An endpoint was taken out of the picks because it fails, or put back.
    Ejected {
        /// The endpoint.
        endpoint: EndpointId,
        /// Whether it is out now.
        out: bool,
    },
    /// A fact about an endpoint's earlier life, about one that is not known, or about a request that
    /// has ended, was dropped.
    Dropped {
        /// What it was.
        what: Late,
    },
}

/// A pick and its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picked {
    /// The request.
    pub request: RequestId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Its address.
    pub address: SocketAddr,
    /// How long the request was held before.
    pub waited: Duration,
    /// The model that the client names.
    pub model: Option<Box<str>>,
    /// The model that the engine is asked for, where it is another one.
    pub target_model: Option<Box<str>>,
    /// Length of the prompt.
    pub prompt_tokens: Tokens,
    /// Tokens of the prompt that the endpoint is expected to have in cache.
    pub cached_tokens: Tokens,
    /// How many endpoints were candidates.
    pub candidates: usize,
    /// The scores of every candidate, best first; only where an explanation was asked for.
    pub scores: Option<Vec<CandidateScore>>,
}

/// One candidate's score and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateScore {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Its address.
    pub address: SocketAddr,
    /// Tokens of the prompt that it is expected to have in cache.
    pub cached_tokens: Tokens,
    /// Our own requests there before this one.
    pub own_requests: u32,
    /// Weighted sum of the parts.
    #[serde(with = "crate::float")]
    pub total: f64,
    /// One part per scorer, in the order of the profile.
    pub parts: Vec<ScorePart>,
}

/// What one scorer gave to one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScorePart {
    /// The scorer's name in the configuration.
    pub scorer: Arc<str>,
    /// Its score, within `0..=1`.
    #[serde(with = "crate::float")]
    pub score: f64,
    /// Its weight in the profile.
    #[serde(with = "crate::float")]
    pub weight: f64,
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// The request.
    pub request: RequestId,
    /// Where it ran; `None` if it was never sent.
    pub endpoint: Option<EndpointId>,
    /// How it ended.
    pub cause: EndCause,
    /// Time since the request came.
    pub duration: Duration,
    /// Token counts, where the response told them.
    pub usage: Option<Usage>,
    /// When the output came.
    pub timings: Timings,
}

/// When the output of a request came, each as time since the request came, and as far as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timings {
    /// The first token.
    pub first_output: Option<Duration>,
    /// The first token that is no thought.
    pub first_visible: Option<Duration>,
    /// The end of the output.
    pub finished: Option<Duration>,
}

/// Facts that can come too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// A scrape of an earlier life.
    Scrape,
    /// An observation of a request that is not in flight, or of the load of an earlier life.
    Observation,
    /// Word that an endpoint served which is not known, or not any more.
    Served,
    /// A report on the cache of an earlier life.
    CacheReport,
}

impl Late {
    /// The value of metric labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Scrape => "scrape",
            Self::Observation => "observation",
            Self::Served => "served",
            Self::CacheReport => "cache_report",
        }
    }
}
