//! Paths to dialects.

use pointsman_domain::facts::Dialect;

/// The dialect of a path without query: that of its longest known suffix. One slash may follow it.
pub(super) fn of(path: &str) -> Dialect {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path == SGLANG_GENERATE {
        return Dialect::SglangGenerate;
    }
    SUFFIXES
        .iter()
        .filter(|(suffix, _)| path.ends_with(suffix))
        .filter(|(_, dialect)| *dialect != Dialect::Messages || !path.contains(THREAD))
        .max_by_key(|(suffix, _)| suffix.len())
        .map_or(Dialect::Passthrough, |&(_, dialect)| dialect)
}

/// A whole path, as others end in it too: KServe's `/v2/models/{model}/generate` is no prompt of ids.
const SGLANG_GENERATE: &str = "/generate";

/// OpenAI's assistants add a message to a thread at such a path, which is not a list of messages.
const THREAD: &str = "/threads/";

/// A suffix starts with the border of a path segment: `/xcompletions` is another path.
const SUFFIXES: [(&str, Dialect); 21] = [
    ("/chat/completions", Dialect::ChatCompletions),
    ("/chat/completions/render", Dialect::ChatCompletions),
    ("/completions", Dialect::Completions),
    ("/completions/render", Dialect::Completions),
    ("/embeddings", Dialect::Embeddings),
    ("/responses", Dialect::Responses),
    ("/conversations", Dialect::Conversations),
    ("/images/generations", Dialect::Images),
    ("/messages", Dialect::Messages),
    ("/messages/count_tokens", Dialect::CountTokens),
    ("/inference/v1/generate", Dialect::Generate),
    (
        "/vllm.grpc.engine.VllmEngine/Generate",
        Dialect::GrpcGenerate,
    ),
    ("/vllm.grpc.engine.VllmEngine/Embed", Dialect::GrpcEmbed),
    ("/rerank", Dialect::ByModel),
    ("/score", Dialect::ByModel),
    ("/classify", Dialect::ByModel),
    ("/pooling", Dialect::ByModel),
    ("/tokenize", Dialect::ByModel),
    ("/detokenize", Dialect::ByModel),
    ("/audio/transcriptions", Dialect::Multipart),
    ("/audio/translations", Dialect::Multipart),
];
