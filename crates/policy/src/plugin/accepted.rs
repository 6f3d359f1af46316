//! Plugins that are accepted although nothing changes by them, and the one that needs no work.

use core::time::Duration;

use super::{Accepted, Built, Part};
use crate::parameter::Parameter;
use crate::parameter::number::{Count, Number, NumberRange, OptionalCount};
use crate::parameter::text::{OptionalDuration, Reference};
use crate::parameter::value::Flag;
use crate::registry::{APPROX_PREFIX_CACHE_PRODUCER, PRECISE_PREFIX_CACHE_PRODUCER};

pub(crate) static SINGLE_PROFILE: Built = Built {
    about: "Runs the one profile, which happens without it too.",
    parameters: &[],
    read: |_| Part::Nothing,
};

pub(crate) static PARSER: Accepted = Accepted {
    why: "a request's path decides how its body is read",
    parameters: &[],
};

pub(crate) static ORDERING: Accepted = Accepted {
    why: "waiting requests leave in the order they came",
    parameters: &[],
};

pub(crate) static FAIRNESS: Accepted = Accepted {
    why: "all requests wait in one line",
    parameters: &[],
};

pub(crate) static USAGE_LIMIT: Accepted = Accepted {
    why: "a request waits only while the pool is empty",
    parameters: &[&THRESHOLD],
};

pub(crate) static UTILIZATION_DETECTOR: Accepted = Accepted {
    why: "a request waits only while the pool is empty",
    parameters: &[
        &QUEUE_DEPTH_THRESHOLD,
        &KV_CACHE_THRESHOLD,
        &STALENESS_THRESHOLD,
        &HEADROOM,
    ],
};

pub(crate) static INFLIGHT_LOAD: Accepted = Accepted {
    why: "our own requests are always counted",
    parameters: &[
        &ADD_ESTIMATED_OUTPUT,
        &OUTPUT_RATIO,
        &ESTIMATED_OUTPUT_MAX,
        &PREFIX_PRODUCER,
        &SYNC_CROSS_REPLICA,
    ],
};

static THRESHOLD: Parameter<Number> = Parameter {
    name: "threshold",
    unit: "share",
    kind: Number {
        default: 1.0,
        range: NumberRange::Above(0.0),
    },
    about: "Saturation from which requests wait.",
};

static QUEUE_DEPTH_THRESHOLD: Parameter<Count> = Parameter {
    name: "queueDepthThreshold",
    unit: "requests",
    kind: Count {
        default: 5,
        least: 1,
        most: u64::MAX,
    },
    about: "Waiting requests at which an engine is full.",
};

static KV_CACHE_THRESHOLD: Parameter<Number> = Parameter {
    name: "kvCacheUtilThreshold",
    unit: "share",
    kind: Number {
        default: 0.8,
        range: NumberRange::Within(0.0, 1.0),
    },
    about: "Share of KV blocks in use at which an engine is full.",
};

static STALENESS_THRESHOLD: Parameter<OptionalDuration> = Parameter {
    name: "metricsStalenessThreshold",
    unit: "duration",
    kind: OptionalDuration {
        default: "200ms",
        least: Duration::ZERO,
        most: Duration::from_secs(86_400),
    },
    about: "Age from which metrics do not count.",
};

static HEADROOM: Parameter<Number> = Parameter {
    name: "headroom",
    unit: "share",
    kind: Number {
        default: 0.0,
        range: NumberRange::Within(0.0, 1e6),
    },
    about: "How far an endpoint may be above the thresholds.",
};

static ADD_ESTIMATED_OUTPUT: Parameter<Flag> = Parameter {
    name: "addEstimatedOutputTokens",
    unit: "",
    kind: Flag { default: false },
    about: "Whether expected output counts as load.",
};

static OUTPUT_RATIO: Parameter<Number> = Parameter {
    name: "outputRatio",
    unit: "",
    kind: Number {
        default: 1.5,
        range: NumberRange::Above(0.0),
    },
    about: "Expected output tokens for each prompt token.",
};

static ESTIMATED_OUTPUT_MAX: Parameter<OptionalCount> = Parameter {
    name: "maxEstimatedOutputTokens",
    unit: "tokens",
    kind: OptionalCount {
        default: "none",
        least: 0,
        most: u64::MAX,
    },
    about: "Limit of the expected output.",
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

static SYNC_CROSS_REPLICA: Parameter<Flag> = Parameter {
    name: "syncCrossReplicaState",
    unit: "",
    kind: Flag { default: true },
    about: "Whether other pickers' requests count.",
};
