//! Parameters of the plugins that bring in endpoints and their load.

use core::time::Duration;

use super::engines::EngineConfigs;
use super::{Built, Part};
use crate::config::{FileDiscovery, MetricNames, MetricsSource};
use crate::fields::Fields;
use crate::parameter::number::OptionalCount;
use crate::parameter::text::{FilePath, OptionalDuration, Scheme, Text, UrlPath};
use crate::parameter::value::Flag;
use crate::parameter::{Inactive, Parameter};

pub(crate) static METRICS_SOURCE: Built = Built {
    about: "Reads the engines' metrics. It is there without being listed; list it to change where \
            and how often it reads.",
    parameters: &[
        &METRICS_PATH,
        &METRICS_PORT,
        &INTERVAL,
        &SCHEME,
        &INSECURE_SKIP_VERIFY,
        &CA_CERT_PATH,
        &CLIENT_CERT_PATH,
        &CLIENT_KEY_PATH,
    ],
    read: metrics_source,
};

pub(crate) static METRICS_EXTRACTOR: Built = Built {
    about: "Reads the load from the engines' metrics, by the names that each kind of engine uses. It \
            is there without being listed.",
    parameters: &[&ENGINE_LABEL_KEY, &DEFAULT_ENGINE, &EngineConfigs],
    read: metrics_extractor,
};

pub(crate) static FILE_DISCOVERY: Built = Built {
    about: "Takes the endpoints from a file; name the plugin in `dataLayer.discovery.pluginRef`.",
    parameters: &[&FILE_PATH, &WATCH_FILE],
    read: |fields| {
        Part::Discovery(FileDiscovery {
            path: FILE_PATH.of(fields),
            watch: WATCH_FILE.of(fields),
        })
    },
};

fn metrics_source(fields: &mut Fields<'_>) -> Part {
    let source = MetricsSource {
        path: METRICS_PATH.of(fields),
        port: METRICS_PORT
            .of(fields)
            .and_then(|port| u16::try_from(port).ok()),
        interval: INTERVAL.of(fields),
    };
    SCHEME.of(fields);
    INSECURE_SKIP_VERIFY.check(fields);
    CA_CERT_PATH.check(fields);
    CLIENT_CERT_PATH.check(fields);
    CLIENT_KEY_PATH.check(fields);
    Part::Metrics(source)
}

fn metrics_extractor(fields: &mut Fields<'_>) -> Part {
    let mut names = MetricNames {
        label: ENGINE_LABEL_KEY.of(fields),
        default: DEFAULT_ENGINE.of(fields),
        ..MetricNames::default()
    };
    let listed = EngineConfigs::of(fields).into_iter();
    // What has no name is a problem already.
    let listed = listed.filter(|engine| !engine.name.is_empty());
    names
        .engines
        .extend(listed.map(|engine| (engine.name, engine.names)));
    if !names.engines.contains_key(&names.default) {
        let known: Vec<_> = names
            .engines
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        let message = format!("must be one of {}", known.join(", "));
        fields.problem(DEFAULT_ENGINE.name, message);
    }
    Part::MetricNames(names)
}

/// The path of an engine's metrics where none is set.
pub(crate) const METRICS_PATH_DEFAULT: &str = "/metrics";

static METRICS_PATH: Parameter<UrlPath> = Parameter {
    name: "path",
    unit: "",
    kind: UrlPath {
        default: METRICS_PATH_DEFAULT,
    },
    about: "The path of an engine's metrics.",
};

static METRICS_PORT: Parameter<OptionalCount> = Parameter {
    name: "port",
    unit: "",
    kind: OptionalCount {
        default: "the endpoint's own port",
        least: 1,
        most: 65_535,
    },
    about: "The port of an engine's metrics, the same at all endpoints.",
};

static INTERVAL: Parameter<OptionalDuration> = Parameter {
    name: "interval",
    unit: "duration",
    kind: OptionalDuration {
        default: "the flag `--refresh-metrics-interval`",
        least: Duration::from_millis(1),
        most: Duration::from_secs(3600),
    },
    about: "Time between two reads of one endpoint.",
};

static SCHEME: Parameter<Scheme> = Parameter {
    name: "scheme",
    unit: "",
    kind: Scheme,
    about: "How an engine's metrics are read.",
};

static INSECURE_SKIP_VERIFY: Inactive<Flag> = Inactive(Parameter {
    name: "insecureSkipVerify",
    unit: "",
    kind: Flag { default: true },
    about: "Would leave an engine's certificate unchecked.",
});

static CA_CERT_PATH: Inactive<Text> = Inactive(Parameter {
    name: "caCertPath",
    unit: "",
    kind: Text { default: "" },
    about: "Would check an engine's certificate.",
});

static CLIENT_CERT_PATH: Inactive<Text> = Inactive(Parameter {
    name: "clientCertPath",
    unit: "",
    kind: Text { default: "" },
    about: "Would show a certificate to the engine.",
});

static CLIENT_KEY_PATH: Inactive<Text> = Inactive(Parameter {
    name: "clientKeyPath",
    unit: "",
    kind: Text { default: "" },
    about: "The key of `clientCertPath`.",
});

static ENGINE_LABEL_KEY: Parameter<Text> = Parameter {
    name: "engineLabelKey",
    unit: "",
    kind: Text {
        default: ENGINE_LABEL_DEFAULT,
    },
    about: "The label of an endpoint that names its kind of engine.",
};

static DEFAULT_ENGINE: Parameter<Text> = Parameter {
    name: "defaultEngine",
    unit: "",
    kind: Text {
        default: ENGINE_DEFAULT,
    },
    about: "The kind of engine of endpoints without that label, or with another word in it: `vllm`, \
            `sglang`, `trtllm-serve`, `triton-tensorrt-llm`, `triton`, or one of `engineConfigs`.",
};

/// The label that names an endpoint's kind of engine where none is set.
pub(crate) const ENGINE_LABEL_DEFAULT: &str = "llm-d.ai/engine-type";

/// The kind of engine of endpoints that are not labelled, where none is set.
pub(crate) const ENGINE_DEFAULT: &str = "vllm";

static FILE_PATH: Parameter<FilePath> = Parameter {
    name: "path",
    unit: "",
    kind: FilePath,
    about: "The endpoints file.",
};

static WATCH_FILE: Parameter<Flag> = Parameter {
    name: "watchFile",
    unit: "",
    kind: Flag { default: false },
    about: "Whether a change of the file counts at once; a broken file leaves the last good one.",
};
