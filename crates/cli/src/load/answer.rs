//! Reads a streamed chat answer, however its bytes are cut.

use core::time::Duration;

use serde::Deserialize;

/// Collects a stream of server-sent events.
#[derive(Debug, Default)]
pub(super) struct AnswerReader {
    /// What came after the last complete line.
    pending: Vec<u8>,
    text: String,
    first_content_after: Option<Duration>,
    usage: Option<Usage>,
    is_done: bool,
}

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) first_content_after: Duration,
    pub(super) prompt_tokens: u64,
    pub(super) cached_tokens: u64,
}

impl AnswerReader {
    /// Takes the bytes that arrived `after` the request was sent.
    pub(super) fn feed(&mut self, bytes: &[u8], after: Duration) -> Result<(), String> {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.line(line.trim_ascii_end(), after)?;
        }
        if self.pending.len().max(self.text.len()) > ANSWER_BYTES_MAX {
            return Err(format!(
                "the answer is longer than {ANSWER_BYTES_MAX} bytes"
            ));
        }
        Ok(())
    }

    /// The answer, if it is complete.
    pub(super) fn finish(self) -> Result<Answer, String> {
        if !self.is_done {
            return Err("the stream ended before its end mark".to_owned());
        }
        let usage = self.usage.ok_or("the stream told no usage")?;
        Ok(Answer {
            text: self.text,
            first_content_after: self.first_content_after.ok_or("the answer is empty")?,
            prompt_tokens: usage.prompt_tokens,
            cached_tokens: usage
                .prompt_tokens_details
                .map_or(0, |details| details.cached_tokens),
        })
    }

    fn line(&mut self, line: &[u8], after: Duration) -> Result<(), String> {
        let Some(data) = line.strip_prefix(b"data:") else {
            return Ok(());
        };
        if data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data)
            .map_err(|error| format!("an event is not a chunk of a chat: {error}"))?;
        for content in chunk.choices.into_iter().filter_map(|c| c.delta.content) {
            if !content.is_empty() {
                self.first_content_after.get_or_insert(after);
                self.text.push_str(&content);
            }
        }
        self.usage = chunk.usage.or(self.usage);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Usage {
    prompt_tokens: u64,
    prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PromptTokensDetails {
    cached_tokens: u64,
}

const ANSWER_BYTES_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        ": a comment\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Grüß \"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Gott\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\
         \"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn an_answer_reads_the_same_however_it_is_cut() {
        for size in 1..=STREAM.len() {
            let mut reader = AnswerReader::default();
            for piece in STREAM.as_bytes().chunks(size) {
                reader.feed(piece, Duration::from_millis(5)).unwrap();
            }
            let expected = Answer {
                text: "Grüß Gott".to_owned(),
                first_content_after: Duration::from_millis(5),
                prompt_tokens: 9,
                cached_tokens: 4,
            };
            assert_eq!(reader.finish().unwrap(), expected, "pieces of {size} bytes");
        }
    }

    #[test]
    fn the_role_alone_is_not_the_first_content() {
        let mut reader = AnswerReader::default();
        let (role, rest) = STREAM.split_once("\n\n").unwrap();
        reader
            .feed(role.as_bytes(), Duration::from_millis(1))
            .unwrap();
        reader.feed(b"\n\n", Duration::from_millis(1)).unwrap();
        reader
            .feed(rest.as_bytes(), Duration::from_millis(7))
            .unwrap();
        let answer = reader.finish().unwrap();
        assert_eq!(answer.first_content_after, Duration::from_millis(7));
    }

    #[test]
    fn a_stream_that_ends_anywhere_before_its_mark_is_a_failure() {
        let mark = STREAM.find("[DONE]").unwrap();
        for end in [0, 20, STREAM.len() / 2, mark] {
            let mut reader = AnswerReader::default();
            reader
                .feed(&STREAM.as_bytes()[..end], Duration::ZERO)
                .unwrap();
            assert!(reader.finish().is_err(), "cut at {end}");
        }
    }

    #[test]
    fn an_event_that_is_no_chunk_is_a_failure() {
        let mut reader = AnswerReader::default();
        let error = reader.feed(b"data: {\"error\":{}}\n", Duration::ZERO);
        assert!(error.unwrap_err().contains("not a chunk"));
    }
}
