use pointsman_domain::block::{BlockHash, BlockKey, BlockSize};
use pointsman_domain::facts::RequestId;
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::pool::Detail;

use super::*;

fn entry(input: Input, outputs: Vec<Output>) -> Entry {
    Entry {
        sequence: 0,
        now: Timestamp::ZERO,
        step: Step::Input(input),
        outputs,
    }
}

fn offer(facts: RequestFacts) -> Entry {
    let input = Input::Offer {
        id: RequestId(1),
        facts: Box::new(facts),
        detail: Detail::Brief,
    };
    entry(input, Vec::new())
}

fn spec(name_bytes: usize) -> EndpointSpec {
    EndpointSpec::new("x".repeat(name_bytes), ([10, 0, 0, 1], 80).into())
}

#[test]
fn everything_that_can_be_long_counts() {
    const LONG: usize = 100_000;
    let plain = RequestFacts::passthrough(BlockSize::DEFAULT);
    let mut prompt = plain.clone();
    prompt.prompt.blocks = vec![BlockHash(1); LONG];
    let mut named = plain.clone();
    named.fairness_id = Some("x".repeat(LONG).into());
    let mut labelled = spec(1);
    labelled.labels.insert("app".to_owned(), "x".repeat(LONG));
    let id = EndpointId {
        slot: 1,
        generation: 1,
    };
    let lives = Output::Endpoints {
        added: vec![(id, spec(LONG))],
        removed: Vec::new(),
    };
    let stored = Input::CacheStored {
        endpoint: id,
        keys: vec![BlockKey(1); LONG],
    };
    for (long, bytes) in [
        (offer(prompt), 8 * LONG),
        (offer(named), LONG),
        (entry(Input::Endpoints(vec![labelled]), Vec::new()), LONG),
        (entry(stored, Vec::new()), 8 * LONG),
        (entry(Input::Expire, vec![lives]), LONG),
    ] {
        assert!((bytes..bytes + 5000).contains(&of(&long)), "{bytes}");
    }
    assert!(of(&offer(plain)) < 5000);
}
