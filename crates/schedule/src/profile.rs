//! A profile: weighted scorers and a picker.

use std::sync::Arc;

use pointsman_domain::event::{CandidateScore, ScorePart};
use pointsman_domain::units::Unit;
use rand::Rng;

use crate::candidate::Candidate;
use crate::picker::Picker;
use crate::picker::ranking::Order;
use crate::question::Question;
use crate::scorer::{Score, Scorer};

/// How to choose among candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The scorers, in the order of the configuration.
    pub scorers: Vec<Weighted>,
    /// What makes an order of the totals.
    pub picker: Picker,
}

/// A scorer and what its score counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// The plugin's name in the configuration.
    pub name: Arc<str>,
    /// The scorer.
    pub scorer: Scorer,
    /// What a score of 1.0 adds to the total.
    pub weight: f64,
}

/// Scores of one run, kept for the explanation and reused by the next run.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// For each scorer, one score per candidate.
    parts: Vec<Unit>,
    /// One weighted sum per candidate.
    totals: Vec<f64>,
}

impl Profile {
    /// Up to as many candidates as are wanted, best first; empty only if there are none.
    pub fn run(
        &mut self,
        question: &Question<'_>,
        scores: &mut Scores,
        rng: &mut impl Rng,
    ) -> Order {
        let count = question.candidates.len();
        if count == 0 {
            return Order::new();
        }
        scores.parts.clear();
        scores.parts.resize(count * self.scorers.len(), Unit::ZERO);
        scores.totals.clear();
        scores.totals.resize(count, 0.0);
        for (weighted, part) in self
            .scorers
            .iter()
            .zip(scores.parts.chunks_exact_mut(count))
        {
            weighted
                .scorer
                .score(question.request, question.candidates, part);
            for (total, score) in scores.totals.iter_mut().zip(part) {
                *total += weighted.weight * score.value();
            }
        }
        self.picker.pick(question, &scores.totals, rng)
    }

    /// The scores of the run that filled `scores`, best total first.
    pub fn explain(&self, candidates: &[Candidate], scores: &Scores) -> Vec<CandidateScore> {
        let count = candidates.len();
        let mut explained: Vec<_> = candidates
            .iter()
            .zip(&scores.totals)
            .enumerate()
            .map(|(index, (candidate, &total))| CandidateScore {
                endpoint: candidate.id,
                address: candidate.address,
                cached_tokens: candidate.cached_tokens,
                own_requests: candidate.own.requests,
                total,
                parts: self
                    .scorers
                    .iter()
                    .enumerate()
                    .map(|(row, weighted)| ScorePart {
                        scorer: Arc::clone(&weighted.name),
                        score: scores
                            .parts
                            .get(row * count + index)
                            .map_or(0.0, |s| s.value()),
                        weight: weighted.weight,
                    })
                    .collect(),
            })
            .collect();
        explained.sort_by(|a, b| b.total.total_cmp(&a.total));
        explained
    }
}
