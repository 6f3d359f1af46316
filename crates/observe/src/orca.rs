//! Load reports in ORCA's form, which engines put into headers or trailers of their answers.
//!
//! What an engine may write is what Envoy [accepts], in its present form with a word for the format
//! before the report and in its older form without, so that no engine has to change for us. Of a
//! report only what describes the engine's queue and KV cache is taken: the use of processor and
//! memory says nothing of those, and no engine means its KV cache by it.
//!
//! [accepts]: https://www.envoyproxy.io/docs/envoy/latest/api-v3/xds/data/orca/v3/orca_load_report.proto

use std::borrow::Cow;
use std::collections::BTreeMap;

use pointsman_domain::load::LoadSample;
use pointsman_domain::units::Unit;
use pointsman_proto::orca::OrcaLoadReport;
use prost::Message as _;
use serde_json::value::RawValue;

mod base64;

/// Whether a header or trailer of that name carries a report.
pub fn is_report(name: &str) -> bool {
    Form::of(name).is_some()
}

/// The load that a header or trailer reports. `None` if it is no report, or tells nothing that is
/// known here. A value that makes no sense is ignored, and the others are taken.
pub fn read(name: &str, value: &[u8]) -> Option<LoadSample> {
    let form = Form::of(name)?;
    if value.len() > REPORT_BYTES_MAX {
        return None;
    }
    let mut sample = LoadSample::default();
    match form {
        Form::Told => read_told(value.trim_ascii(), &mut sample),
        Form::Json => read_json(value, &mut sample),
        Form::Binary => read_binary(value.trim_ascii(), &mut sample),
    }
    (sample != LoadSample::default()).then_some(sample)
}

/// The names of headers and trailers that carry a report.
pub const NAMES: [&str; 3] = [
    "endpoint-load-metrics",
    "endpoint-load-metrics-bin",
    "endpoint-load-metrics-json",
];

/// Longest report that is read. Those of engines have some hundred bytes.
pub const REPORT_BYTES_MAX: usize = 16 * 1024;

/// What the name of a header says of its value.
#[derive(Clone, Copy)]
enum Form {
    /// The value tells its format itself.
    Told,
    Json,
    Binary,
}

impl Form {
    fn of(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .zip([Self::Told, Self::Binary, Self::Json])
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, form)| form)
    }
}

fn read_told(value: &[u8], sample: &mut LoadSample) {
    if let Some(report) = after_word(value, b"TEXT") {
        read_text(report, sample);
    } else if let Some(report) = after_word(value, b"JSON") {
        read_json(report, sample);
    } else if let Some(report) = after_word(value, b"BIN") {
        read_binary(report, sample);
    } else if value.starts_with(b"{") {
        read_json(value, sample);
    } else {
        read_text(value, sample);
    }
}

fn after_word<'a>(value: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = value.split_at_checked(word.len())?;
    let blanks = rest.first().is_some_and(u8::is_ascii_whitespace);
    (blanks && start.eq_ignore_ascii_case(word)).then(|| rest.trim_ascii_start())
}

/// Reads `name=value, name=value`; older writers put a colon between.
fn read_text(report: &[u8], sample: &mut LoadSample) {
    for entry in report.split(|byte| *byte == b',') {
        let Ok(entry) = core::str::from_utf8(entry) else {
            continue;
        };
        let pair = entry.split_once('=').or_else(|| entry.rsplit_once(':'));
        if let Some((name, value)) = pair
            && let Some(name) = name.trim().strip_prefix("named_metrics.")
            && let Ok(value) = value.trim().parse()
        {
            note(name, value, sample);
        }
    }
}

fn read_json(report: &[u8], sample: &mut LoadSample) {
    let named = members(report).and_then(|members| {
        let named = members
            .get("named_metrics")
            .or_else(|| members.get("namedMetrics"))?;
        self::members(named.get().as_bytes())
    });
    for (name, value) in named.unwrap_or_default() {
        // JSON for a message of protobuf may have a number in quotes.
        if let Ok(value) = value.get().trim_matches('"').parse() {
            note(&name, value, sample);
        }
    }
}

fn members(json: &[u8]) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_slice(json).ok()
}

fn read_binary(report: &[u8], sample: &mut LoadSample) {
    let report = base64::decoded(report).and_then(|bytes| {
        // A message that is broken at its end tells nothing.
        OrcaLoadReport::decode(bytes.as_slice()).ok()
    });
    for (name, value) in report.unwrap_or_default().named_metrics {
        note(&name, value, sample);
    }
}

/// Takes a named metric over, if its name is one that an engine uses and its value can be true. The
/// engine's own name may stand before it, as in its metrics page.
fn note(name: &str, value: f64, sample: &mut LoadSample) {
    let (_, name) = name.rsplit_once(':').unwrap_or(("", name));
    match name {
        // vLLM, SGLang.
        "num_requests_waiting" | "num_queue_reqs" => {
            sample.waiting = requests(value).or(sample.waiting);
        }
        "num_requests_running" | "num_running_reqs" => {
            sample.running = requests(value).or(sample.running);
        }
        // vLLM, vLLM before 0.10, Triton, SGLang.
        "kv_cache_usage_perc" | "gpu_cache_usage_perc" | "kv_cache_utilization" | "token_usage" => {
            let share = (0.0..=1.0).contains(&value);
            sample.kv_usage = share.then(|| Unit::clamped(value)).or(sample.kv_usage);
        }
        _ => {}
    }
}

/// A number of requests; `None` for what no engine can hold.
fn requests(value: f64) -> Option<u32> {
    (0.0..=REQUESTS_MAX)
        .contains(&value)
        .then(|| value.round() as u32)
}

/// More than any engine's queue holds.
const REQUESTS_MAX: f64 = 1_000_000.0;

#[cfg(test)]
mod tests;
