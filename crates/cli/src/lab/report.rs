//! What a run found, in words and tables.

use core::fmt::Write as _;

use super::document::Work;
use super::estimate::Estimate;
use super::judge::{Judged, Outcome};
use super::measure_table::{self, Cell, Row};
use super::run::{Measured, Results};

/// The title of a scenario, a table for each case, and the checks.
pub(super) fn scenario(results: &Results<'_>, judged: &[Judged]) -> String {
    let scenario = &results.chosen.scenario;
    let mut text = format!("{}: {}\n", scenario.name, scenario.title);
    for measured in results.by_case() {
        let _ = write!(
            text,
            "\n{}\n{}\n",
            caption(results, measured),
            case(&scenario.show, measured)
        );
    }
    if !judged.is_empty() {
        text.push_str("\nchecks\n");
    }
    for alike in judged.chunk_by(is_alike) {
        let demands: Vec<&str> = alike.iter().map(|judged| judged.demand.as_str()).collect();
        let (demands, first) = (demands.join(", "), alike.first());
        let (outcome, found) = first.map_or(("", ""), |j| (word(j.outcome), &j.found));
        let _ = writeln!(text, "  {outcome:10}  {demands}: {found}");
    }
    text.push('\n');
    text
}

/// Checks that were not judged for one reason are told together.
fn is_alike(one: &Judged, other: &Judged) -> bool {
    let not_judged = |judged: &Judged| judged.outcome == Outcome::NotJudged;
    not_judged(one) && not_judged(other) && one.found == other.found
}

/// What all this took, and how to do it again.
pub(super) fn end(judged: &[Judged], work: &Work, repeat: &str) -> String {
    let count = |outcome| {
        judged
            .iter()
            .filter(|judged| judged.outcome == outcome)
            .count()
    };
    format!(
        "{} checks hold, {} fail, {} were not judged\n\
         {} simulated requests in {:.1} s on {} threads: {:.2} million a minute on each\n\
         again: {repeat}\n",
        count(Outcome::Holds),
        count(Outcome::Fails),
        count(Outcome::NotJudged),
        work.requests,
        work.seconds,
        work.threads,
        work.requests_per_minute_per_thread / 1e6,
    )
}

fn caption(results: &Results<'_>, measured: &[Measured<'_>]) -> String {
    let seeds = results.seeds;
    let case = measured
        .first()
        .map_or("", |measured| measured.case.name.as_str());
    let first = measured
        .first()
        .map_or("", |measured| measured.policy.name.as_str());
    match seeds.count {
        1 => format!("case {case}, seed {}", seeds.first),
        count if measured.len() > 1 => format!(
            "case {case}, {count} seeds from {}: means with 95 % intervals; differences to {first}, \
             seed by seed",
            seeds.first
        ),
        count => format!(
            "case {case}, {count} seeds from {}: means with 95 % intervals",
            seeds.first
        ),
    }
}

fn case(show: &[String], measured: &[Measured<'_>]) -> String {
    let Some((first, others)) = measured.split_first() else {
        return String::new();
    };
    let alone = row(first, show, |_| None);
    let compared = others.iter().map(|other| {
        row(other, show, |name| {
            let difference = Estimate::of_differences(&other.values(name)?, &first.values(name)?)?;
            // Of one seed, it is the difference of the two lines above each other.
            difference.margin.is_some().then_some(difference)
        })
    });
    let rows: Vec<Row> = core::iter::once(alone).chain(compared).collect();
    measure_table::measures(show, &rows)
}

fn row(
    measured: &Measured<'_>,
    show: &[String],
    difference: impl Fn(&str) -> Option<Estimate>,
) -> Row {
    let cells = show.iter().map(|name| Cell {
        value: measured.values(name).as_deref().and_then(Estimate::of),
        difference: difference(name),
    });
    Row {
        policy: measured.policy.name.clone(),
        cells: cells.collect(),
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "FAILS",
        Outcome::NotJudged => "not judged",
    }
}

#[cfg(test)]
mod tests;
