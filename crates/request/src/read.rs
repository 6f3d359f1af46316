//! Head and body to facts.
//!
//! A JSON body is read in one pass over its pieces: the lexer cuts them into tokens, the `reader`
//! follows the members that the dialect's table names (one module of `dialect` for each), and what
//! makes the prompt is hashed as it goes by. Everything else is skipped.

pub(crate) mod decode;
mod dialect;
mod features;
mod finding;
mod fingerprint;
mod form;
mod grpc;
mod json;
mod marks;
mod model;
mod multipart;
mod name;
mod pieces;
mod places;
mod prompt;
mod reader;
mod scalar;
mod transcript;

use bytes::Bytes;
use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{Dialect, RequestFacts, Session, SessionSource};

use self::form::Form;
use self::json::JsonBody;
use crate::head::{BodyForm, Coding, Head};
use crate::rejection::Rejection;
use crate::rewrite::ModelPlace;

/// What a body says.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The facts.
    pub facts: RequestFacts,
    /// Where the model stands, for [`rewrite`](crate::rewrite::rewrite); `None` where it cannot be
    /// changed.
    pub model_place: Option<ModelPlace>,
}

/// Facts of a request without a body: routed by load and by what its headers say.
pub fn without_body(head: &Head, block: BlockSize) -> RequestFacts {
    let session = |id| Session {
        id,
        source: SessionSource::Header,
    };
    RequestFacts {
        model_override: head.model_override().map(Into::into),
        session: head.session().map(session),
        goals: head.goals(),
        objective: head.objective().map(Into::into),
        fairness_id: head.fairness_id().map(Into::into),
        ..RequestFacts::passthrough(block)
    }
}

/// Facts of a request whose body came in these pieces.
///
/// A path of no known dialect is never read and never rejected. A body that is compressed in a way
/// that we cannot read, or does not decode, keeps its dialect and is routed by load. An empty body is
/// none.
pub fn with_body(head: &Head, body: &[Bytes], block: BlockSize) -> Result<Reading, Rejection> {
    let mut facts = without_body(head, block);
    facts.body_bytes = body.iter().map(|piece| piece.len() as u64).sum();
    let mut model_place = None;
    if facts.body_bytes > 0 {
        facts.dialect = head.dialect();
        model_place = read_into(&mut facts, &head.body(), body, block)?;
    }
    Ok(Reading { facts, model_place })
}

fn read_into(
    facts: &mut RequestFacts,
    body_form: &BodyForm,
    body: &[Bytes],
    block: BlockSize,
) -> Result<Option<ModelPlace>, Rejection> {
    if matches!(facts.dialect, Dialect::GrpcGenerate | Dialect::GrpcEmbed) {
        // A compressed frame says so itself.
        grpc::read(facts, body, block);
        return Ok(None);
    }
    let Some(form) = dialect::form(facts.dialect) else {
        return Ok(None);
    };
    match body_form {
        BodyForm::Plain => {
            let mut json = JsonBody::new(form, block);
            for piece in body {
                json.push(piece);
            }
            json.finish(facts)
        }
        BodyForm::Coded(coding) => read_coded(facts, form, body, *coding),
        BodyForm::Multipart(boundary) => Ok(multipart::read(facts, body, boundary)),
        BodyForm::Opaque => {
            facts.model = json::unread(form);
            Ok(None)
        }
    }
}

fn read_coded(
    facts: &mut RequestFacts,
    form: &'static Form,
    body: &[Bytes],
    coding: Coding,
) -> Result<Option<ModelPlace>, Rejection> {
    let mut json = JsonBody::new(form, facts.prompt.block_size);
    if decode::each(body, coding, &mut |piece| json.push(piece)).is_err() {
        facts.model = json::unread(form);
        return Ok(None);
    }
    let place = json.finish(facts)?;
    Ok(place.map(|place| place.coded(coding)))
}

#[cfg(test)]
mod tests;
