//! Head and body to facts.
//!
//! Only the top level of the body and the members that make the prompt are looked at; everything
//! else is skipped as bytes. One module per dialect says how its prompt is written; what the
//! dialects have in common is in `members`.

mod chat;
mod completions;
mod members;

use bytes::Bytes;
use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{Dialect, RequestFacts};

use crate::head::{BodyForm, Head};
use crate::rejection::Rejection;

/// Facts of a request without a body: routed by load and by what its headers say.
pub fn without_body(head: &Head, block: BlockSize) -> RequestFacts {
    RequestFacts {
        objective: head.objective().map(Into::into),
        fairness_id: head.fairness_id().map(Into::into),
        ..RequestFacts::passthrough(block)
    }
}

/// Facts of a request whose body came in these pieces.
///
/// A path of no known dialect is never read and never rejected; nor is a compressed or multipart
/// body, which keeps its dialect. An empty body is none.
pub fn with_body(head: &Head, body: &[Bytes], block: BlockSize) -> Result<RequestFacts, Rejection> {
    let mut facts = without_body(head, block);
    facts.body_bytes = body.iter().map(|piece| piece.len() as u64).sum();
    if facts.body_bytes == 0 {
        return Ok(facts);
    }
    facts.dialect = head.dialect();
    if head.body() == BodyForm::Plain {
        match facts.dialect {
            Dialect::ChatCompletions => {
                members::read_into::<chat::Messages>(&mut facts, &contiguous(body))?;
            }
            Dialect::Completions => {
                members::read_into::<completions::Prompts>(&mut facts, &contiguous(body))?;
            }
            Dialect::Passthrough => {}
        }
    }
    Ok(facts)
}

/// The body as one piece.
///
/// Pieces are joined once because parsing one slice is several times faster than parsing a reader,
/// and only a slice lets text be hashed where it lies. The pieces themselves stay as they are, to be
/// passed on. A body in one piece, the common case of a small prompt, is not copied.
fn contiguous(body: &[Bytes]) -> Bytes {
    let mut pieces = body.iter().filter(|piece| !piece.is_empty());
    match (pieces.next(), pieces.next()) {
        (None, _) => Bytes::new(),
        (Some(only), None) => only.clone(),
        (Some(_), Some(_)) => body.concat().into(),
    }
}

#[cfg(test)]
mod tests;
