//! One pass over the tokens of a body.
//!
//! The reader follows the names of members as deep as the dialect's rows go, and hands the tokens of
//! a member's value to whoever wants them: the part of the prompt that it is, the hash of a template
//! input, or the text or number that a fact is made of. All else goes by.

use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{ModelName, RequestFacts};
use pointsman_json::lexer::{Kind, Visit};
use xxhash_rust::xxh3::Xxh3Default;

use super::features::Features;
use super::finding::Finding;
use super::fingerprint::Fingerprint;
use super::form::{DEPTH_MAX, Fact, Form, Row};
use super::marks;
use super::model::Model;
use super::name::Name;
use super::prompt::Segments;
use super::scalar::Scalar;
use crate::rejection::Rejection;
use crate::rewrite::ModelPlace;

/// Reads the body of one dialect.
pub(crate) struct Reader {
    form: &'static Form,
    top: Top,
    /// Containers that are open.
    depth: usize,
    /// The deepest of them that rows can lie in, counted from 1.
    followed: usize,
    levels: [Level; DEPTH_MAX + 1],
    slots: Vec<Slot>,
    /// The rows whose slots hold something, one bit each.
    given: u64,
    name: Name,
    wanted: u8,
    /// The depth of the value that is hashed as a template input, and its row.
    template: (usize, usize),
    fingerprint: Fingerprint,
    segment_depth: usize,
    segments: Segments,
    /// What is listed of media, once anything is.
    features: Option<Box<Features>>,
    scalar: Scalar,
    model: Model,
}

/// What the body is.
enum Top {
    Nothing,
    Object { at: u64 },
    Other,
}

/// What is known of the members or elements at one depth.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Rows that lie here or deeper, one bit each.
    rows: u64,
    /// Those of them that the last name here leads to.
    named: u64,
    /// Those of them that the current value here is for.
    own: u64,
    /// Where that value begins.
    at: u64,
    /// Values so far.
    count: u32,
}

/// What a row's member gave.
#[derive(Clone, Copy, Default)]
struct Slot {
    finding: Finding,
    template: Option<u64>,
}

impl Reader {
    /// A reader of a body of this form.
    pub(crate) fn new(form: &'static Form, block: BlockSize) -> Self {
        let mut levels = [Level::default(); DEPTH_MAX + 1];
        if let Some(members) = levels.get_mut(1) {
            members.rows = u64::MAX;
        }
        Self {
            form,
            top: Top::Nothing,
            depth: 0,
            followed: 0,
            levels,
            slots: vec![Slot::default(); form.rows.len()],
            given: 0,
            name: Name::new(),
            wanted: 0,
            template: (0, 0),
            fingerprint: Fingerprint::new(),
            segment_depth: 0,
            segments: Segments::new(form, block),
            features: None,
            scalar: Scalar::new(),
            model: Model::missing(),
        }
    }

    /// Completes `facts` by what was read, and says where the model stands.
    pub(crate) fn finish(self, facts: &mut RequestFacts) -> Result<Option<ModelPlace>, Rejection> {
        let Top::Object { at } = self.top else {
            return Err(Rejection::NotAnObject);
        };
        let members = self.levels.get(1).map_or(0, |level| level.count);
        let place = self.model.place();
        facts.model = self.model.name(self.form.model)?;
        let model_place = match place {
            _ if facts.model == ModelName::Unread => None,
            Some((start, end)) => Some(ModelPlace::member(start, end)),
            None => Some(ModelPlace::new_member(at + 1, members == 0)),
        };

        let given = || {
            rows(self.form, self.given)
                .filter_map(|(index, row)| Some((row, self.slots.get(index)?)))
        };
        let is_elsewhere = given().any(|(row, slot)| {
            row.fact == Some(Fact::PromptElsewhere) && slot.finding == Finding::Present
        });
        if let Some(fault) = self.segments.fault(is_elsewhere) {
            return Err(fault);
        }
        for (row, slot) in given() {
            if let Some(fact) = row.fact {
                slot.finding.give(fact, facts);
            }
        }
        let found = self.segments.finish(self.features.as_deref());
        // What is in its place changes the prompt from there.
        let from_start = given().filter(|(row, _)| row.listing.is_none() || !found.is_media_placed);
        facts.template_inputs = template_hash(from_start);
        facts.prompt = found.prompt;
        facts.media = found.media;
        facts.choices = facts.choices.saturating_mul(found.prompts);
        facts.session = facts.session.or(found.session);
        Ok(model_place)
    }

    /// The name of a member at a depth that is followed has ended.
    fn end_name(&mut self) {
        self.wanted &= !NAME;
        let depth = self.depth;
        let Some(level) = self.levels.get_mut(depth) else {
            return;
        };
        level.named = 0;
        let Some(name) = self.name.whole() else {
            return;
        };
        let mut rows_here = level.rows;
        if depth == 1 {
            rows_here = self
                .form
                .rows_by_length
                .get(name.len())
                .map_or(0, |rows| *rows);
        }
        for (index, row) in rows(self.form, rows_here) {
            if row.name_at(depth).is_none_or(|row| row.as_bytes() != name) {
                continue;
            }
            level.named |= 1 << index;
            // Of a member that comes twice the last counts.
            if self.given & (1 << index) != 0
                && let Some(slot) = self.slots.get_mut(index)
            {
                *slot = Slot::default();
                self.given &= !(1 << index);
            }
            if let Some(segment) = row.segment {
                self.segments.forget(segment);
            }
            if let (Some(listing), Some(features)) = (row.listing, &mut self.features) {
                features.forget(listing);
            }
        }
    }

    /// Who takes the tokens, where they are a list of media.
    fn listing(&mut self) -> Option<&mut Features> {
        let features = self.features.as_deref_mut();
        features.filter(|_| self.wanted & LISTING != 0)
    }

    /// The slot of a row that gives something.
    fn slot(&mut self, index: usize) -> Option<&mut Slot> {
        self.given |= 1 << index;
        self.slots.get_mut(index)
    }

    /// The value of a member begins that rows lead to.
    #[inline(never)]
    fn begin_value(&mut self, kind: Kind, at: u64) {
        let depth = self.depth;
        let Some(level) = self.levels.get_mut(depth) else {
            return;
        };
        let named = core::mem::take(&mut level.named);
        level.at = at;
        let mut deeper = 0;
        for (index, row) in rows(self.form, named) {
            if row.depth() > depth {
                deeper |= 1 << index;
                continue;
            }
            if row.fact.is_some() && matches!(kind, Kind::String | Kind::Number) {
                self.scalar.clear();
                self.wanted |= SCALAR;
            }
            if row.is_template && kind != Kind::Null {
                self.fingerprint.clear();
                self.template = (depth, index);
                self.wanted |= TEMPLATE;
                if let Some(listing) = row.listing {
                    let features = self.features.get_or_insert_with(Box::default);
                    features.start(listing);
                    self.wanted |= LISTING;
                }
            }
            if let Some(segment) = row.segment {
                self.segments.start(segment);
                self.segment_depth = depth;
                self.wanted |= SEGMENT;
            }
        }
        if let Some(level) = self.levels.get_mut(depth) {
            level.own = named & !deeper;
        }
        if kind == Kind::Object
            && deeper != 0
            && let Some(inner) = self.levels.get_mut(depth + 1)
        {
            inner.rows = deeper;
            self.followed = depth + 1;
        }
    }

    /// The value of a member ends that rows are for.
    #[inline(never)]
    fn end_value(&mut self, kind: Kind, end: u64) {
        let depth = self.depth;
        if self.wanted & SEGMENT != 0 && self.segment_depth == depth {
            self.wanted &= !SEGMENT;
            self.segments.stop();
        }
        if self.wanted & TEMPLATE != 0 && self.template.0 == depth {
            self.wanted &= !(TEMPLATE | LISTING);
            let template = Some(self.fingerprint.digest());
            if let Some(slot) = self.slot(self.template.1) {
                slot.template = template;
            }
        }
        let children = self.levels.get(depth + 1).map_or(0, |level| level.count);
        let Some(level) = self.levels.get_mut(depth) else {
            return;
        };
        let own = core::mem::take(&mut level.own);
        self.wanted &= !SCALAR;
        let place = (level.at, end);
        for (index, row) in rows(self.form, own) {
            match row.fact {
                Some(Fact::Model) => self.model = Model::of(kind, &self.scalar, place),
                Some(fact) => {
                    let finding = Finding::of(fact, kind, &self.scalar, children);
                    if finding != Finding::Nothing
                        && let Some(slot) = self.slot(index)
                    {
                        slot.finding = finding;
                    }
                }
                None => {}
            }
        }
    }
}

impl Visit for Reader {
    #[inline]
    fn begin(&mut self, kind: Kind, at: u64) {
        if kind == Kind::Key {
            if self.depth == self.followed {
                self.name.clear();
                self.wanted |= NAME;
            }
        } else if self.depth == 0 {
            self.top = Top::Other;
            if kind == Kind::Object {
                self.top = Top::Object { at };
                self.followed = 1;
            }
        } else if let Some(level) = self.levels.get_mut(self.depth) {
            level.count = level.count.saturating_add(1);
            if level.named != 0 && self.depth == self.followed {
                self.begin_value(kind, at);
            }
        }
        if self.wanted & SEGMENT != 0 {
            self.segments.begin(kind);
        }
        if self.wanted & TEMPLATE != 0 {
            self.fingerprint.begin(kind);
            if let Some(features) = self.listing() {
                features.begin(kind);
            }
        }
        if matches!(kind, Kind::Object | Kind::Array) {
            self.depth += 1;
            if let Some(level) = self.levels.get_mut(self.depth) {
                level.count = 0;
            }
        }
    }

    #[inline]
    fn part(&mut self, part: &[u8]) {
        if self.wanted & SEGMENT != 0 {
            self.segments.part(part);
        }
        if self.wanted & (NAME | SCALAR | TEMPLATE) == 0 {
            return;
        }
        if self.wanted & NAME != 0 {
            self.name.part(part);
        }
        if self.wanted & TEMPLATE != 0 {
            self.fingerprint.part(part);
            if let Some(features) = self.listing() {
                features.part(part);
            }
        }
        if self.wanted & SCALAR != 0 {
            self.scalar.part(part);
        }
    }

    #[inline]
    fn end(&mut self, kind: Kind, end: u64) {
        if matches!(kind, Kind::Object | Kind::Array) {
            self.depth -= 1;
            self.followed = self.followed.min(self.depth);
        }
        if self.wanted & SEGMENT != 0 {
            self.segments.end(kind);
        }
        if self.wanted & TEMPLATE != 0 {
            self.fingerprint.end(kind);
            if let Some(features) = self.listing() {
                features.end(kind);
            }
        }
        if kind == Kind::Key {
            if self.wanted & NAME != 0 {
                self.end_name();
            }
        } else if self
            .levels
            .get(self.depth)
            .is_some_and(|level| level.own != 0)
        {
            self.end_value(kind, end);
        }
    }
}

/// The rows whose bits are set, each with its index.
fn rows(form: &'static Form, mut bits: u64) -> impl Iterator<Item = (usize, &'static Row)> {
    core::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let index = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        form.rows.get(index).map(|row| (index, row))
    })
}

/// One hash over the template inputs that are present, whatever their order in the body.
fn template_hash<'s>(given: impl Iterator<Item = (&'s Row, &'s Slot)>) -> u64 {
    let mut hash = Xxh3Default::new();
    let mut is_present = false;
    for (row, slot) in given {
        if let Some(value) = slot.template {
            is_present = true;
            for depth in 1..=row.depth() {
                hash.update(row.name_at(depth).unwrap_or_default().as_bytes());
                hash.update(&[marks::END]);
            }
            hash.update(&value.to_le_bytes());
        }
    }
    // 0 says that none is present.
    if is_present { hash.digest().max(1) } else { 0 }
}

/// The name of a member is wanted.
const NAME: u8 = 1;
/// The tokens are wanted for a part of the prompt.
const SEGMENT: u8 = 2;
/// The tokens are wanted for the hash of a template input.
const TEMPLATE: u8 = 4;
/// The text or number is wanted for a fact.
const SCALAR: u8 = 8;
/// The tokens that are hashed as a template input are also a list of media.
const LISTING: u8 = 16;
