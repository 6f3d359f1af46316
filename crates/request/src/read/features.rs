//! What a JSON body lists of the media in the places of its token ids: their hashes and their places,
//! each as an object with an array for each kind of media.
//!
//! A list that is not exactly so is unclear, and changes the prompt from its beginning: no medium is
//! ever left out of the keys.

use pointsman_domain::block::{BlockHash, BlockSize};
use pointsman_domain::facts::{MEDIA_MAX, MediaItem, MediaKind};
use pointsman_domain::units::Tokens;
use pointsman_json::lexer::Kind;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::form::Listing;
use super::name::Name;
use super::places::{self, PLACES_MAX, Place};

/// Reads both lists, one after the other in any order.
pub(crate) struct Features {
    hashes: List<u64>,
    places: List<Place>,
    /// The list that is read.
    listing: Listing,
    /// Containers of it that are open.
    depth: usize,
    token: Token,
    name: Name,
    hash: Xxh3Default,
    /// The number that is read; `None` where it is no index.
    number: Option<u32>,
    /// What the place that is read says so far.
    offset: Option<u32>,
    length: Option<u32>,
}

/// One of the lists.
struct List<T> {
    groups: Vec<Group<T>>,
    /// Items in all groups.
    count: usize,
    is_clear: bool,
}

/// What is listed of one kind of media.
struct Group<T> {
    name: u64,
    kind: MediaKind,
    items: Vec<T>,
}

/// What the parts of the current token are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Nothing,
    Name,
    Hash,
    Number,
}

/// What was found.
pub(crate) struct Listed {
    /// The first media.
    pub(crate) media: Vec<MediaItem>,
    /// Whether all media are in their places.
    pub(crate) is_placed: bool,
}

impl Default for Features {
    /// Before any list.
    fn default() -> Self {
        Self {
            hashes: List::new(),
            places: List::new(),
            listing: Listing::Hashes,
            depth: 0,
            token: Token::Nothing,
            name: Name::new(),
            hash: Xxh3Default::new(),
            number: None,
            offset: None,
            length: None,
        }
    }
}

impl Features {
    /// What was read of this list does not count.
    pub(crate) fn forget(&mut self, listing: Listing) {
        match listing {
            Listing::Hashes => self.hashes = List::new(),
            Listing::Places => self.places = List::new(),
        }
    }

    /// The value begins that is this list.
    pub(crate) const fn start(&mut self, listing: Listing) {
        self.listing = listing;
        self.depth = 0;
    }

    /// A token of the value begins.
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.token = Token::Nothing;
        match (self.listing, self.depth, kind) {
            (_, LIST, Kind::Object) | (_, GROUP, Kind::Array | Kind::Null) => {}
            (_, GROUP, Kind::Key) | (Listing::Places, MEMBER, Kind::Key) => {
                self.name.clear();
                self.number = None;
                self.token = Token::Name;
            }
            (Listing::Hashes, ITEM, Kind::String) => {
                self.hash.reset();
                self.token = Token::Hash;
            }
            (Listing::Places, ITEM, Kind::Object) => {
                self.offset = None;
                self.length = None;
            }
            (Listing::Places, MEMBER, Kind::Number) => {
                self.number = Some(0);
                self.token = Token::Number;
            }
            // What else a place says follows from what is put there.
            (Listing::Places, MEMBER.., _) => {}
            _ => self.confuse(),
        }
        if matches!(kind, Kind::Object | Kind::Array) {
            self.depth += 1;
        }
    }

    /// The next part of that token.
    pub(crate) fn part(&mut self, part: &[u8]) {
        match self.token {
            Token::Nothing => {}
            Token::Name => {
                self.name.part(part);
            }
            Token::Hash => self.hash.update(part),
            Token::Number => {
                for &digit in part {
                    self.number = self.number.and_then(|number| {
                        let digit = char::from(digit).to_digit(10)?;
                        number.checked_mul(10)?.checked_add(digit)
                    });
                }
            }
        }
    }

    /// A token of the value ends.
    pub(crate) fn end(&mut self, kind: Kind) {
        if matches!(kind, Kind::Object | Kind::Array) {
            self.depth = self.depth.saturating_sub(1);
        }
        match (self.listing, self.depth, kind) {
            (Listing::Hashes, GROUP, Kind::Key) => self.hashes.begin_group(&self.name),
            (Listing::Places, GROUP, Kind::Key) => self.places.begin_group(&self.name),
            (Listing::Hashes, ITEM, Kind::String) => self.hashes.push(self.hash.digest()),
            (Listing::Places, ITEM, Kind::Object) => match (self.offset, self.length) {
                (Some(offset), Some(length)) => self.places.push(Place { offset, length }),
                _ => self.confuse(),
            },
            (Listing::Places, MEMBER, Kind::Key) => {}
            (Listing::Places, MEMBER, _) => match self.name.whole() {
                Some(b"offset") => self.offset = self.number,
                Some(b"length") => self.length = self.number,
                _ => {}
            },
            _ => {}
        }
    }

    /// Puts the media into the blocks of a prompt, of which `ids` says how many token ids it is, if it
    /// is nothing else.
    pub(crate) fn put_into(
        &self,
        blocks: &mut [BlockHash],
        size: BlockSize,
        ids: Option<u64>,
    ) -> Listed {
        let mut media = self.media();
        let placed = self.placed(ids);
        let is_placed = placed.is_some();
        if let Some(placed) = placed {
            for (item, (place, _)) in media.iter_mut().zip(&placed) {
                item.tokens = place.tokens();
            }
            places::put_into(blocks, size, placed);
        }
        Listed { media, is_placed }
    }

    /// All media with their places in the order of their hashes; `None` if a place is not known.
    fn placed(&self, ids: Option<u64>) -> Option<Vec<(Place, u64)>> {
        let (hashes, places) = (&self.hashes, &self.places);
        if !hashes.is_clear || !places.is_clear || hashes.count != places.count {
            return None;
        }
        let mut placed = Vec::with_capacity(hashes.count);
        for group in &hashes.groups {
            let places = places.of(group.name);
            if places.len() != group.items.len() {
                return None;
            }
            for (&place, &content) in places.iter().zip(&group.items) {
                if !place.is_within(ids?) {
                    return None;
                }
                placed.push((place, content));
            }
        }
        Some(placed)
    }

    fn media(&self) -> Vec<MediaItem> {
        let groups = self.hashes.groups.iter();
        groups
            .flat_map(|group| {
                group.items.iter().map(|&content| MediaItem {
                    kind: group.kind,
                    content,
                    tokens: Tokens::ZERO,
                })
            })
            .take(MEDIA_MAX)
            .collect()
    }

    /// The list is not as it should be.
    const fn confuse(&mut self) {
        match self.listing {
            Listing::Hashes => self.hashes.is_clear = false,
            Listing::Places => self.places.is_clear = false,
        }
    }
}

impl<T> List<T> {
    const fn new() -> Self {
        Self {
            groups: Vec::new(),
            count: 0,
            is_clear: true,
        }
    }

    /// A group of this name begins. The same name again makes the list unclear.
    fn begin_group(&mut self, name: &Name) {
        let is_room = self.groups.len() < GROUPS_MAX;
        let Some(name) = name.whole().filter(|_| is_room) else {
            self.is_clear = false;
            return;
        };
        let kind = match name {
            b"image" => MediaKind::Image,
            b"audio" => MediaKind::Audio,
            b"video" => MediaKind::Video,
            _ => MediaKind::File,
        };
        let name = xxh3_64(name);
        self.is_clear &= self.groups.iter().all(|group| group.name != name);
        if self.is_clear {
            self.groups.push(Group {
                name,
                kind,
                items: Vec::new(),
            });
        }
    }

    /// Takes an item of the last group; none once the list is unclear.
    fn push(&mut self, item: T) {
        self.is_clear &= self.count < PLACES_MAX;
        if self.is_clear
            && let Some(group) = self.groups.last_mut()
        {
            group.items.push(item);
            self.count += 1;
        }
    }

    /// The items of a group.
    fn of(&self, name: u64) -> &[T] {
        let group = self.groups.iter().find(|group| group.name == name);
        group.map_or(&[], |group| &group.items)
    }
}

/// How many containers of a list are open where it begins itself.
const LIST: usize = 0;
/// The same where a group begins.
const GROUP: usize = 1;
/// The same where an item does.
const ITEM: usize = 2;
/// The same where a member of a place does.
const MEMBER: usize = 3;

/// Kinds of media in one list.
const GROUPS_MAX: usize = 16;

#[cfg(test)]
mod tests;
