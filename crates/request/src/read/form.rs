//! What a dialect's body looks like, as a table.

use pointsman_domain::facts::MediaKind;

/// The form of a dialect's body: which of its members matter, and how.
pub(crate) struct Form {
    /// What the members give. Where several rows give one fact, the first whose member says anything
    /// does.
    pub(crate) rows: &'static [Row],
    /// By the length of a name, the rows of members of the top level with names so long: one bit each.
    pub(crate) rows_by_length: [u64; NAME_BYTES_MAX + 1],
    /// The parts of the prompt in the order in which engines render them.
    pub(crate) segments: &'static [SegmentForm],
    /// What the body must say of the model.
    pub(crate) model: ModelRule,
}

/// What a member of the body, or one further inside, gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The member of the top level.
    pub(crate) name: &'static str,
    /// Members inside of it, outermost first.
    pub(crate) inner: &'static [&'static str],
    /// The fact that it gives.
    pub(crate) fact: Option<Fact>,
    /// Whether it changes the prompt from its beginning.
    pub(crate) is_template: bool,
    /// The index of the part of the prompt that it is.
    pub(crate) segment: Option<usize>,
    /// What it lists of media in the places of token ids. Where that says all of them, it changes the
    /// prompt from there on and not from its beginning.
    pub(crate) listing: Option<Listing>,
}

/// What a member lists of media in the places of token ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Hashes of what is put there.
    Hashes,
    /// The places.
    Places,
}

/// Facts that a member can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The model. Only a member of the top level can.
    Model,
    /// Whether the answer is streamed.
    Stream,
    /// How many answers are asked for.
    Choices,
    /// The cap on output.
    OutputCap,
    /// The cache salt.
    Salt,
    /// The name under which prompts share cache.
    CacheKey,
    /// The client's own user.
    User,
    /// The conversation.
    Session,
    /// A word for the effort of reasoning.
    Effort,
    /// Off where it is false, or the word for it.
    Switch,
    /// A cap on tokens of thinking.
    Budget,
    /// A list of tools, to be counted.
    Tools,
    /// A form that the answer must have.
    Format,
    /// The name of such a form, of which one is free text.
    FormatName,
    /// Arguments of the chat template.
    Arguments,
    /// Something that takes the prompt's place.
    PromptElsewhere,
}

/// A part of the prompt.
pub(crate) struct SegmentForm {
    /// How it is written.
    pub(crate) kind: SegmentKind,
    /// Where a prompt is demanded and this can be it.
    pub(crate) demand: Option<Demand>,
}

/// How a part of the prompt is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// A list of messages.
    Messages,
    /// A text or a list of messages.
    Input,
    /// A text or a list of blocks.
    System,
    /// A list of tools.
    Tools,
    /// A text or token ids, or a list of either.
    Prompts,
    /// As above, or a list of objects that hold text and media.
    PromptsOrObjects,
    /// Token ids or lists of them.
    Ids,
    /// Media, however they are nested.
    Media(MediaKind),
}

/// What a member that holds the prompt must be.
#[derive(Clone, Copy)]
pub(crate) struct Demand {
    /// Its name.
    pub(crate) field: &'static str,
    /// To complete "make it …".
    pub(crate) expected: &'static str,
}

/// What a body must say of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelRule {
    /// The member is demanded.
    Demanded,
    /// The member may be missing.
    Optional,
    /// The member may be missing, and nothing is computed then that has a model.
    Kept,
    /// The dialect has no place for a model.
    Unread,
}

impl Form {
    /// The table with these rows.
    pub(crate) const fn new(
        rows: &'static [Row],
        segments: &'static [SegmentForm],
        model: ModelRule,
    ) -> Self {
        Self {
            rows,
            rows_by_length: by_length(rows),
            segments,
            model,
        }
    }

    /// Whether a body that says nothing of use is for the engine to refuse.
    pub(crate) fn demands_nothing(&self) -> bool {
        self.model != ModelRule::Demanded
            && self.segments.iter().all(|segment| segment.demand.is_none())
    }
}

/// The number of rows in all groups.
pub(crate) const fn count(mut groups: &[&[Row]]) -> usize {
    let mut count = 0;
    while let Some((group, others)) = groups.split_first() {
        count += group.len();
        groups = others;
    }
    count
}

/// All rows of all groups, of which there are `COUNT`.
pub(crate) const fn joined<const COUNT: usize>(mut groups: &[&[Row]]) -> [Row; COUNT] {
    let mut rows = [Row::new("", &[]); COUNT];
    let mut left = rows.as_mut_slice();
    while let Some((group, others)) = groups.split_first() {
        groups = others;
        let mut group = *group;
        while let Some((row, rest)) = group.split_first() {
            group = rest;
            if let Some((place, places)) = left.split_first_mut() {
                *place = *row;
                left = places;
            } else {
                left = &mut [];
            }
        }
    }
    rows
}

const fn by_length(rows: &[Row]) -> [u64; NAME_BYTES_MAX + 1] {
    let mut by_length = [0; NAME_BYTES_MAX + 1];
    let mut left = by_length.as_mut_slice();
    let mut length = 0;
    while let Some((set, others)) = left.split_first_mut() {
        let mut bit = 1;
        let mut rest = rows;
        while let Some((row, rows)) = rest.split_first() {
            if row.name.len() == length {
                *set |= bit;
            }
            bit <<= 1;
            rest = rows;
        }
        left = others;
        length += 1;
    }
    by_length
}

impl Row {
    /// A row of a member of the top level that gives nothing yet.
    const fn new(name: &'static str, inner: &'static [&'static str]) -> Self {
        Self {
            name,
            inner,
            fact: None,
            is_template: false,
            segment: None,
            listing: None,
        }
    }

    /// The name at a depth, where that of the top level's members is 1.
    pub(crate) fn name_at(&self, depth: usize) -> Option<&'static str> {
        match depth {
            0 => None,
            1 => Some(self.name),
            _ => self.inner.get(depth - 2).copied(),
        }
    }

    /// The depth of the member that this row is of.
    pub(crate) const fn depth(&self) -> usize {
        self.inner.len() + 1
    }
}

/// A member that gives `fact`.
pub(crate) const fn fact(name: &'static str, fact: Fact) -> Row {
    inner(name, &[], fact)
}

/// A member of a member that gives `fact`.
pub(crate) const fn inner(name: &'static str, inner: &'static [&'static str], fact: Fact) -> Row {
    Row {
        fact: Some(fact),
        ..Row::new(name, inner)
    }
}

/// A member that changes the prompt from its beginning.
pub(crate) const fn template(name: &'static str) -> Row {
    Row {
        is_template: true,
        ..Row::new(name, &[])
    }
}

/// A member that changes the prompt from its beginning, and gives `fact`.
pub(crate) const fn template_and(name: &'static str, fact: Fact) -> Row {
    Row {
        fact: Some(fact),
        ..template(name)
    }
}

/// A member of a member that lists something of media in the places of token ids.
pub(crate) const fn listing(
    name: &'static str,
    inner: &'static [&'static str],
    listing: Listing,
) -> Row {
    Row {
        is_template: true,
        listing: Some(listing),
        ..Row::new(name, inner)
    }
}

/// A member that is part of the prompt.
pub(crate) const fn segment(name: &'static str, index: usize) -> Row {
    Row {
        segment: Some(index),
        ..Row::new(name, &[])
    }
}

/// A segment that nobody demands.
pub(crate) const fn optional(kind: SegmentKind) -> SegmentForm {
    SegmentForm { kind, demand: None }
}

/// A segment that can be the prompt which the dialect demands.
pub(crate) const fn demanded(
    kind: SegmentKind,
    field: &'static str,
    expected: &'static str,
) -> SegmentForm {
    SegmentForm {
        kind,
        demand: Some(Demand { field, expected }),
    }
}

/// Deepest member that a row can be of.
pub(crate) const DEPTH_MAX: usize = 3;

/// Longest name of a member in a row; longer ones are not kept, as they are none of these.
pub(crate) const NAME_BYTES_MAX: usize = 32;

#[cfg(test)]
mod tests;
