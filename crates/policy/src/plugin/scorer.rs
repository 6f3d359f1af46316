//! Parameters of the scorers.

use pointsman_domain::units::{Tokens, Unit};
use pointsman_schedule::scorer::Scorer;
use pointsman_schedule::scorer::active_request::ActiveRequest;
use pointsman_schedule::scorer::kv_cache_utilization::KvCacheUtilization;
use pointsman_schedule::scorer::own_inflight::OwnInflight;
use pointsman_schedule::scorer::prefix_cache::PrefixCache;
use pointsman_schedule::scorer::queue::Queue;
use pointsman_schedule::scorer::token_load::TokenLoad;

use super::{Built, Part, Producer};
use crate::fields::Fields;
use crate::parameter::number::{Count, Number, NumberRange};
use crate::parameter::text::Reference;
use crate::parameter::value::Anything;
use crate::parameter::{Inactive, Parameter};
use crate::registry::{
    APPROX_PREFIX_CACHE_PRODUCER, INFLIGHT_LOAD_PRODUCER, PRECISE_PREFIX_CACHE_PRODUCER,
};

pub(crate) static QUEUE: Built = Built {
    about: "Prefers engines with fewer waiting requests: 1 for the shortest queue among the \
            candidates, 0 for the longest, linear between.",
    parameters: &[],
    read: |_| Part::Scorer(Scorer::Queue(Queue), None),
};

pub(crate) static KV_CACHE_UTILIZATION: Built = Built {
    about: "Prefers engines with free KV memory: 1 minus the share of KV blocks in use.",
    parameters: &[],
    read: |_| Part::Scorer(Scorer::KvCacheUtilization(KvCacheUtilization), None),
};

pub(crate) static PREFIX_CACHE: Built = Built {
    about: "Prefers endpoints that hold more of the prompt: \
            `(1 - w) * matched / total + w * min(1, matched tokens / scale)^2`.",
    parameters: &[&MATCH_LENGTH_WEIGHT, &MATCH_LENGTH_SCALE, &PREFIX_PRODUCER],
    read: prefix_cache,
};

pub(crate) static ACTIVE_REQUEST: Built = Built {
    about: "Prefers endpoints with fewer of our own requests in flight, relative to the busiest \
            candidate.",
    parameters: &[
        &IDLE_THRESHOLD,
        &BUSY_SCORE_MAX,
        &LOAD_PRODUCER,
        &REQUEST_TIMEOUT,
    ],
    read: active_request,
};

pub(crate) static OWN_INFLIGHT: Built = Built {
    about: "Prefers endpoints with fewer requests in flight, our own and those of others by the \
            last report: `(h + least) / (h + requests)`, where `least` is the fewest of any \
            candidate. Our own; not known to llm-d.",
    parameters: &[&HALF_SCORE_REQUESTS],
    read: own_inflight,
};

pub(crate) static TOKEN_LOAD: Built = Built {
    about: "Prefers endpoints with fewer prompt tokens to compute before this request's first \
            token: 1 minus their share of the threshold. They are those of our own requests there \
            that are in prefill, and this one's, without what is cached.",
    parameters: &[&QUEUE_THRESHOLD, &LOAD_PRODUCER],
    read: token_load,
};

fn prefix_cache(fields: &mut Fields<'_>) -> Part {
    let scorer = PrefixCache {
        match_length_weight: Unit::clamped(MATCH_LENGTH_WEIGHT.of(fields)),
        match_length_scale: Tokens(MATCH_LENGTH_SCALE.of(fields)),
    };
    let producer = producer(&PREFIX_PRODUCER, fields);
    Part::Scorer(Scorer::PrefixCache(scorer), producer)
}

fn active_request(fields: &mut Fields<'_>) -> Part {
    let idle_threshold = IDLE_THRESHOLD.of(fields);
    let scorer = ActiveRequest {
        idle_threshold: u32::try_from(idle_threshold).unwrap_or(u32::MAX),
        busy_score_max: Unit::clamped(BUSY_SCORE_MAX.of(fields)),
    };
    let producer = producer(&LOAD_PRODUCER, fields);
    REQUEST_TIMEOUT.check(fields);
    Part::Scorer(Scorer::ActiveRequest(scorer), producer)
}

fn own_inflight(fields: &mut Fields<'_>) -> Part {
    let half_score_requests = HALF_SCORE_REQUESTS.of(fields);
    Part::Scorer(
        Scorer::OwnInflight(OwnInflight {
            half_score_requests,
        }),
        None,
    )
}

fn token_load(fields: &mut Fields<'_>) -> Part {
    let threshold = Tokens(QUEUE_THRESHOLD.of(fields));
    let producer = producer(&LOAD_PRODUCER, fields);
    Part::Scorer(Scorer::TokenLoad(TokenLoad { threshold }), producer)
}

fn producer(parameter: &Parameter<Reference>, fields: &mut Fields<'_>) -> Option<Producer> {
    let name = parameter.of(fields)?;
    Some(Producer {
        parameter: parameter.name,
        name,
        plugin_types: parameter.kind.plugin_types,
    })
}

static MATCH_LENGTH_WEIGHT: Parameter<Number> = Parameter {
    name: "matchLengthWeight",
    unit: "share",
    kind: Number {
        default: 0.0,
        range: NumberRange::Within(0.0, 1.0),
    },
    about: "Weight `w` of the absolute length of the match, against its share of the prompt.",
};

static MATCH_LENGTH_SCALE: Parameter<Count> = Parameter {
    name: "matchLengthScaleTokens",
    unit: "tokens",
    kind: Count {
        default: 8192,
        least: 1,
        most: u64::MAX,
    },
    about: "Match length that counts as full.",
};

static PREFIX_PRODUCER: Parameter<Reference> = Parameter {
    name: "prefixMatchInfoProducerName",
    unit: "",
    kind: Reference {
        default: "the one of the file, else `approx-prefix-cache-producer`",
        plugin_types: &[APPROX_PREFIX_CACHE_PRODUCER, PRECISE_PREFIX_CACHE_PRODUCER],
    },
    about: "The producer whose matches count.",
};

static IDLE_THRESHOLD: Parameter<Count> = Parameter {
    name: "idleThreshold",
    unit: "requests",
    kind: Count {
        default: 0,
        least: 0,
        most: u32::MAX as u64,
    },
    about: "Requests up to which an endpoint counts as idle and scores 1.",
};

static BUSY_SCORE_MAX: Parameter<Number> = Parameter {
    name: "maxBusyScore",
    unit: "score",
    kind: Number {
        default: 1.0,
        range: NumberRange::Within(0.0, 1.0),
    },
    about: "The best score of an endpoint that is not idle.",
};

static LOAD_PRODUCER: Parameter<Reference> = Parameter {
    name: "inFlightLoadProducerName",
    unit: "",
    kind: Reference {
        default: "`inflight-load-producer`",
        plugin_types: &[INFLIGHT_LOAD_PRODUCER],
    },
    about: "The producer whose counts are read; our own requests are always counted.",
};

static REQUEST_TIMEOUT: Inactive<Anything> = Inactive(Parameter {
    name: "requestTimeout",
    unit: "",
    kind: Anything,
    about: "Ignored by llm-d too: a request counts until its stream ends.",
});

static QUEUE_THRESHOLD: Parameter<Count> = Parameter {
    name: "queueThresholdTokens",
    unit: "tokens",
    kind: Count {
        default: 4_194_304,
        least: 1,
        most: u64::MAX,
    },
    about: "Tokens to compute at which the score is 0.",
};

static HALF_SCORE_REQUESTS: Parameter<Number> = Parameter {
    name: "halfScoreRequests",
    unit: "requests",
    kind: Number {
        default: 4.0,
        range: NumberRange::Above(0.0),
    },
    about: "Requests in flight `h` at which the score is 0.5 while another candidate is idle.",
};
