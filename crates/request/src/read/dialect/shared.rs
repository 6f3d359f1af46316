//! Rows that several dialects share.

use crate::read::form::{Fact, Row, fact, inner, template, template_and};

/// Members that engines take with every prompt.
pub(super) const COMMON: [Row; 10] = [
    fact("model", Fact::Model),
    fact("stream", Fact::Stream),
    fact("n", Fact::Choices),
    // A salt may be a list, of which the hash of a text says nothing.
    template_and("cache_salt", Fact::Salt),
    // SGLang's further salt, and the adapter that it computes the prompt with.
    template("extra_key"),
    template("lora_path"),
    fact("prompt_cache_key", Fact::CacheKey),
    fact("user", Fact::User),
    fact("safety_identifier", Fact::User),
    fact("session_id", Fact::Session),
];

/// Sessions as SGLang names them.
pub(super) const SGLANG_SESSION: Row = inner("session_params", &["id"], Fact::Session);

/// How prompts become tokens.
pub(super) const TOKENIZING: [Row; 4] = [
    template("add_special_tokens"),
    template("truncate_prompt_tokens"),
    template("mm_processor_kwargs"),
    template("media_io_kwargs"),
];

/// What engines give to a chat template beside the messages. It comes before the first message or
/// changes every message.
pub(super) const CHAT_TEMPLATE: [Row; 8] = [
    template("chat_template"),
    template_and("chat_template_kwargs", Fact::Arguments),
    template("add_generation_prompt"),
    template("continue_final_message"),
    template("documents"),
    template("tool_choice"),
    template("functions"),
    template("function_call"),
];

/// How much the model is to think, and before that whether it is to think at all.
pub(super) const REASONING: [Row; 15] = [
    inner("reasoning", &["enabled"], Fact::Switch),
    inner("thinking", &["type"], Fact::Switch),
    inner("chat_template_kwargs", &["enable_thinking"], Fact::Switch),
    inner("chat_template_kwargs", &["thinking"], Fact::Switch),
    template_and("enable_thinking", Fact::Switch),
    template_and("reasoning_effort", Fact::Effort),
    template("reasoning"),
    inner("reasoning", &["effort"], Fact::Effort),
    inner("reasoning", &["max_tokens"], Fact::Budget),
    template("thinking"),
    inner("thinking", &["budget_tokens"], Fact::Budget),
    template_and("thinking_budget", Fact::Budget),
    template_and("thinking_token_budget", Fact::Budget),
    inner("chat_template_kwargs", &["reasoning_effort"], Fact::Effort),
    inner("chat_template_kwargs", &["thinking_budget"], Fact::Budget),
];

/// The form that the answer must have.
pub(super) const ANSWER_FORM: [Row; 9] = [
    template("response_format"),
    inner("response_format", &["type"], Fact::FormatName),
    fact("structured_outputs", Fact::Format),
    fact("guided_json", Fact::Format),
    fact("guided_regex", Fact::Format),
    fact("guided_choice", Fact::Format),
    fact("guided_grammar", Fact::Format),
    fact("regex", Fact::Format),
    fact("ebnf", Fact::Format),
];

/// What must stand in a member with messages.
pub(super) const MESSAGES_EXPECTED: &str = "an array with at least one message";
