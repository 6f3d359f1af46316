//! Which values of a prompt are text, which are media and which count for nothing, by where they
//! stand.

use pointsman_domain::facts::MediaKind;
use pointsman_json::lexer::Kind;

use crate::read::form::SegmentKind;

/// What a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Nothing: it is the whole segment.
    Root(SegmentKind),
    /// The list of messages.
    Messages,
    /// One of them.
    Message,
    /// The list of blocks of a system prompt.
    Blocks,
    /// One of them.
    Block,
    /// A list of parts of a message.
    Parts,
    /// One of them.
    Part,
    /// The list of tools.
    Tools,
    /// One of them.
    Tool,
    /// What a member for media holds.
    Media(MediaKind),
    /// A list of prompts, which may be objects.
    Prompts(Objects),
    /// A list of token ids.
    Ids,
    /// Something whose members have no meaning here, as the arguments of a tool.
    Verbatim,
    /// Something that counts for nothing.
    Skipped,
}

/// Whether a prompt may be an object with text and media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objects {
    /// It may.
    Allowed,
    /// It may not.
    Wrong,
    /// Nor may it be a text.
    WrongAsTexts,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// As good as not there, and so is its name.
    Absent,
    /// Not what its dialect says.
    Wrong,
    /// Text, or a number or word as it is written.
    Text,
    /// The content of media, or where it lies.
    Payload(MediaKind),
    /// The content of media or a text, as the type says that comes behind it.
    Unsettled,
    /// A prompt of text among prompts.
    Prompt,
    /// A token id.
    Id,
    /// A list or object.
    Enter(Context),
}

/// Names of members that have a meaning in messages and parts of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// No name: an element of a list.
    None,
    /// Any other.
    Other,
    /// Any other, of which the first bytes are no longer at hand.
    Long,
    Role,
    Type,
    Text,
    /// Holds parts.
    Content,
    /// Says how media is written.
    Format,
    /// Not rendered.
    Unrendered,
    /// Holds media if it is an object.
    Source,
    /// Holds media.
    Media(MediaKind),
    /// Holds media of the kind that the part's type says.
    AnyMedia,
    /// What a call of a tool gave, which is media if the call's type says so.
    Result,
}

/// What the type of a part says of the media in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    Unknown,
    /// That it is none.
    Text,
    Kind(MediaKind),
}

impl Word {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"role" => Self::Role,
            b"type" => Self::Type,
            b"text" => Self::Text,
            // The output of a tool is written like a message's content.
            b"content" | b"output" => Self::Content,
            b"detail" | b"format" | b"filename" | b"media_type" | b"mime_type" | b"uuid" => {
                Self::Format
            }
            // Clients move their cache marks from turn to turn, which would give earlier messages
            // other hashes.
            b"cache_control" => Self::Unrendered,
            b"source" => Self::Source,
            b"image" | b"image_url" | b"image_embeds" => Self::Media(MediaKind::Image),
            b"audio" | b"audio_url" | b"audio_embeds" | b"input_audio" => {
                Self::Media(MediaKind::Audio)
            }
            b"video" | b"video_url" => Self::Media(MediaKind::Video),
            b"file" => Self::Media(MediaKind::File),
            b"file_data" | b"file_id" | b"file_url" => Self::AnyMedia,
            b"result" => Self::Result,
            _ => Self::Other,
        }
    }
}

impl Hint {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"text" => Self::Text,
            b"image" | b"image_url" | b"input_image" | b"image_generation_call" => {
                Self::Kind(MediaKind::Image)
            }
            b"audio" | b"audio_url" | b"input_audio" => Self::Kind(MediaKind::Audio),
            b"video" | b"video_url" | b"input_video" => Self::Kind(MediaKind::Video),
            _ => Self::Unknown,
        }
    }

    const fn media(self) -> MediaKind {
        match self {
            Self::Kind(kind) => kind,
            Self::Unknown | Self::Text => MediaKind::File,
        }
    }
}

impl Context {
    /// What a value of `kind` is that stands here under the name `word`; `hint` is what the types seen
    /// last say.
    pub(super) fn step(self, word: Word, hint: Hint, kind: Kind) -> Step {
        match self {
            Self::Skipped => Step::Absent,
            Self::Root(segment) => root(segment, kind),
            Self::Messages => list(Self::Message, kind),
            Self::Blocks => list(Self::Block, kind),
            Self::Parts => list(Self::Part, kind),
            Self::Prompts(objects) => prompt(objects, kind),
            Self::Ids => id(kind),
            Self::Tools if kind == Kind::Object => Step::Enter(Self::Tool),
            Self::Tools | Self::Verbatim => verbatim(kind),
            // A null says what a missing member says, and clients write either.
            _ if word == Word::Unrendered => Step::Absent,
            _ if kind == Kind::Null && word != Word::Long => Step::Absent,
            Self::Tool => verbatim(kind),
            Self::Message if word == Word::Result && kind == Kind::String => result(hint),
            Self::Message | Self::Block | Self::Part => member(word, hint, kind),
            Self::Media(media) => in_media(media, word, hint, kind),
        }
    }

    /// Whether names are looked at here.
    pub(super) const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Message | Self::Block | Self::Part | Self::Tool | Self::Media(_)
        )
    }

    /// Whether the values in here end with a mark.
    pub(super) const fn has_ends(self) -> bool {
        !matches!(
            self,
            Self::Root(_) | Self::Prompts(_) | Self::Ids | Self::Skipped
        )
    }

    /// Whether a list or object that is this begins with a mark in `parent`.
    pub(super) const fn has_opening(self, parent: Self) -> bool {
        !matches!(
            (self, parent),
            // The whole segment is not closed, so that one that grows keeps its beginning.
            (
                Self::Messages | Self::Blocks | Self::Tools | Self::Prompts(_),
                Self::Root(_)
            ) | (Self::Skipped | Self::Ids, _)
        )
    }
}

fn root(segment: SegmentKind, kind: Kind) -> Step {
    let enter = |context| match kind {
        Kind::Array => Step::Enter(context),
        _ => Step::Wrong,
    };
    let text = kind == Kind::String;
    match segment {
        _ if kind == Kind::Null => Step::Absent,
        SegmentKind::Messages => enter(Context::Messages),
        SegmentKind::Input if text => Step::Text,
        SegmentKind::Input => enter(Context::Messages),
        SegmentKind::System if kind == Kind::Array => Step::Enter(Context::Blocks),
        SegmentKind::Tools if kind == Kind::Array => Step::Enter(Context::Tools),
        SegmentKind::System | SegmentKind::Tools => verbatim(kind),
        SegmentKind::Prompts | SegmentKind::PromptsOrObjects if text => Step::Prompt,
        SegmentKind::Prompts => enter(Context::Prompts(Objects::Wrong)),
        SegmentKind::PromptsOrObjects => enter(Context::Prompts(Objects::Allowed)),
        SegmentKind::Ids => enter(Context::Prompts(Objects::WrongAsTexts)),
        SegmentKind::Media(media) => in_media(media, Word::None, Hint::Unknown, kind),
    }
}

const fn list(element: Context, kind: Kind) -> Step {
    match kind {
        Kind::Object => Step::Enter(element),
        Kind::Array => Step::Enter(Context::Parts),
        _ => Step::Text,
    }
}

const fn verbatim(kind: Kind) -> Step {
    match kind {
        Kind::Object | Kind::Array => Step::Enter(Context::Verbatim),
        _ => Step::Text,
    }
}

const fn content(kind: Kind) -> Step {
    list(Context::Part, kind)
}

fn member(word: Word, hint: Hint, kind: Kind) -> Step {
    match word {
        Word::Content => content(kind),
        Word::Media(media) => media_member(media, kind),
        Word::AnyMedia => media_member(hint.media(), kind),
        Word::Source if kind == Kind::Object => Step::Enter(Context::Media(hint.media())),
        _ => verbatim(kind),
    }
}

/// What the result of a call is.
const fn result(hint: Hint) -> Step {
    match hint {
        Hint::Kind(media) => Step::Payload(media),
        Hint::Unknown | Hint::Text => Step::Unsettled,
    }
}

const fn media_member(media: MediaKind, kind: Kind) -> Step {
    match kind {
        Kind::String => Step::Payload(media),
        Kind::Object | Kind::Array => Step::Enter(Context::Media(media)),
        _ => Step::Text,
    }
}

fn in_media(media: MediaKind, word: Word, hint: Hint, kind: Kind) -> Step {
    match word {
        Word::Content => content(kind),
        Word::Type | Word::Format => verbatim(kind),
        // A document may be written out.
        _ if hint == Hint::Text && kind == Kind::String => Step::Text,
        _ => media_member(media, kind),
    }
}

fn prompt(objects: Objects, kind: Kind) -> Step {
    match kind {
        Kind::String if objects != Objects::WrongAsTexts => Step::Prompt,
        Kind::Object if objects == Objects::Allowed => Step::Enter(Context::Part),
        Kind::Array => Step::Enter(Context::Ids),
        Kind::Number => Step::Id,
        _ => Step::Wrong,
    }
}

const fn id(kind: Kind) -> Step {
    match kind {
        Kind::Number => Step::Id,
        _ => Step::Wrong,
    }
}
