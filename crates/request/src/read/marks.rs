//! What stands between the texts that are hashed.
//!
//! Marks are bytes that no UTF-8 text contains, so different values never give the same bytes: each
//! value begins with a mark of its kind, and each element of a list and each member of an object ends
//! with [`END`].

use pointsman_domain::facts::MediaKind;
use pointsman_json::lexer::Kind;

use super::form::SegmentKind;

/// The word `true`.
pub(crate) const TRUE: u8 = 0xf5;
/// The word `false`.
pub(crate) const FALSE: u8 = 0xf6;
/// The word `null`.
pub(crate) const NULL: u8 = 0xf7;
/// A text begins.
pub(crate) const TEXT: u8 = 0xf8;
/// A number begins, as it is written.
pub(crate) const NUMBER: u8 = 0xf9;
/// The digest of media begins.
pub(crate) const MEDIA: u8 = 0xfa;
/// A list begins.
pub(crate) const LIST: u8 = 0xfb;
/// An object begins.
pub(crate) const OBJECT: u8 = 0xfc;
/// The name of a member begins.
pub(crate) const NAME: u8 = 0xfd;
/// A value has ended.
pub(crate) const END: u8 = 0xff;

/// The mark of a token's beginning.
#[inline]
pub(crate) const fn of(kind: Kind) -> u8 {
    match kind {
        Kind::Object => OBJECT,
        Kind::Array => LIST,
        Kind::Key => NAME,
        Kind::String => TEXT,
        Kind::Number => NUMBER,
        Kind::True => TRUE,
        Kind::False => FALSE,
        Kind::Null => NULL,
    }
}

/// What a part of the prompt begins with that may be written as another part is. No value begins so.
pub(crate) const fn of_segment(kind: SegmentKind) -> Option<u8> {
    match kind {
        SegmentKind::Tools => Some(1),
        SegmentKind::System => Some(2),
        SegmentKind::Media(MediaKind::Image) => Some(3),
        SegmentKind::Media(MediaKind::Audio) => Some(4),
        SegmentKind::Media(MediaKind::Video) => Some(5),
        SegmentKind::Media(MediaKind::File) => Some(6),
        SegmentKind::Messages
        | SegmentKind::Input
        | SegmentKind::Prompts
        | SegmentKind::PromptsOrObjects
        | SegmentKind::Ids => None,
    }
}
