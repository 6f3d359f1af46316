//! `pointsman lab explain`: one request of a run, and why it went where it went.

use core::fmt::Write as _;
use std::io::Write;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use pointsman_domain::event::{CandidateScore, Picked};
use pointsman_domain::time::Timestamp;
use pointsman_lab::explain::{Explanation, explain};
use pointsman_lab::outcome::{Ending, Record};
use pointsman_lab::policy::Policy;
use pointsman_lab::scenario::Case;
use pointsman_lab::workload::Plan;
use pointsman_lab::workload::spec::class_names;
use serde_json::{Value, json};

use super::run::FIRST_SEED;
use super::selection::{Chosen, check_cases, wrong};
use crate::table;

/// Which request of which run.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A built-in scenario, or a scenario file.
    scenario: String,
    /// The request, by its place in the plan of the workload, from 0 on.
    #[arg(long, value_name = "PLACE")]
    request: usize,
    /// The case; the first one if left out.
    #[arg(long)]
    case: Option<String>,
    /// A built-in policy, or an EndpointPickerConfig file; the case's first one if left out.
    #[arg(long)]
    policy: Option<String>,
    /// The seed of the run.
    #[arg(long, default_value_t = FIRST_SEED)]
    seed: u64,
    /// Print JSON in the place of words.
    #[arg(long)]
    json: bool,
}

/// Runs the case once and prints what became of the request.
pub(super) fn run(arguments: &Arguments, output: &mut dyn Write) -> Result<()> {
    let chosen = [Chosen::new(&arguments.scenario)?];
    let names: Vec<String> = arguments.case.iter().cloned().collect();
    check_cases(&chosen, &names)?;
    let [chosen] = chosen;
    let cases = chosen.cases(&names);
    let case = cases.first().context("the scenario has no case")?;
    let words: Vec<String> = arguments.policy.iter().cloned().collect();
    let policies = chosen.policies(case, &words)?;
    let policy = policies.first().context("the case has no policy")?;
    let explanation = explain(&case.setup, policy, arguments.seed, arguments.request)
        .map_err(|violation| anyhow!("{violation}"))?
        .ok_or_else(|| {
            wrong(format!(
                "the run has no request {}: they count from 0",
                arguments.request
            ))
        })?;
    let subject = Subject {
        chosen: &chosen,
        case,
        policy,
        arguments,
        explanation: &explanation,
    };
    let text = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&subject.json())?)
    } else {
        subject.words()
    };
    output
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

/// One request of one run.
struct Subject<'a> {
    chosen: &'a Chosen,
    case: &'a Case,
    policy: &'a Policy,
    arguments: &'a Arguments,
    explanation: &'a Explanation,
}

impl Subject<'_> {
    fn words(&self) -> String {
        let Explanation {
            plan,
            record,
            picked,
        } = self.explanation;
        let mut text = format!(
            "{}, case {}, policy {}, seed {}: request {}\n",
            self.chosen.scenario.name,
            self.case.name,
            self.policy.name,
            self.arguments.seed,
            self.arguments.request,
        );
        text.push_str(&self.request(plan));
        text.push_str(&self.way(record));
        if let Some(picked) = picked {
            text.push_str(&candidates(picked));
        }
        text.push_str(&end(record));
        text
    }

    /// What it was.
    fn request(&self, plan: &Plan) -> String {
        let shared = plan.pieces.last().map_or(0, |piece| piece.end_tokens);
        let mut text = format!(
            "  class {}, {} prompt tokens, of which others may share the first {shared}, {} output tokens",
            self.class(plan),
            plan.prompt_tokens,
            plan.output_tokens,
        );
        if let Some(session) = plan.session {
            let _ = write!(text, ", session {session}");
        }
        if let Some(adapter) = plan.adapter {
            let _ = write!(text, ", adapter {}", adapter.0);
        }
        text.push('\n');
        text
    }

    /// When it came and where it went.
    fn way(&self, record: &Record) -> String {
        let Some(arrived) = record.arrived else {
            return String::new();
        };
        let mut text = format!("  came at {}", at(arrived));
        match record.picked {
            Some(picked) => {
                let _ = write!(text, ", picked for at {}", at(picked));
            }
            None => text.push_str(", never picked for"),
        }
        if let Some(endpoint) = record.endpoint {
            let _ = write!(
                text,
                ", went to endpoint {endpoint} of group {}",
                self.group(endpoint)
            );
        }
        text.push('\n');
        text
    }

    fn class(&self, plan: &Plan) -> String {
        let mut classes = class_names(&self.case.setup.workloads).into_iter();
        classes.nth(plan.class).unwrap_or_default()
    }

    fn group(&self, endpoint: usize) -> &str {
        let groups = self.case.setup.fleet.groups.iter();
        let mut members =
            groups.flat_map(|group| core::iter::repeat_n(group, group.endpoints.get() as usize));
        members.nth(endpoint).map_or("", |group| &group.name)
    }

    fn json(&self) -> Value {
        let Explanation {
            plan,
            record,
            picked,
        } = self.explanation;
        let millis = |moment: Option<Timestamp>| moment.map(millis);
        json!({
            "scenario": self.chosen.scenario.name,
            "case": self.case.name,
            "policy": self.policy.name,
            "seed": self.arguments.seed,
            "request": self.arguments.request,
            "class": self.class(plan),
            "prompt_tokens": plan.prompt_tokens,
            "shared_tokens": plan.pieces.last().map_or(0, |piece| piece.end_tokens),
            "output_tokens": plan.output_tokens,
            "session": plan.session,
            "adapter": plan.adapter.map(|adapter| adapter.0),
            "arrived_ms": millis(record.arrived),
            "picked_ms": millis(record.picked),
            "endpoint": record.endpoint,
            "group": record.endpoint.map(|endpoint| self.group(endpoint)),
            "admitted_ms": millis(record.admitted),
            "cached_tokens": record.cached_tokens,
            "first_token_ms": millis(record.first_token),
            "ended_ms": millis(record.ended),
            "ending": word(record.ending),
            "picked": picked,
        })
    }
}

/// All candidates, best first, with what each scorer gave them.
fn candidates(picked: &Picked) -> String {
    let scores = picked.scores.as_deref().unwrap_or_default();
    let parts = scores
        .first()
        .map(|best| best.parts.as_slice())
        .unwrap_or_default();
    let mut header = vec!["candidate", "total", "cached tokens", "own requests"];
    let names: Vec<String> = parts
        .iter()
        .map(|part| format!("{}\nweight {}", table::broken(&part.scorer), part.weight))
        .collect();
    header.extend(names.iter().map(String::as_str));
    let rows = scores.iter().map(|candidate| {
        let CandidateScore {
            endpoint,
            address,
            cached_tokens,
            own_requests,
            total,
            parts,
        } = candidate;
        let mark = if *endpoint == picked.endpoint {
            " *"
        } else {
            ""
        };
        let mut cells = vec![
            format!("{address}{mark}"),
            format!("{total:.3}"),
            cached_tokens.0.to_string(),
            own_requests.to_string(),
        ];
        cells.extend(parts.iter().map(|part| format!("{:.3}", part.score)));
        cells
    });
    let table = table::figures(&header, rows.collect());
    format!("\ncandidates, best first; * was picked\n{table}\n\n")
}

/// What became of it.
fn end(record: &Record) -> String {
    let mut text = String::from("  ");
    if let Some(admitted) = record.admitted {
        let cached = record.cached_tokens;
        let _ = write!(
            text,
            "the engine began at {} with {cached} tokens in its cache; ",
            at(admitted)
        );
    }
    if let Some((first, arrived)) = record.first_token.zip(record.arrived) {
        let after = millis(first) - millis(arrived);
        let _ = write!(
            text,
            "first token at {}, {} ms after it came; ",
            at(first),
            table::figure(after)
        );
    }
    text.push_str(word(record.ending));
    if let Some(ended) = record.ended {
        let _ = write!(text, " at {}", at(ended));
    }
    text.push('\n');
    text
}

const fn word(ending: Ending) -> &'static str {
    match ending {
        Ending::Open => "open when the run ended",
        Ending::Complete => "complete",
        Ending::Refused => "refused",
        Ending::Failed => "failed",
        Ending::Left => "left by its client",
        Ending::Unasked => "never asked, as the request before it had no answer",
    }
}

fn at(moment: Timestamp) -> String {
    format!("{:.3} ms", millis(moment))
}

fn millis(moment: Timestamp) -> f64 {
    moment.as_nanos() as f64 / 1e6
}

const EXAMPLES: &str = "Examples:
  pointsman lab explain s01 --request 17
  pointsman lab explain s04 --case every-50-ms --policy least-scaled --request 300 --seed 5
  pointsman lab explain my-scenario.yaml --policy my-config.yaml --request 0 --json";

#[cfg(test)]
mod tests;
