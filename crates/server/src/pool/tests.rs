use pointsman_domain::block::BlockSize;
use pointsman_domain::decision::Refusal;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::ScrapeFault;
use pointsman_policy::config::{compile, parse};

use super::*;
use crate::metrics::Metrics;

const HOLDING: &str = "
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
flowControl: {noEndpointRequestTTL: 20ms}
";

fn door(config: &str) -> (Arc<PoolDoor>, mpsc::UnboundedReceiver<Lives>) {
    let spec = parse(config).unwrap();
    let config = compile(&spec, Attachment::Gateway).unwrap().runtime;
    PoolDoor::new(
        config,
        7,
        1,
        Arc::new(Recorder::new(Metrics::new().unwrap())),
        Tape::off(),
    )
}

fn endpoint(number: u8) -> EndpointSpec {
    EndpointSpec::new(
        format!("default/{number}"),
        ([127, 0, 0, number], 8000).into(),
    )
}

fn facts() -> Box<RequestFacts> {
    Box::new(RequestFacts::passthrough(BlockSize::DEFAULT))
}

fn offer(id: RequestId) -> Input {
    let (facts, detail) = (facts(), Detail::Brief);
    Input::Offer { id, facts, detail }
}

#[test]
fn a_dropped_ticket_gives_its_reservation_back_at_once() {
    let (door, _lives) = door("");
    door.input(Input::Endpoints(vec![endpoint(1)]));
    let (ticket, answer) = door.offer(facts());
    assert!(matches!(answer, Answer::Now(Decision::Picked(_))));
    assert_eq!(door.sizes().in_flight, 1);
    drop(ticket);
    assert_eq!(door.sizes().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_appears_wakes_a_stream_that_waits() {
    let (door, _lives) = door(HOLDING);
    let (_ticket, answer) = door.offer(facts());
    let Answer::Later(receiver) = answer else {
        panic!("not held")
    };
    door.input(Input::Endpoints(vec![endpoint(1)]));
    assert!(matches!(receiver.await, Ok(Decision::Picked(_))));
}

#[tokio::test]
async fn a_wait_ends_in_time_without_any_other_input() {
    let (door, _lives) = door(HOLDING);
    let expiring = Arc::clone(&door).expire_in_time();
    let (_ticket, answer) = door.offer(facts());
    let Answer::Later(receiver) = answer else {
        panic!("not held")
    };
    tokio::select! {
        () = expiring => {}
        decision = receiver => {
            assert_eq!(decision, Ok(Decision::Refused(Refusal::NoEndpointsInTime)));
        }
    }
}

#[test]
fn a_stream_that_leaves_while_it_waits_is_forgotten() {
    let (door, _lives) = door(HOLDING);
    let (ticket, _answer) = door.offer(facts());
    assert_eq!(door.sizes().held, 1);
    drop(ticket);
    assert_eq!(door.sizes().held, 0);
    assert!(door.inside.lock().waiting.is_empty());
}

#[test]
fn endpoint_lives_are_told_to_those_who_scrape() {
    let (door, mut lives) = door("");
    door.input(Input::Endpoints(vec![endpoint(1), endpoint(2)]));
    let told = lives.try_recv().unwrap();
    assert_eq!((told.added.len(), told.removed.len()), (2, 0));
    let id = told.added[0].0;
    door.input(Input::ScrapeFailed(id, ScrapeFault::Unusable));
    assert!(lives.try_recv().is_err());
}

#[test]
fn a_panic_inside_the_pool_costs_neither_the_process_nor_the_request() {
    let (door, _lives) = door("");
    door.input(Input::Endpoints(vec![endpoint(1)]));
    let (ticket, _answer) = door.offer(facts());
    let lost = RequestId(99);
    let (sender, mut receiver) = oneshot::channel();
    door.run(offer(lost), |inside, _, _, _| {
        inside.waiting.insert(lost, sender);
        panic!("a stage failed");
    });
    assert!(matches!(receiver.try_recv(), Ok(Decision::Picked(_))));
    assert_eq!(door.sizes().in_flight, 2);
    drop(ticket);
    assert_eq!(door.sizes().in_flight, 1);
}

#[test]
fn after_a_panic_nobody_waits_for_an_answer_that_cannot_come() {
    let (door, _lives) = door(HOLDING);
    let (_held, held) = door.offer(facts());
    let Answer::Later(mut held) = held else {
        panic!("not held")
    };
    let (sender, mut lost) = oneshot::channel();
    let (woken, mut decided) = oneshot::channel();
    door.run(Input::Expire, |inside, _, _, outputs| {
        inside.waiting.insert(RequestId(98), woken);
        inside.waiting.insert(RequestId(99), sender);
        let decision = Decision::Refused(Refusal::HoldFull);
        outputs.push(Output::Decided {
            id: RequestId(98),
            decision,
        });
        panic!("a stage failed");
    });
    assert!(matches!(
        decided.try_recv(),
        Ok(Decision::Refused(Refusal::HoldFull))
    ));
    assert_eq!(lost.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    assert_eq!(held.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    door.input(Input::Endpoints(vec![endpoint(1)]));
    assert!(matches!(held.try_recv(), Ok(Decision::Picked(_))));
}

#[test]
fn explanations_are_kept_for_sampled_picks() {
    let (door, _lives) = door("");
    door.input(Input::Endpoints(vec![endpoint(1), endpoint(2)]));
    let _tickets: Vec<_> = (0..3).map(|_| door.offer(facts())).collect();
    let explained = door.recorder.explained(10);
    assert_eq!(explained.len(), 3);
    assert!(explained[0].request > explained[2].request);
    assert_eq!(explained[0].scores.as_ref().map(Vec::len), Some(2));
}
