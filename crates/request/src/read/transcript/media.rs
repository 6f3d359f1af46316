//! Media stand for as many tokens as an engine makes of ordinary ones, decided by their content,
//! whatever the size of the file.

use pointsman_domain::facts::{MEDIA_MAX, MediaItem, MediaKind};
use pointsman_domain::units::{BYTES_PER_TOKEN, Tokens};
use xxhash_rust::xxh3::Xxh3Default;

use super::context::{Context, Hint};
use super::{Target, Transcript};
use crate::read::marks;

/// What is known of the media of the current part.
pub(super) struct Media {
    hash: Xxh3Default,
    bytes: u64,
    /// Media whose object has not ended, and may yet say that it is a text.
    pending: Option<Payload>,
    /// What the current message's type has yet to say whether it is media.
    unsettled: Option<Payload>,
    /// The index of what was told of the current part's media before the part's type.
    untyped: Option<usize>,
}

/// The content of media, or where it lies.
#[derive(Clone, Copy)]
struct Payload {
    kind: MediaKind,
    content: u64,
    bytes: u64,
}

impl Media {
    /// Before any media.
    pub(super) const fn new() -> Self {
        Self {
            hash: Xxh3Default::new(),
            bytes: 0,
            pending: None,
            unsettled: None,
            untyped: None,
        }
    }

    /// Forgets the media before.
    pub(super) const fn clear(&mut self) {
        self.pending = None;
        self.unsettled = None;
        self.untyped = None;
    }

    /// The next part of the content.
    pub(super) fn part(&mut self, part: &[u8]) {
        self.hash.update(part);
        self.bytes = self.bytes.saturating_add(part.len() as u64);
    }

    /// What has ended.
    fn payload(&self, kind: MediaKind) -> Payload {
        Payload {
            kind,
            content: self.hash.digest(),
            bytes: self.bytes,
        }
    }

    /// The type that comes next is of another part.
    pub(super) const fn forget_type(&mut self) {
        self.untyped = None;
    }
}

impl Transcript {
    /// The content of media begins, or where it lies.
    pub(super) fn begin_payload(&mut self, target: Target) {
        self.end_pending();
        self.media.hash.reset();
        self.media.bytes = 0;
        self.target = target;
    }

    /// The content of media has ended, or where it lies.
    pub(super) fn end_payload(&mut self, kind: MediaKind) {
        self.media.pending = Some(self.media.payload(kind));
        if !matches!(self.context, Context::Media(_)) {
            self.end_pending();
        }
    }

    /// What may be the content of media has ended.
    pub(super) fn end_unsettled(&mut self) {
        self.settle();
        self.media.unsettled = Some(self.media.payload(MediaKind::File));
    }

    /// The type of a message has come, or its end: it is known whether what came before is media.
    pub(super) fn settle(&mut self) {
        if let Some(payload) = self.media.unsettled.take() {
            self.write(payload, !matches!(self.hint, Hint::Kind(_)));
        }
    }

    /// The object of media has ended, or the media is no object.
    pub(super) fn end_pending(&mut self) {
        let Some(payload) = self.media.pending.take() else {
            return;
        };
        let is_text = self.hint == Hint::Text && matches!(self.context, Context::Media(_));
        self.write(payload, is_text);
    }

    /// Writes what was seen as a digest: as many bytes as a text has, or as any other media.
    fn write(&mut self, payload: Payload, is_text: bool) {
        let digest = payload.content.to_le_bytes();
        let bytes = if is_text {
            payload.bytes
        } else {
            MEDIA_TOKENS * BYTES_PER_TOKEN
        };
        self.mark(marks::MEDIA);
        let mut pattern = [0; (MEDIA_TOKENS * BYTES_PER_TOKEN) as usize];
        for place in pattern.chunks_exact_mut(digest.len()) {
            place.copy_from_slice(&digest);
        }
        // Whole digests, and at least one. Many short members become a prompt of a hundred times the
        // body's length, so they are taken many at a time.
        let bytes = (bytes - bytes % digest.len() as u64).max(digest.len() as u64);
        let pattern_bytes = pattern.len() as u64;
        self.written.hasher.repeat(&pattern, bytes / pattern_bytes);
        let rest = usize::try_from(bytes % pattern_bytes).unwrap_or_default();
        self.written
            .hasher
            .push(pattern.get(..rest).unwrap_or_default());
        if !is_text {
            let kind = match (payload.kind, self.hint) {
                (MediaKind::File, Hint::Kind(kind)) => kind,
                (kind, _) => kind,
            };
            self.tell(kind, payload.content);
        }
    }

    /// The type of a part has come, which may be behind its media.
    pub(super) fn type_media(&mut self) {
        let media = self
            .media
            .untyped
            .and_then(|index| self.written.media.get_mut(index));
        if let (Some(media), Hint::Kind(kind)) = (media, self.hint)
            && matches!(
                self.context,
                Context::Part | Context::Block | Context::Message
            )
        {
            media.kind = kind;
        }
    }

    fn tell(&mut self, kind: MediaKind, content: u64) {
        if self.written.media.len() < MEDIA_MAX {
            if kind == MediaKind::File {
                self.media.untyped = Some(self.written.media.len());
            }
            self.written.media.push(MediaItem {
                kind,
                content,
                tokens: Tokens(MEDIA_TOKENS),
            });
        }
    }
}

/// Near what engines make of an image of ordinary size; today's pickers assume 225.
pub(super) const MEDIA_TOKENS: u64 = 256;
