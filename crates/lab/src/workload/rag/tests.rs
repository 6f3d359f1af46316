use rand::SeedableRng as _;
use serde_json::json;

use super::*;
use crate::workload::spec::WorkloadSpec;
use crate::workload::{Plan, Workload};

fn planned(found: u32) -> Workload {
    let spec = json!({
        "questions": 1000,
        "arrivals": {"poisson": {"mean_gap_ms": 10}},
        "system": {"tokens": 500},
        "question_tokens": {"uniform": [20, 60]},
        "query_tokens": 12,
        "retrieval_ms": 40,
        "documents": {
            "count": 200,
            "zipf": 1,
            "tokens": {"uniform": [300, 900]},
            "found": found,
        },
        "output_tokens": {"around": 200},
        "adapters": {"count": 2},
    });
    let spec = WorkloadSpec::Rag(serde_json::from_value(spec).unwrap());
    Workload::plan(&[spec], &mut Pcg64Mcg::seed_from_u64(4))
}

/// Both requests of each question.
fn pairs(workload: &Workload) -> Vec<(&Plan, &Plan)> {
    let pair = |query: &'_ usize| {
        let query = &workload.plans[*query];
        (query, &workload.plans[query.next.unwrap().plan])
    };
    let queries: Vec<usize> = workload
        .arrivals
        .iter()
        .map(|arrival| arrival.plan)
        .collect();
    queries.iter().map(pair).collect()
}

#[test]
fn a_question_takes_a_query_and_an_answer_with_documents() {
    let workload = planned(4);
    let pairs = pairs(&workload);
    assert_eq!(pairs.len(), 1000);
    for (query, answer) in pairs {
        assert_eq!(query.next.unwrap().think.as_millis(), 40);
        assert_eq!(answer.next, None);
        assert_eq!(
            (query.session, query.adapter),
            (answer.session, answer.adapter)
        );
        assert_eq!(query.output_tokens.get(), 12);
        assert!((100..300).contains(&answer.output_tokens.get()));
        // The system prompt, and the same question behind it.
        assert_eq!(query.pieces, answer.pieces[..1]);
        let own = |plan: &Plan| plan.prompt_tokens.get() - plan.pieces.last().unwrap().end_tokens;
        assert_eq!(own(query), own(answer));
        assert!((20..60).contains(&own(query)));
        assert!((2..=5).contains(&answer.pieces.len()));
    }
}

#[test]
fn only_leading_documents_are_shared() {
    let workload = planned(4);
    let answers: Vec<&Plan> = pairs(&workload)
        .into_iter()
        .map(|(_, answer)| answer)
        .collect();
    let shared_with_others = |place: usize| {
        let names: Vec<_> = answers
            .iter()
            .filter_map(|plan| plan.pieces.get(place))
            .collect();
        let mut distinct: Vec<_> = names.iter().map(|piece| piece.key).collect();
        distinct.sort_unstable();
        distinct.dedup();
        1.0 - distinct.len() as f64 / names.len() as f64
    };
    // By place in the prompt: the system prompt, then the documents.
    let shared: Vec<f64> = (0..4).map(shared_with_others).collect();
    assert!(shared[0] > 0.99 && shared[1] > 0.8, "{shared:?}");
    assert!(shared[2] > 0.1 && shared[2] < shared[1] - 0.2, "{shared:?}");
    assert!(shared[3] < shared[2] - 0.1, "{shared:?}");
}

#[test]
fn a_document_is_in_a_prompt_once_and_has_one_length() {
    let documents: Documents = serde_json::from_value(json!({
        "count": 3, "tokens": {"uniform": [300, 900]}, "found": 50,
    }))
    .unwrap();
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let choice = documents.choice(&mut rng);
    let mut first = documents.find(&choice, &mut rng);
    let mut second = documents.find(&choice, &mut rng);
    first.sort_by_key(|document| document.number);
    second.sort_by_key(|document| document.number);
    assert_eq!(first.len(), 3);
    assert_eq!(first, second);
}
