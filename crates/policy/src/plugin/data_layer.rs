//! Parameters of the plugins that bring in endpoints and their load.

use core::time::Duration;

use super::{Built, Part};
use crate::config::{FileDiscovery, MetricsSource};
use crate::fields::Fields;
use crate::parameter::number::OptionalCount;
use crate::parameter::text::{FilePath, OptionalDuration, Scheme, Text, UrlPath};
use crate::parameter::value::{Anything, Flag};
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
    about: "Reads the load from the engines' metrics, by vLLM's names. It is there without being \
            listed.",
    parameters: &[&ENGINE_LABEL_KEY, &DEFAULT_ENGINE, &ENGINE_CONFIGS],
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
    ENGINE_LABEL_KEY.check(fields);
    DEFAULT_ENGINE.check(fields);
    ENGINE_CONFIGS.check(fields);
    Part::Nothing
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

static ENGINE_LABEL_KEY: Inactive<Text> = Inactive(Parameter {
    name: "engineLabelKey",
    unit: "",
    kind: Text {
        default: "llm-d.ai/engine-type",
    },
    about: "Would choose the names of metrics by this label of the endpoint.",
});

static DEFAULT_ENGINE: Inactive<Text> = Inactive(Parameter {
    name: "defaultEngine",
    unit: "",
    kind: Text { default: "vllm" },
    about: "Would choose the names of metrics of endpoints without that label.",
});

static ENGINE_CONFIGS: Inactive<Anything> = Inactive(Parameter {
    name: "engineConfigs",
    unit: "",
    kind: Anything,
    about: "Would give the names of metrics of each engine.",
});

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
