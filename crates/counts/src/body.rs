//! Bodies of chat requests.

use bytes::Bytes;
use pointsman_request::head::Head;

/// How the text of a chat is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Without escapes: it is hashed where it lies.
    Plain,
    /// With an escape after one word in three, as in code: it is copied to take them away.
    Escaped,
}

/// A request as the gateway sends it.
#[derive(Debug)]
pub struct Request {
    /// Its headers, read.
    pub head: Head,
    /// Its body in pieces.
    pub body: Vec<Bytes>,
}

/// A chat of exactly so many bytes, of which there must be enough for the members around the text.
pub fn chat(bytes: usize, text: Text) -> Request {
    let mut body = opening();
    let mut turn = 0;
    while body.len() + 2 * MESSAGE_BYTES + CLOSING.len() < bytes {
        push_message(&mut body, role(turn), MESSAGE_BYTES, "", text);
        turn += 1;
    }
    let rest = bytes.saturating_sub(body.len() + CLOSING.len());
    push_message(&mut body, role(turn), rest, "", text);
    body.push_str(CLOSING);
    request(body)
}

/// A conversation after some turns. Conversations whose numbers leave the same rest when divided by
/// four have the same system prompt of sixteen blocks, and nothing else in common; one turn has 1,024
/// bytes. More turns add to the end only.
pub fn conversation(number: u32, turns: usize) -> Request {
    let mut body = opening();
    let application = format!("application {} ", number % 4);
    push_message(&mut body, "system", 4096, &application, Text::Plain);
    for turn in 1..=turns {
        let subject = format!("conversation {number}, turn {turn} ");
        push_message(&mut body, role(turn), 1024, &subject, Text::Plain);
    }
    body.push_str(CLOSING);
    request(body)
}

fn request(body: String) -> Request {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", b"/v1/chat/completions");
    head.header("content-type", b"application/json");
    let mut rest = Bytes::from(body);
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        pieces.push(rest.split_to(PIECE_BYTES.min(rest.len())));
    }
    Request { head, body: pieces }
}

fn opening() -> String {
    format!(r#"{{"model":"{MODEL}","messages":["#)
}

const fn role(turn: usize) -> &'static str {
    match turn {
        0 => "system",
        odd if odd % 2 == 1 => "user",
        _ => "assistant",
    }
}

/// Adds a message that makes the body longer by exactly `bytes`.
fn push_message(body: &mut String, role: &str, bytes: usize, subject: &str, text: Text) {
    let end = body.len() + bytes;
    if !body.ends_with('[') {
        body.push(',');
    }
    body.push_str(r#"{"role":""#);
    body.push_str(role);
    body.push_str(r#"","content":""#);
    body.push_str(subject);
    let end_of_text = end.saturating_sub(MESSAGE_END.len());
    for (word, gap) in WORDS.iter().cycle().zip(text.gaps().iter().cycle()) {
        if body.len() + word.len() + gap.len() > end_of_text {
            break;
        }
        body.push_str(word);
        body.push_str(gap);
    }
    while body.len() < end_of_text {
        body.push('.');
    }
    body.push_str(MESSAGE_END);
}

impl Text {
    /// What stands between words.
    const fn gaps(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[" "],
            Self::Escaped => &[
                " ", " ", r"\n", " ", r#" \""#, r#"\" "#, " ", " ", r"\u00e9 ", " ", " ", " ",
            ],
        }
    }
}

/// The model that all requests name.
pub const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";

/// Envoy's HTTP/2 frames have this size by default, and each becomes a body message.
const PIECE_BYTES: usize = 16 * 1024;

/// Bytes of a message of a chat that is made to a size.
const MESSAGE_BYTES: usize = 400;

const MESSAGE_END: &str = r#""}"#;

const CLOSING: &str = r#"],"temperature":0.7,"top_p":0.95,"max_tokens":512,"stream":true,"stream_options":{"include_usage":true}}"#;

const WORDS: [&str; 23] = [
    "the", "model", "answers", "a", "question", "about", "some", "table", "of", "figures", "which",
    "shows", "how", "long", "each", "engine", "waits", "for", "its", "next", "batch", "in",
    "general",
];

#[cfg(test)]
mod tests {
    use pointsman_domain::block::BlockSize;
    use pointsman_domain::facts::RequestFacts;
    use pointsman_request::read;

    use super::*;

    fn facts(request: &Request) -> RequestFacts {
        read::with_body(&request.head, &request.body, BlockSize::DEFAULT)
            .unwrap()
            .facts
    }

    fn text(request: &Request) -> String {
        String::from_utf8(request.body.concat()).unwrap()
    }

    #[test]
    fn a_chat_has_its_size_and_fills_it_with_prompt() {
        for kib in [1, 16, 128] {
            for text in [Text::Plain, Text::Escaped] {
                let request = chat(kib * 1024, text);
                let facts = facts(&request);
                assert_eq!(facts.body_bytes, kib as u64 * 1024);
                assert_eq!(request.body.len(), kib.div_ceil(16));
                assert_eq!(facts.model.name(), Some(MODEL));
                assert!(facts.stream);
                assert!(facts.prompt.blocks.len() >= 2 * kib, "{facts:?}");
            }
        }
    }

    #[test]
    fn only_an_escaped_chat_has_escapes() {
        let backslashes = |request: Request| text(&request).matches('\\').count();
        assert_eq!(backslashes(chat(16 * 1024, Text::Plain)), 0);
        assert!(backslashes(chat(16 * 1024, Text::Escaped)) > 500);
    }

    #[test]
    fn a_conversation_grows_at_its_end_and_shares_its_system_prompt_with_some() {
        let keys = |number, turns| facts(&conversation(number, turns)).block_keys(Some(MODEL));
        let common = |one: &[_], other: &[_]| {
            let pairs = one.iter().zip(other);
            pairs.take_while(|(one, other)| one == other).count()
        };
        let grown = keys(1, 8);
        assert_eq!(common(&keys(1, 6), &grown), keys(1, 6).len());
        assert_eq!(common(&keys(5, 8), &grown), 16);
        assert_eq!(common(&keys(2, 8), &grown), 0);
    }
}
