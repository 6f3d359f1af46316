//! Questions that are answered from retrieved documents.

use pointsman_domain::block::BlockKey;
use pointsman_engine::job::AdapterId;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

use super::Piece;
use super::arrivals::{Arrivals, Clock, WholeMs};
use super::choice::Choice;
use super::distribution::Distribution;
use super::number::{Count, Unevenness};
use super::planner::{Draft, Planner, beneath};
use super::spec::{Adapters, SharedPrefix, Size, drawn};
use crate::scenario::units::Millis;

/// Questions, each of which takes two requests. The first makes a search query of the question. The
/// second answers it; between its system prompt and the question it has the documents found. Popular
/// documents come in many prompts, but behind different ones, so only the leading ones are shared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RagSpec {
    /// The name of the class in measures.
    #[serde(default = "name")]
    pub name: String,
    /// How many questions there are.
    pub questions: Count,
    /// When they come.
    pub arrivals: Arrivals,
    /// When the arrivals start.
    #[serde(default)]
    pub start_ms: Millis,
    /// Whether questions come at whole milliseconds, and retrievals take whole ones.
    #[serde(default)]
    pub whole_ms: WholeMs,
    /// The system prompts that questions share, if any. Both requests of a question have the same.
    #[serde(default)]
    pub system: Option<SharedPrefix>,
    /// Tokens of a question, which is in both requests.
    pub question_tokens: Distribution,
    /// Tokens of the query, the answer of the first request.
    pub query_tokens: Distribution,
    /// The time from the query to the second request.
    pub retrieval_ms: Distribution,
    /// What is searched.
    pub documents: Documents,
    /// Tokens of the answer of the second request.
    pub output_tokens: Distribution,
    /// The adapters of questions, if any. Both requests of a question ask for the same.
    #[serde(default)]
    pub adapters: Option<Adapters>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Documents {
    /// How many documents there are.
    pub count: Count,
    /// How uneven their popularity is: that of the n-th is 1/n to the power of this. 0 is even.
    #[serde(default)]
    pub zipf: Unevenness,
    /// Tokens of each, drawn once for each, and at least 1.
    pub tokens: Distribution,
    /// How many are found for a question, at most [`FOUND_MAX`], in the order in which they are
    /// drawn. One that is drawn again is left out.
    pub found: Distribution,
}

impl RagSpec {
    /// The expected size of the plan.
    pub(crate) fn size(&self) -> Size {
        let questions = f64::from(self.questions.get());
        Size {
            requests: 2.0 * questions,
            pieces: questions * (2.0 + self.documents.found.mean().min(f64::from(FOUND_MAX))),
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        let systems = self.system.map(|system| system.choice(planner, SYSTEMS));
        let adapters = self.adapters.map(Adapters::choice);
        let documents = self.documents.choice(&mut planner.lengths);
        let beginning = beneath(planner.root(), DOCUMENTS);
        let mut clock = Clock::new(self.arrivals, self.start_ms, self.whole_ms);
        for _ in 0..self.questions.get() {
            let at = clock.next(&mut planner.times);
            let session = planner.session();
            let rng = &mut planner.lengths;
            let question = Question {
                tokens: self.question_tokens.draw_whole(rng),
                adapter: drawn(adapters.as_ref(), rng),
                session,
            };
            let system = drawn(systems.as_ref(), rng);
            let mut pieces: Vec<Piece> = system.into_iter().collect();
            let query = question.request(pieces.clone(), self.query_tokens.draw_whole(rng));
            for document in self.documents.find(&documents, rng) {
                let piece = document.behind(pieces.last(), beginning);
                pieces.push(piece);
            }
            let answer = question.request(pieces, self.output_tokens.draw_whole(rng));
            let retrieval = self.whole_ms.round(self.retrieval_ms.draw(rng));
            let query = planner.arrive(at, query);
            planner.follow(query, retrieval.duration(), answer);
        }
    }
}

impl Documents {
    fn choice(&self, rng: &mut Pcg64Mcg) -> Choice<Document> {
        Choice::zipf(self.count, self.zipf, |number| Document {
            number,
            tokens: self.tokens.draw_whole(rng).max(1),
        })
    }

    fn find(&self, documents: &Choice<Document>, rng: &mut Pcg64Mcg) -> Vec<Document> {
        let mut found: Vec<Document> = Vec::new();
        for _ in 0..self.found.draw_whole(rng).min(FOUND_MAX) {
            let document = *documents.draw(rng);
            if !found.contains(&document) {
                found.push(document);
            }
        }
        found
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Document {
    number: u32,
    tokens: u32,
}

impl Document {
    /// The document as the next piece of a prompt that ends with `last`, or with none that is shared.
    fn behind(self, last: Option<&Piece>, beginning: BlockKey) -> Piece {
        let (key, end_tokens) = last.map_or((beginning, 0), |last| (last.key, last.end_tokens));
        Piece {
            key: beneath(key, u64::from(self.number)),
            end_tokens: end_tokens + self.tokens,
        }
    }
}

struct Question {
    tokens: u32,
    adapter: Option<AdapterId>,
    session: u32,
}

impl Question {
    fn request(&self, pieces: Vec<Piece>, output_tokens: u32) -> Draft {
        let shared_tokens = pieces.last().map_or(0, |piece| piece.end_tokens);
        Draft {
            pieces,
            prompt_tokens: shared_tokens + self.tokens,
            output_tokens,
            adapter: self.adapter,
            class: 0,
            session: Some(self.session),
        }
    }
}

fn name() -> String {
    "rag".to_owned()
}

const SYSTEMS: u64 = 0;
const DOCUMENTS: u64 = 1;

/// Documents in one prompt.
pub const FOUND_MAX: u32 = 100;

#[cfg(test)]
mod tests;
