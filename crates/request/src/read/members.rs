//! The members of a body's top level that all dialects share.

use core::fmt;
use core::marker::PhantomData;
use std::borrow::Cow;

use pointsman_domain::block::{BlockSize, SaltHash};
use pointsman_domain::facts::{Prompt, RequestFacts};
use pointsman_domain::units::Tokens;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::Xxh3;

use crate::rejection::Rejection;

/// How a dialect writes its prompt.
pub(crate) trait PromptForm {
    /// The member that holds the prompt.
    const FIELD: &'static str;
    /// What that member must be, to complete "make it …".
    const EXPECTED: &'static str;

    /// Reads the prompt; `None` if it is empty. A data error means a wrong type.
    fn read<'de, D: Deserializer<'de>>(
        json: D,
        block: BlockSize,
    ) -> Result<Option<Prompt>, D::Error>;
}

/// Reads `body` and completes `facts`.
pub(crate) fn read_into<P: PromptForm>(
    facts: &mut RequestFacts,
    body: &[u8],
) -> Result<(), Rejection> {
    let block = facts.prompt.block_size;
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(without_mark(body));
    json.deserialize_map(Members::<P> {
        found: &mut found,
        block,
        form: PhantomData,
    })
    .and_then(|()| json.end())
    .and_then(|()| found.read_last_prompt::<P>(block))
    .map_err(|error| found.rejection::<P>(&error))?;

    facts.model = found.model()?;
    facts.stream = found.stream.is_some_and(|raw| raw.get() == "true");
    facts.output_tokens_max = found
        .max_completion_tokens
        .and_then(parsed)
        .or_else(|| found.max_tokens.and_then(parsed))
        .map(Tokens);
    facts.cache_salt = found.salt();
    facts.template_inputs = template_hash(&found.template);
    facts.prompt = found.prompt::<P>()?;
    if facts.model.is_none() {
        // Only blocks of the same model are alike, and of which these are is not known.
        facts.prompt.blocks = Vec::new();
    }
    Ok(())
}

/// The name of a member, borrowed unless it is written with escapes.
#[derive(Deserialize)]
pub(crate) struct Name<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// What the top level holds. Of a member that comes twice the last counts, as in the engines.
#[derive(Default)]
struct Found<'a> {
    prompt: PromptFound,
    /// The last of further members with the prompt's name. It is read once all are known, as a body
    /// full of short prompts would else have each of them hashed.
    last_prompt: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    stream: Option<&'a RawValue>,
    max_completion_tokens: Option<&'a RawValue>,
    max_tokens: Option<&'a RawValue>,
    cache_salt: Option<&'a RawValue>,
    template: [Option<&'a RawValue>; TEMPLATE_INPUTS.len()],
}

#[derive(Default)]
enum PromptFound {
    #[default]
    Missing,
    Reading,
    Empty,
    Read(Prompt),
}

impl Found<'_> {
    fn read_last_prompt<P: PromptForm>(&mut self, block: BlockSize) -> serde_json::Result<()> {
        if let Some(json) = self.last_prompt {
            self.read_prompt::<P, _>(json, block)?;
        }
        Ok(())
    }

    fn read_prompt<'de, P: PromptForm, D: Deserializer<'de>>(
        &mut self,
        json: D,
        block: BlockSize,
    ) -> Result<(), D::Error> {
        self.prompt = PromptFound::Reading;
        self.prompt = P::read(json, block)?.map_or(PromptFound::Empty, PromptFound::Read);
        Ok(())
    }

    fn salt(&self) -> Option<SaltHash> {
        let salt: String = parsed(self.cache_salt?)?;
        Some(SaltHash::of(&salt))
    }

    /// The model's name; `None` if it is longer than a name may be, so that the engine gets to answer.
    fn model(&self) -> Result<Option<Box<str>>, Rejection> {
        const FIELD: &str = "model";
        const EXPECTED: &str = "a string that names a model";
        let raw = self.model.ok_or(Rejection::MissingField {
            field: FIELD,
            expected: EXPECTED,
        })?;
        let Name(model) = parsed(raw).ok_or(Rejection::WrongType {
            field: FIELD,
            expected: EXPECTED,
        })?;
        if model.is_empty() {
            return Err(Rejection::EmptyField {
                field: FIELD,
                expected: EXPECTED,
            });
        }
        Ok((model.len() <= MODEL_BYTES_MAX).then(|| model.into()))
    }

    fn prompt<P: PromptForm>(self) -> Result<Prompt, Rejection> {
        match self.prompt {
            PromptFound::Read(prompt) => Ok(prompt),
            PromptFound::Empty => Err(Rejection::EmptyField {
                field: P::FIELD,
                expected: P::EXPECTED,
            }),
            PromptFound::Missing | PromptFound::Reading => Err(Rejection::MissingField {
                field: P::FIELD,
                expected: P::EXPECTED,
            }),
        }
    }

    /// What a parse error means. Its own text can quote the client, so only its kind and place are
    /// used. Besides the prompt and the top level itself nothing is expected to have a type.
    fn rejection<P: PromptForm>(&self, error: &serde_json::Error) -> Rejection {
        match (error.classify(), &self.prompt) {
            (Category::Data, PromptFound::Reading) => Rejection::WrongType {
                field: P::FIELD,
                expected: P::EXPECTED,
            },
            (Category::Data, _) => Rejection::NotAnObject,
            _ => Rejection::NotJson {
                line: error.line(),
                column: error.column(),
            },
        }
    }
}

/// Visits the top level.
struct Members<'f, 'a, P> {
    found: &'f mut Found<'a>,
    block: BlockSize,
    form: PhantomData<P>,
}

impl<'de, P: PromptForm> Visitor<'de> for Members<'_, 'de, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let found = self.found;
        while let Some(Name(name)) = map.next_key()? {
            match name.as_ref() {
                name if name == P::FIELD => match found.prompt {
                    PromptFound::Missing => map.next_value_seed(PromptSeed::<P> {
                        found,
                        block: self.block,
                        form: PhantomData,
                    })?,
                    _ => found.last_prompt = Some(map.next_value()?),
                },
                "model" => found.model = Some(map.next_value()?),
                "stream" => found.stream = Some(map.next_value()?),
                "max_completion_tokens" => found.max_completion_tokens = Some(map.next_value()?),
                "max_tokens" => found.max_tokens = Some(map.next_value()?),
                "cache_salt" => found.cache_salt = Some(map.next_value()?),
                name => {
                    let known = TEMPLATE_INPUTS.iter().position(|input| *input == name);
                    match known.and_then(|index| found.template.get_mut(index)) {
                        Some(input) => *input = Some(map.next_value()?),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
            }
        }
        Ok(())
    }
}

struct PromptSeed<'f, 'a, P> {
    found: &'f mut Found<'a>,
    block: BlockSize,
    form: PhantomData<P>,
}

impl<'de, P: PromptForm> DeserializeSeed<'de> for PromptSeed<'_, '_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        self.found.read_prompt::<P, D>(json, self.block)
    }
}

/// The value, if it has that type. A hint of another type counts as absent.
fn parsed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// One hash over the template inputs that are present, whatever their order in the body.
fn template_hash(inputs: &[Option<&RawValue>; TEMPLATE_INPUTS.len()]) -> u64 {
    let mut hash = Xxh3::new();
    let mut present = false;
    for (name, raw) in TEMPLATE_INPUTS.iter().zip(inputs) {
        if let Some(raw) = raw.filter(|raw| raw.get() != "null") {
            present = true;
            for part in [name, raw.get()] {
                hash.update(part.as_bytes());
                hash.update(&[END]);
            }
        }
    }
    // 0 says that none is present.
    if present { hash.digest().max(1) } else { 0 }
}

/// The body without a byte order mark, which engines tolerate.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Members that engines give to the chat template besides the prompt. They come before the first
/// message or change every message, so they belong to the scope of the prefix and not to its blocks.
const TEMPLATE_INPUTS: [&str; 11] = [
    "tools",
    "tool_choice",
    "response_format",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "chat_template",
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "documents",
];

/// Longest name of a model. It is copied with the request's facts wherever these go.
const MODEL_BYTES_MAX: usize = 256;

/// Never part of UTF-8 text, so it can end one.
const END: u8 = 0xff;
