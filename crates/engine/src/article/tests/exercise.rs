//! The batching exercise of the founding article: one trace by three orders.

use super::*;

/// When each request comes, the ticks that its prompt takes, and its decode ticks.
const TRACE: [(u64, u32, u32); 5] = [(0, 1, 7), (0, 2, 1), (0, 3, 11), (2, 2, 8), (6, 3, 1)];

/// Ticks, ticks without output of decoding, and the share of slots in use in percent.
fn run(order: TickOrder) -> (u64, u64, u64) {
    let mut engine = Engine::new(EngineConfig {
        slots: count(3),
        blocks: count(1000),
        ..with_order(order, 3)
    });
    let mut events = Vec::new();
    let mut trace = TRACE.iter().peekable();
    let mut tick = 0;
    loop {
        let now = Timestamp::from_millis(tick);
        engine.end_due(now, &mut events);
        while let Some(&(_, chunks, steps)) = trace.next_if(|(arrival, ..)| *arrival <= tick) {
            // The end of prefill gives a token, too.
            engine.submit(job(tick, chunks * 10, steps + 1)).unwrap();
        }
        if engine.begin(now, &mut events).is_none() && trace.peek().is_none() {
            break;
        }
        tick += 1;
    }
    let totals = engine.stats().totals;
    assert_eq!(totals.steps, tick, "the engine is never idle");
    assert_eq!(totals.finished, 5);
    let slots = totals.steps * 3;
    let occupancy = (200 * totals.slot_steps + slots) / (2 * slots);
    (totals.steps, totals.steps_without_decode, occupancy)
}

#[test]
fn the_batching_exercise_comes_out_as_printed() {
    assert_eq!(run(TickOrder::Static), (25, 6, 57));
    assert_eq!(run(TickOrder::PrefillFirst), (19, 8, 91));
    assert_eq!(run(TickOrder::Chunked), (14, 1, 93));
}
