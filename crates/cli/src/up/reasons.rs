//! Why an engine won: the picker's own account of its picks, in words.

use serde::Deserialize;

/// One pick as the picker's debug page tells it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pick {
    request: u64,
    endpoint: String,
    prompt_tokens: u64,
    scores: Vec<Candidate>,
}

#[derive(Clone, Debug, Deserialize)]
struct Candidate {
    endpoint: String,
    total: f64,
    cached_tokens: u64,
    own_requests: u64,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Deserialize)]
struct Part {
    scorer: String,
    score: f64,
    weight: f64,
}

/// Up to three picks that differ much: the one with the widest lead of the winner, the closest one
/// and the one in the middle. Picks that a coin decided tell nothing and are left out.
pub(super) fn samples(mut picks: Vec<Pick>) -> Vec<Pick> {
    picks.retain(|pick| pick.lead() >= LEAD_MIN);
    picks.sort_by(|one, other| other.lead().total_cmp(&one.lead()));
    let last = picks.len().saturating_sub(1);
    let mut places = vec![0, last / 2, last];
    places.dedup();
    places
        .into_iter()
        .filter_map(|place| picks.get(place).cloned())
        .collect()
}

impl Pick {
    /// The reasons in one paragraph. `name` turns an address into an engine's name.
    pub(super) fn explain(&self, name: impl Fn(&str) -> String) -> String {
        let Some((winner, runner_up)) = self.contest() else {
            return format!("Request {}: no other engine to choose from.", self.request);
        };
        let mut text = format!(
            "Request {} with {} prompt tokens went to {}, {:.2} points to {:.2} of {}:",
            self.request,
            self.prompt_tokens,
            name(&winner.endpoint),
            winner.total,
            runner_up.total,
            name(&runner_up.endpoint),
        );
        for part in &winner.parts {
            let other = runner_up
                .parts
                .iter()
                .find(|other| other.scorer == part.scorer)
                .map_or(0.0, |other| other.score);
            text.push_str(&format!(
                "\n    {:28} {:.2} to {:.2}, weight {}",
                part.scorer, part.score, other, part.weight
            ));
        }
        text.push_str(&format!(
            "\n    It held {} of the prompt's tokens (the other {}) and had {} in flight (the other {}).",
            winner.cached_tokens,
            runner_up.cached_tokens,
            requests(winner.own_requests),
            requests(runner_up.own_requests),
        ));
        text
    }

    /// The winner and the best of the others.
    fn contest(&self) -> Option<(&Candidate, &Candidate)> {
        let is_winner = |candidate: &&Candidate| candidate.endpoint == self.endpoint;
        let winner = self.scores.iter().find(is_winner)?;
        let runner_up = self
            .scores
            .iter()
            .filter(|candidate| !is_winner(candidate))
            .max_by(|one, other| one.total.total_cmp(&other.total))?;
        Some((winner, runner_up))
    }

    fn lead(&self) -> f64 {
        self.contest()
            .map_or(0.0, |(winner, runner_up)| winner.total - runner_up.total)
    }
}

fn requests(count: u64) -> String {
    match count {
        0 => "no request".to_owned(),
        1 => "one request".to_owned(),
        count => format!("{count} requests"),
    }
}

/// Points by which a winner must lead for its pick to be worth a look.
const LEAD_MIN: f64 = 0.01;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn candidate(endpoint: &str, prefix: f64, queue: f64) -> Value {
        json!({
            "endpoint": endpoint,
            "total": 3.0 * prefix + 2.0 * queue,
            "cached_tokens": (prefix * 1000.0) as u64,
            "own_requests": 1,
            "parts": [
                { "scorer": "prefix-cache-scorer", "score": prefix, "weight": 3.0 },
                { "scorer": "queue-scorer", "score": queue, "weight": 2.0 },
            ],
        })
    }

    fn pick(request: u64, endpoint: &str, scores: &[Value]) -> Pick {
        serde_json::from_value(json!({
            "request": request,
            "endpoint": endpoint,
            "prompt_tokens": 1000,
            "cached_tokens": 0,
            "candidates": scores.len(),
            "waited_ms": 0.0,
            "scores": scores,
        }))
        .unwrap()
    }

    #[test]
    fn the_widest_the_middle_and_the_closest_lead_are_shown() {
        let contest = |request, prefix| {
            let scores = [candidate("b", 0.0, 1.0), candidate("a", prefix, 1.0)];
            pick(request, "a", &scores)
        };
        let mut picks = vec![
            contest(1, 0.5),
            contest(2, 0.0),
            contest(3, 0.1),
            contest(4, 0.9),
            pick(5, "a", &[candidate("a", 1.0, 1.0)]),
            pick(6, "a", &[]),
        ];
        let shown = |picks: &[Pick]| -> Vec<u64> {
            samples(picks.to_vec())
                .iter()
                .map(|pick| pick.request)
                .collect()
        };
        assert_eq!(shown(&picks), [4, 1, 3]);
        picks.truncate(1);
        assert_eq!(shown(&picks), [1]);
        assert!(shown(&[]).is_empty());
    }

    #[test]
    fn the_account_names_both_engines_and_every_score() {
        let scores = [
            candidate("10.0.0.1:1", 0.9, 0.5),
            candidate("10.0.0.2:1", 0.1, 1.0),
            candidate("10.0.0.3:1", 0.0, 0.1),
        ];
        let text = pick(41, "10.0.0.1:1", &scores).explain(|address| format!("<{address}>"));
        assert_eq!(
            text,
            "Request 41 with 1000 prompt tokens went to <10.0.0.1:1>, 3.70 points to 2.30 of \
             <10.0.0.2:1>:\n    \
             prefix-cache-scorer          0.90 to 0.10, weight 3\n    \
             queue-scorer                 0.50 to 1.00, weight 2\n    \
             It held 900 of the prompt's tokens (the other 100) and had one request in flight (the \
             other one request)."
        );
    }
}
