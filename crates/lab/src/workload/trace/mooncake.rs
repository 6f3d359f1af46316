//! JSON lines of the Mooncake project.

use pointsman_domain::block::{BlockHash, BlockKey};
use serde::Deserialize;

use super::table::tokens_within_limit;
use super::{Piece, Request, nanos};

#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

pub(super) fn request(line: &str) -> Result<Request, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| reason(&error))?;
    if line.timestamp < 0.0 {
        return Err(format!(
            "timestamp: expected milliseconds that are not negative, got {}",
            line.timestamp
        ));
    }
    let prompt_tokens = tokens_within_limit("input_length", line.input_length)?;
    let output_tokens = tokens_within_limit("output_length", line.output_length)?;
    Ok(Request {
        pieces: pieces(&line.hash_ids, prompt_tokens),
        ..Request::alone(nanos(line.timestamp / 1e3), prompt_tokens, output_tokens)
    })
}

/// One piece for each block, of which the last may be a part. Numbers of blocks beyond the prompt's
/// end, which some tools write, are left out.
fn pieces(hash_ids: &[u64], prompt_tokens: u32) -> Vec<Piece> {
    let begins = (0..prompt_tokens).step_by(BLOCK_TOKENS as usize);
    let mut key = BlockKey(0);
    hash_ids
        .iter()
        .zip(begins)
        .map(|(&id, begin)| {
            // A number that is chained to those before it names the prompt up to here, even if the
            // tool that wrote it numbered blocks by their own content alone.
            key = key.then(BlockHash(id));
            Piece {
                key,
                end_tokens: (begin + BLOCK_TOKENS).min(prompt_tokens),
            }
        })
        .collect()
}

/// The message without the place within the line, which would read as a line of the file.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => message,
    }
}

const BLOCK_TOKENS: u32 = 512;
