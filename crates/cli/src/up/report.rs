//! The result for people and, as one line of JSON, for programs.

use comfy_table::{CellAlignment, Table, presets};

use super::summary::Summary;

/// Both runs.
pub(super) struct Report {
    pub(super) round_robin: Summary,
    pub(super) pointsman: Summary,
}

impl Report {
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["", "round robin", "pointsman"]);
        let mut row = |name: &str, value: fn(&Summary) -> String| {
            table.add_row([
                name.to_owned(),
                value(&self.round_robin),
                value(&self.pointsman),
            ]);
        };
        row("requests", |run| run.requests.to_string());
        row("failed", |run| run.failed().to_string());
        row("TTFT p50, model ms", |run| {
            format!("{:.0}", run.ttft_p50_ms)
        });
        row("TTFT p95, model ms", |run| {
            format!("{:.0}", run.ttft_p95_ms)
        });
        row("TTFT p99, model ms", |run| {
            format!("{:.0}", run.ttft_p99_ms)
        });
        row("prompt tokens from cache", |run| {
            format!("{:.1} %", 100.0 * run.cached_share())
        });
        row("requests per engine", |run| {
            let counts: Vec<String> = run.spread.values().map(ToString::to_string).collect();
            counts.join(" / ")
        });
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }

    /// Why requests failed, if any did.
    pub(super) fn failures(&self) -> Vec<String> {
        let runs = [
            ("round robin", &self.round_robin),
            ("pointsman", &self.pointsman),
        ];
        runs.into_iter()
            .flat_map(|(name, run)| {
                run.failures
                    .iter()
                    .map(move |(reason, count)| format!("{name}: {count} failed: {reason}"))
            })
            .collect()
    }

    /// One line for programs.
    pub(super) fn json(&self) -> String {
        let run = |summary: &Summary| {
            let p95 = rounded(summary.ttft_p95_ms, 10.0);
            let share = rounded(summary.cached_share(), 10_000.0);
            format!(r#"{{"ttft_p95_ms":{p95},"cached_share":{share}}}"#)
        };
        format!(
            r#"{{"requests":{},"failed":{},"round_robin":{},"pointsman":{}}}"#,
            self.round_robin.requests + self.pointsman.requests,
            self.failed(),
            run(&self.round_robin),
            run(&self.pointsman),
        )
    }

    /// What the demo promises and did not hold, if anything.
    pub(super) fn broken_promise(&self) -> Option<String> {
        let (theirs, ours) = (
            self.round_robin.cached_share(),
            self.pointsman.cached_share(),
        );
        if self.failed() > 0 {
            Some(format!("{} requests failed", self.failed()))
        } else if self.round_robin.requests == 0 || self.pointsman.requests == 0 {
            Some("a run was too short for any request".to_owned())
        } else if ours <= theirs {
            Some(format!(
                "the picker's share of cached tokens, {ours:.3}, is not above round robin's, \
                 {theirs:.3}"
            ))
        } else {
            None
        }
    }

    fn failed(&self) -> usize {
        self.round_robin.failed() + self.pointsman.failed()
    }
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

#[cfg(test)]
mod tests;
