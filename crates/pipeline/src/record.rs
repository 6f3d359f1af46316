//! A recording: all that happened to a pool and all that it answered, so that another pool can be
//! told the same and must answer the same.
//!
//! A recording is a list of lines, each of them a JSON document: a header, then an entry for each
//! step in the order in which the pool took them, then an end. Without the end the program that
//! wrote it was killed. There is no text of a prompt and no salt in it, as the pool has neither.

pub mod reader;

use pointsman_domain::facts::RequestId;
use pointsman_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::config::Attachment;
use crate::pool::{Input, Output};

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// One step.
    Entry(Entry),
    /// The last line.
    End(End),
}

/// What a pool was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The form of the lines, [`FORMAT`] in those written here.
    pub format: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// The name of the pool.
    pub pool: String,
    /// The seed of all the pool's randomness.
    pub seed: u64,
    /// The configuration at the start.
    pub configuration: Configuration,
}

/// A configuration as it was given, before anything was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The text, empty where none was given.
    pub text: String,
    /// The text of the model rewrites, empty where none was given.
    pub rewrites: String,
    /// What the picker was attached to, as it takes part in making a configuration of the text.
    pub attachment: Attachment,
    hash: u64,
}

/// One step of the pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its place in the order, from 0.
    pub sequence: u64,
    /// The pool's time.
    pub now: Timestamp,
    /// What happened.
    pub step: Step,
    /// What the pool answered, in its order.
    pub outputs: Vec<Output>,
}

/// What happened to a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// It took an input. [`Input::Configure`] is no part of a recording, see
    /// [`Configure`](Self::Configure).
    Input(Input),
    /// It took the configuration that this text makes. Whoever gives a running pool another one
    /// records this in the place of the input; a picker that reads its configuration once never does.
    Configure(Configuration),
    /// It panicked over an input. Only outputs that stand are recorded: no events.
    Panicked(Input),
    /// It was rebuilt after that.
    Recover {
        /// The offer that was under way, if it was one.
        lost: Option<RequestId>,
    },
}

/// The end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// How many entries there are.
    pub entries: u64,
    /// Why there are no more.
    pub reason: EndReason,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The pool ended.
    Complete,
    /// Entries came faster than they could be written.
    QueueFull,
    /// The recording was as large as it may become.
    BytesMax,
    /// An entry could not be put into words.
    Unwritable,
}

/// A line that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It has no form in a recording.
    #[error("a line of a recording cannot be written")]
    Form(#[source] serde_json::Error),
    /// It is longer than a reader accepts.
    #[error("a line of a recording would have {0} bytes, more than {LINE_BYTES_MAX}")]
    TooLong(usize),
}

/// The form of the lines. It grows with every change that an older reader would not understand.
pub const FORMAT: u32 = 3;

/// The longest line, without its end. A pool of a thousand endpoints that explains a pick takes less
/// than a mebibyte.
pub const LINE_BYTES_MAX: usize = 16 << 20;

impl Line {
    /// Adds the line and its end to `bytes`; on an error nothing is added.
    pub fn write(&self, bytes: &mut Vec<u8>) -> Result<(), WriteError> {
        let start = bytes.len();
        let written = serde_json::to_writer(&mut *bytes, self);
        let length = bytes.len().saturating_sub(start);
        let checked = match written {
            Err(error) => Err(WriteError::Form(error)),
            Ok(()) if length > LINE_BYTES_MAX => Err(WriteError::TooLong(length)),
            Ok(()) => Ok(()),
        };
        match checked {
            Ok(()) => bytes.push(b'\n'),
            Err(_) => bytes.truncate(start),
        }
        checked
    }
}

impl Configuration {
    /// The configuration that `text` makes, without model rewrites.
    pub fn new(text: String, attachment: Attachment) -> Self {
        let given = Self {
            text,
            rewrites: String::new(),
            attachment,
            hash: 0,
        };
        given.hashed()
    }

    /// The same configuration with the model rewrites that `rewrites` makes.
    pub fn with_rewrites(self, rewrites: String) -> Self {
        Self { rewrites, ..self }.hashed()
    }

    /// A hash of the texts, to tell configurations apart.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether the texts are those that were hashed.
    fn is_intact(&self) -> bool {
        self.hash == self.hash_of_texts()
    }

    fn hashed(self) -> Self {
        let hash = self.hash_of_texts();
        Self { hash, ..self }
    }

    fn hash_of_texts(&self) -> u64 {
        xxh3_64_with_seed(self.rewrites.as_bytes(), xxh3_64(self.text.as_bytes()))
    }
}

impl Step {
    /// What kind of step it is, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Input(input) => input_kind(input),
            Self::Configure(_) => "configure",
            Self::Panicked(_) => "panicked",
            Self::Recover { .. } => "recover",
        }
    }
}

impl EndReason {
    /// Whether there was more to record.
    pub const fn is_early(self) -> bool {
        !matches!(self, Self::Complete)
    }
}

/// The name of the input in a recording.
const fn input_kind(input: &Input) -> &'static str {
    match input {
        Input::Offer { .. } => "offer",
        Input::Ended { .. } => "ended",
        Input::Observed { .. } => "observed",
        Input::ScrapeBegun(_) => "scrape_begun",
        Input::ScrapeDone(..) => "scrape_done",
        Input::ScrapeFailed(..) => "scrape_failed",
        Input::Endpoints(_) => "endpoints",
        Input::Configure(_) => "configure",
        Input::CacheStored { .. } => "cache_stored",
        Input::CacheRemoved { .. } => "cache_removed",
        Input::CacheCleared(_) => "cache_cleared",
        Input::Pickers(_) => "pickers",
        Input::Expire => "expire",
        Input::ShutDown => "shut_down",
    }
}

#[cfg(test)]
mod tests;
