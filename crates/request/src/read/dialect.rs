//! The forms of API whose bodies are JSON, one table each.

mod by_model;
mod chat;
mod completions;
mod conversations;
mod count_tokens;
mod embeddings;
mod generate;
mod images;
mod messages;
mod responses;
mod sglang;
mod shared;

use pointsman_domain::facts::Dialect;

use super::form::Form;

/// The table of a dialect; `None` where the body is no JSON or is not read.
pub(crate) const fn form(dialect: Dialect) -> Option<&'static Form> {
    match dialect {
        Dialect::ChatCompletions => Some(&chat::FORM),
        Dialect::Completions => Some(&completions::FORM),
        Dialect::Embeddings => Some(&embeddings::FORM),
        Dialect::Responses => Some(&responses::FORM),
        Dialect::Conversations => Some(&conversations::FORM),
        Dialect::Images => Some(&images::FORM),
        Dialect::Messages => Some(&messages::FORM),
        Dialect::CountTokens => Some(&count_tokens::FORM),
        Dialect::Generate => Some(&generate::FORM),
        Dialect::SglangGenerate => Some(&sglang::FORM),
        Dialect::ByModel | Dialect::Multipart => Some(&by_model::FORM),
        Dialect::GrpcGenerate | Dialect::GrpcEmbed | Dialect::Passthrough => None,
    }
}

#[cfg(test)]
mod tests;
