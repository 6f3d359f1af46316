//! CSV of our own reference simulation.

use pointsman_domain::block::{BlockHash, BlockKey};

use super::table::{excerpt, number, tokens};
use super::{Piece, Request};

pub(super) const COLUMNS: [&str; 6] = [
    "arrival_tick",
    "prompt",
    "prefix",
    "group",
    "output",
    "long",
];

pub(super) fn request(
    [tick, prompt, prefix, group, output, long]: [&str; 6],
) -> Result<Request, String> {
    let at_ms: u32 = number("arrival_tick", tick, "whole milliseconds")?;
    let group: u32 = number("group", group, "a whole number")?;
    let prompt_tokens = tokens("prompt", prompt)?;
    let prefix_tokens = tokens("prefix", prefix)?;
    if prefix_tokens > prompt_tokens {
        return Err("prefix: expected at most the tokens of the prompt".to_owned());
    }
    let class = match long {
        "0" => 0,
        "1" => 1,
        other => return Err(format!("long: expected 0 or 1, got `{}`", excerpt(other))),
    };
    let pieces = if prefix_tokens == 0 {
        Vec::new()
    } else {
        vec![piece(group, prefix_tokens)]
    };
    Ok(Request {
        pieces,
        class,
        ..Request::alone(
            u64::from(at_ms) * NANOS_PER_TICK,
            prompt_tokens,
            tokens("output", output)?,
        )
    })
}

/// A prefix of another length is another prefix, even in the same group.
fn piece(group: u32, tokens: u32) -> Piece {
    let key = BlockKey(u64::from(group)).then(BlockHash(u64::from(tokens)));
    Piece {
        key,
        end_tokens: tokens,
    }
}

const NANOS_PER_TICK: u64 = 1_000_000;
