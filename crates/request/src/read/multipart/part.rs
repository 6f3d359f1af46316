//! What single parts say, and the facts that it makes together.

use pointsman_domain::facts::{MEDIA_MAX, MediaItem, MediaKind, ModelName, NameHash, RequestFacts};
use pointsman_domain::units::Tokens;
use xxhash_rust::xxh3::Xxh3Default;

use crate::head::parameters::Parameters;
use crate::rewrite::ModelPlace;

/// One part, as it comes.
pub(super) struct Part {
    kind: Kind,
    /// Bytes of content so far.
    bytes: u64,
    /// The content, where it is a short text.
    text: Vec<u8>,
    /// The hash of the content, where it is a file's.
    hash: Xxh3Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Stream,
    User,
    File,
    Other,
}

/// What the parts say.
#[derive(Default)]
pub(super) struct Found {
    model: Option<(ModelName, ModelPlace)>,
    is_stream: bool,
    user: Option<NameHash>,
    media: Vec<MediaItem>,
}

impl Part {
    /// A part that says nothing.
    pub(super) const fn other() -> Self {
        Self {
            kind: Kind::Other,
            bytes: 0,
            text: Vec::new(),
            hash: Xxh3Default::new(),
        }
    }

    /// A part begins whose headers these are.
    pub(super) fn begin(&mut self, headers: &[u8]) {
        self.kind = headers
            .split(|&byte| byte == b'\n')
            .find_map(disposition)
            .map_or(Kind::Other, kind);
        self.bytes = 0;
        self.text.clear();
        self.hash.reset();
    }

    /// The next bytes of the content.
    pub(super) fn content(&mut self, bytes: &[u8]) {
        match self.kind {
            Kind::Other => return,
            Kind::File => self.hash.update(bytes),
            Kind::Model | Kind::Stream | Kind::User => {
                let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
                let kept = bytes.get(..room).unwrap_or(bytes);
                self.text.extend_from_slice(kept);
            }
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
    }

    /// The content ends before this offset of the body. Of a part that comes twice the last counts, but
    /// every file is one.
    pub(super) fn end(&mut self, content_end: u64, found: &mut Found) {
        let text = self.text.as_slice();
        let is_whole = self.bytes == text.len() as u64;
        match self.kind {
            Kind::Other => {}
            Kind::Model => {
                let place =
                    ModelPlace::part_text(content_end.saturating_sub(self.bytes), content_end);
                let name = core::str::from_utf8(text)
                    .ok()
                    .filter(|name| is_whole && !name.is_empty())
                    .map_or(ModelName::Absent, |name| ModelName::Named(name.into()));
                found.model = Some((name, place));
            }
            Kind::Stream => found.is_stream = is_whole && is_true(text),
            Kind::User => {
                found.user = (is_whole && !text.is_empty()).then(|| NameHash::of(text));
            }
            Kind::File if found.media.len() < MEDIA_MAX => found.media.push(MediaItem {
                kind: MediaKind::Audio,
                content: self.hash.digest(),
                tokens: Tokens(self.bytes.div_ceil(AUDIO_BYTES_PER_TOKEN)),
            }),
            Kind::File => {}
        }
        self.kind = Kind::Other;
    }
}

impl Found {
    /// Completes `facts`, and says where the model stands.
    pub(super) fn give(self, facts: &mut RequestFacts) -> Option<ModelPlace> {
        facts.stream = self.is_stream;
        facts.user = self.user;
        facts.media = self.media;
        let (model, place) = self.model?;
        facts.model = model;
        Some(place)
    }
}

/// The value of a line that is the header with a part's name.
fn disposition(line: &[u8]) -> Option<Parameters<'_>> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at(colon);
    if !name
        .trim_ascii()
        .eq_ignore_ascii_case(b"content-disposition")
    {
        return None;
    }
    let mut parameters = Parameters::new(value.strip_prefix(b":")?.trim_ascii());
    let form = parameters.until_semicolon().trim_ascii();
    form.eq_ignore_ascii_case(b"form-data")
        .then_some(parameters)
}

fn kind(mut parameters: Parameters<'_>) -> Kind {
    let mut kind = Kind::Other;
    let mut is_file = false;
    while let Some((name, value)) = parameters.next() {
        if name.eq_ignore_ascii_case(b"name") {
            kind = match value.as_slice() {
                b"model" => Kind::Model,
                b"stream" => Kind::Stream,
                b"user" => Kind::User,
                b"file" => Kind::File,
                _ => Kind::Other,
            };
        }
        is_file |= name.eq_ignore_ascii_case(b"filename");
    }
    // A text that is sent as a file is none.
    if is_file && kind != Kind::File {
        Kind::Other
    } else {
        kind
    }
}

/// Whether engines take this text for true.
fn is_true(text: &[u8]) -> bool {
    [&b"true"[..], b"1", b"yes", b"on", b"t", b"y"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

/// Longest text that is kept. That is the length of a model's name; a longer one is none.
const TEXT_BYTES_MAX: usize = 256;

/// Encoders make 50 tokens of a second of sound, which has near 16 kB at usual rates. A file of the
/// greatest length counts as 100,000 tokens, where a quarter of its bytes would be eight million.
const AUDIO_BYTES_PER_TOKEN: u64 = 320;
