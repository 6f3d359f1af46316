//! The routing lab of the founding article on one replica, against the reference simulation.

use pointsman_domain::block::BlockSize;

use crate::config::Batching;
use crate::engine::tests::millis;

use super::*;

/// The first requests of the calibrated trace, and what the reference simulation makes of them on one
/// replica with 8 slots, 500 blocks of 16 tokens, 350 prompt tokens a tick and 3000 tokens of cache:
/// arrival, prompt, prefix, group, output, first token, last token.
const ROWS: [[u32; 7]; 40] = [
    [8, 512, 443, 4, 93, 10, 121],
    [33, 600, 437, 1, 93, 35, 146],
    [37, 599, 443, 4, 55, 38, 105],
    [38, 2263, 2004, 9, 357, 45, 428],
    [41, 548, 417, 0, 76, 47, 131],
    [47, 464, 417, 0, 76, 48, 131],
    [49, 582, 417, 0, 62, 50, 115],
    [51, 689, 461, 3, 82, 53, 139],
    [53, 688, 437, 1, 51, 107, 168],
    [54, 552, 417, 0, 114, 116, 243],
    [54, 626, 411, 2, 69, 123, 201],
    [56, 2682, 2451, 6, 303, 154, 474],
    [62, 522, 443, 4, 105, 170, 279],
    [63, 576, 417, 0, 64, 203, 268],
    [67, 607, 411, 2, 79, 245, 325],
    [69, 594, 411, 2, 57, 269, 326],
    [81, 479, 417, 0, 113, 280, 392],
    [85, 2309, 2058, 7, 830, 435, 1293],
    [96, 650, 417, 0, 87, 436, 527],
    [101, 575, 461, 3, 69, 438, 509],
    [113, 497, 437, 1, 110, 476, 594],
    [114, 588, 437, 1, 119, 477, 604],
    [116, 2744, 2451, 6, 428, 535, 963],
    [117, 513, 437, 1, 105, 595, 699],
    [122, 2332, 2110, 8, 828, 970, 1822],
    [124, 562, 437, 1, 105, 971, 1078],
    [125, 561, 461, 3, 70, 973, 1042],
    [125, 647, 461, 3, 51, 1043, 1095],
    [129, 615, 417, 0, 69, 1080, 1149],
    [138, 514, 417, 0, 65, 1096, 1160],
    [142, 2687, 2451, 6, 318, 1301, 1618],
    [144, 2465, 2231, 11, 820, 1626, 2463],
    [146, 665, 411, 2, 102, 1628, 1729],
    [149, 2691, 2451, 6, 323, 1830, 2160],
    [155, 523, 411, 2, 61, 1831, 1893],
    [156, 601, 443, 4, 101, 1833, 1934],
    [161, 487, 411, 2, 79, 1894, 1973],
    [165, 512, 443, 4, 58, 1935, 1994],
    [166, 528, 417, 0, 51, 1975, 2026],
    [166, 557, 417, 0, 102, 1995, 2096],
];

#[test]
fn one_replica_agrees_with_the_reference_simulation_in_every_tick() {
    let mut engine = Engine::new(EngineConfig {
        slots: count(8),
        blocks: count(500),
        block_size: BlockSize::new(16).unwrap(),
        batching: Batching::Article(Article {
            tick: Duration::from_millis(1),
            prefill_tokens_per_tick: count(350),
            prefills_max: count(1),
            order: TickOrder::PrefillFirst,
            cache_tokens_max: 3000,
        }),
        waiting_max: ROWS.len(),
        reports: Reports {
            tokens: TokenReports::First,
            cache: CacheReports::Nothing,
        },
        ..article()
    });
    let mut events = Vec::new();
    let mut rows = ROWS.iter().peekable();
    let mut tick = 0;
    while engine.stats().totals.finished < ROWS.len() as u64 {
        let now = Timestamp::from_millis(tick);
        engine.end_due(now, &mut events);
        while let Some(&[_, prompt, prefix, group, output, ..]) =
            rows.next_if(|row| u64::from(row[0]) <= tick)
        {
            let pieces = [(u64::from(group), prefix)];
            engine
                .submit(job_of_pieces(&pieces, prompt, output))
                .unwrap();
        }
        engine.begin(now, &mut events);
        tick += 1;
    }
    for (number, row) in ROWS.iter().enumerate() {
        let id = JobId(number as u64);
        let finished = events.iter().find_map(|event| match *event {
            EngineEvent::Finished { id: of, at } if of == id => Some(millis(at)),
            _ => None,
        });
        assert_eq!(token_millis(&events, id), [u64::from(row[5])], "{row:?}");
        assert_eq!(finished, Some(u64::from(row[6])), "{row:?}");
    }
    let totals = engine.stats().totals;
    assert_eq!(totals.prefix_hit_tokens, 6720);
    assert_eq!(totals.generation_tokens, 6800);
}
