//! Gives the model in a response the name that the client knows it by.
//!
//! A response names the model that the engine was asked for, which after a rewrite is not the one that
//! the client asked for. That name is replaced where it is the model's name: in the member `model` of
//! the whole response, of each event, and of the response or message that an event begins or ends
//! with. The same text anywhere else is the answer's own, and is left alone.

mod hunt;
mod passage;

use bytes::Bytes;
use memchr::memmem::Finder;
use pointsman_json::lexer::Lexer;
use serde_json::Value;

use crate::reader::ContentKind;
use crate::split::{Framing, Part, Splitter, ends_event};
use hunt::{Hunt, Scent};
use passage::Passage;

/// Replaces a model's name in one response body, of which it holds no more back than what may be that
/// name, and that only until the next piece. Whatever it cannot read passes as it came.
#[derive(Debug)]
pub struct ModelRestorer {
    names: Names,
    body: Body,
    /// The beginning of a value that may be the name, if a border of pieces cuts it.
    held: Vec<u8>,
}

#[derive(Debug)]
struct Names {
    from_engine: Box<[u8]>,
    /// As a JSON text.
    to_client: Bytes,
}

#[derive(Debug)]
enum Body {
    Text(Box<Text>),
    Events(Box<Events>),
    /// Nothing to replace.
    Unread,
}

impl ModelRestorer {
    /// Replaces `from_engine` by `to_client` in a body of that kind.
    pub fn new(from_engine: &str, to_client: &str, kind: ContentKind) -> Self {
        let events = |framing| Body::Events(Box::new(Events::new(framing)));
        let body = match kind {
            _ if from_engine == to_client => Body::Unread,
            ContentKind::Json => Body::Text(Box::new(Text::new(Scent::Body))),
            ContentKind::EventStream => events(Framing::Events),
            ContentKind::NdJson => events(Framing::Lines),
            ContentKind::Grpc | ContentKind::Other => Body::Unread,
        };
        Self {
            names: Names {
                from_engine: from_engine.as_bytes().into(),
                to_client: Value::from(to_client).to_string().into(),
            },
            body,
            held: Vec::new(),
        }
    }

    /// Whether the body may become another one, and perhaps of another length.
    pub const fn may_change(&self) -> bool {
        !matches!(self.body, Body::Unread)
    }

    /// Takes the next piece of the body, and gives on to `out` all of it that is no name, and names
    /// that ended in it replaced.
    pub fn chunk(&mut self, bytes: Bytes, out: &mut impl FnMut(Bytes)) {
        match &mut self.body {
            Body::Unread if bytes.is_empty() => {}
            Body::Unread => out(bytes),
            Body::Text(text) => {
                let mut passage = Passage::new(&bytes, &self.names.to_client, &mut self.held, out);
                text.run(&bytes, 0, &self.names.from_engine, &mut passage);
                passage.finish();
            }
            Body::Events(events) => {
                let mut passage = Passage::new(&bytes, &self.names.to_client, &mut self.held, out);
                events.run(&bytes, &self.names.from_engine, &mut passage);
                passage.finish();
            }
        }
    }

    /// What is held back: the beginning of what may be a name.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes the end of the body: what was held back is given on.
    pub fn finish(&mut self, out: &mut impl FnMut(Bytes)) {
        self.body = Body::Unread;
        if !self.held.is_empty() {
            out(core::mem::take(&mut self.held).into());
        }
    }
}

/// One JSON text.
#[derive(Debug)]
struct Text {
    lexer: Lexer,
    hunt: Hunt,
    /// Bytes of the text that the lexer has taken.
    taken: u64,
}

impl Text {
    const fn new(scent: Scent) -> Self {
        Self {
            lexer: Lexer::new(),
            hunt: Hunt::new(scent),
            taken: 0,
        }
    }

    /// Goes on with `bytes`, which lie in the piece from `at` on.
    fn run<F: FnMut(Bytes)>(
        &mut self,
        bytes: &[u8],
        at: usize,
        name: &[u8],
        passage: &mut Passage<'_, F>,
    ) {
        passage.begin_run(at, self.taken);
        self.taken = self.taken.saturating_add(bytes.len() as u64);
        if self
            .lexer
            .push(bytes, &mut self.hunt.pass(name, passage))
            .is_err()
        {
            passage.lose();
        }
    }
}

/// A stream of events, each of which is a JSON text or none.
#[derive(Debug)]
struct Events {
    framing: Framing,
    splitter: Splitter,
    text: Text,
    /// A line of the event in progress has ended.
    line_ended: bool,
    marks: [Finder<'static>; 2],
}

impl Events {
    fn new(framing: Framing) -> Self {
        Self {
            framing,
            splitter: Splitter::new(framing),
            text: Text::new(Scent::Event),
            line_ended: false,
            // A key that is written with escapes has the second.
            marks: ["\"model\"", "\\u00"].map(Finder::new),
        }
    }

    fn run<F: FnMut(Bytes)>(&mut self, piece: &[u8], name: &[u8], passage: &mut Passage<'_, F>) {
        let Self {
            framing,
            splitter,
            text,
            line_ended,
            marks,
        } = self;
        splitter.push(piece, |part| match part {
            Part::Data(range) => {
                let data = piece.get(range.clone()).unwrap_or_default();
                let rest = piece.get(range.end..).unwrap_or_default();
                let is_whole = text.taken == 0 && !*line_ended && ends_event(*framing, rest);
                if is_whole && !marks.iter().any(|mark| mark.find(data).is_some()) {
                    return;
                }
                if core::mem::take(line_ended) {
                    text.run(b"\n", range.start, name, passage);
                }
                text.run(data, range.start, name, passage);
            }
            Part::LineEnd => {
                // No text goes over the end of a line.
                passage.lose();
                *line_ended = true;
            }
            Part::EventEnd => {
                *text = Text::new(Scent::Event);
                *line_ended = false;
            }
        });
    }
}

#[cfg(test)]
mod tests;
