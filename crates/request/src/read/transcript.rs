//! The bytes of the prompt that are hashed.
//!
//! A part of the prompt is hashed as a transcript in which values begin and end with [`marks`], so
//! that different messages never give the same transcript; how they are spaced and escaped does not
//! matter. The list of messages itself is not closed, so the transcript of a chat is the beginning of
//! that of any longer one.

mod context;
mod media;
mod prompts;

use pointsman_domain::block::{BLOCKS_MAX, BlockHasher, BlockSize};
use pointsman_domain::facts::{MediaItem, MediaKind};
use pointsman_domain::units::Tokens;
use pointsman_json::lexer::Kind;

use self::context::{Context, Hint, Step, Word};
use self::media::Media;
use self::prompts::{Form, Prompts};
use super::form::SegmentKind;
use super::marks;
use super::name::Name;
use super::prompt::STARTS_MAX;

/// What was written of one part of the prompt.
pub(crate) struct Written {
    /// Its blocks.
    pub(crate) hasher: BlockHasher,
    /// What it is.
    pub(crate) state: State,
    /// The number of token ids, where it is made of such.
    pub(crate) ids: Option<u64>,
    /// How many prompts it holds, where it is a list of such.
    pub(crate) prompts: u32,
    /// The first media in it.
    pub(crate) media: Vec<MediaItem>,
    /// Names a conversation by its messages up to the first of a user.
    pub(crate) session: Option<u64>,
    /// How often it has begun.
    pub(crate) starts: u32,
    /// Bytes that no engine makes tokens of.
    unrendered_bytes: u64,
}

/// What became of a part of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No member is it.
    Missing,
    /// Its member is null.
    Null,
    /// Its member is something else.
    Wrong,
    /// Its member says nothing.
    Empty,
    /// It is read.
    Read,
}

/// Writes one part of the prompt after the other.
pub(crate) struct Transcript {
    written: Written,
    context: Context,
    outer: Vec<Context>,
    /// Lists and objects that are open in the outermost one whose members have no meaning.
    verbatim_depth: usize,
    /// The name of the next value, until it is known whether the value counts.
    name: Name,
    word: Word,
    target: Target,
    watch: Watch,
    watched: Name,
    hint: Hint,
    /// The bytes that an empty text has.
    bytes_of_none: u64,
    media: Media,
    prompts: Prompts,
    is_of_user: bool,
    block_counts: bool,
}

/// What the parts of the current token are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Nothing,
    Name,
    Text,
    Payload(MediaKind),
    Unsettled,
    Id,
}

/// What else is wanted of the current text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    Role,
    Type,
    BlockText,
}

impl Written {
    /// Nothing, in blocks of this size.
    pub(crate) const fn nothing(block: BlockSize) -> Self {
        Self {
            hasher: BlockHasher::new(block, BLOCKS_MAX),
            state: State::Missing,
            ids: None,
            prompts: 0,
            media: Vec::new(),
            session: None,
            starts: 0,
            unrendered_bytes: 0,
        }
    }

    /// Its tokens, counted or estimated.
    pub(crate) fn tokens(&self) -> Tokens {
        let text_bytes = self.hasher.bytes().saturating_sub(self.unrendered_bytes);
        self.ids
            .map_or_else(|| Tokens::of_text_bytes(text_bytes), Tokens)
    }

    /// The number of token ids, where it is one list of them and nothing else is hashed.
    pub(crate) fn ids_alone(&self) -> Option<u64> {
        self.ids.filter(|_| self.unrendered_bytes == 0)
    }

    /// Whether its bytes are hashed, and not only counted.
    pub(crate) const fn is_hashed(&self) -> bool {
        self.starts <= STARTS_MAX
    }

    /// Takes bytes that no engine makes tokens of.
    fn push_unrendered(&mut self, bytes: &[u8]) {
        self.hasher.push(bytes);
        self.unrendered_bytes = self.unrendered_bytes.saturating_add(bytes.len() as u64);
    }
}

impl Transcript {
    /// Before any part of a prompt.
    pub(crate) const fn new(block: BlockSize) -> Self {
        Self {
            written: Written::nothing(block),
            context: Context::Skipped,
            outer: Vec::new(),
            verbatim_depth: 0,
            name: Name::new(),
            word: Word::None,
            target: Target::Nothing,
            watch: Watch::Nothing,
            watched: Name::new(),
            hint: Hint::Unknown,
            bytes_of_none: 0,
            media: Media::new(),
            prompts: Prompts::new(),
            is_of_user: false,
            block_counts: true,
        }
    }

    /// A part of this kind begins. What `written` says of an earlier one is forgotten.
    pub(crate) fn start(&mut self, kind: SegmentKind, mut written: Written) {
        written.hasher.clear();
        written.media.clear();
        self.written = Written {
            state: State::Empty,
            ids: None,
            prompts: 0,
            session: None,
            starts: written.starts.saturating_add(1),
            unrendered_bytes: 0,
            ..written
        };
        // Two parts may be written alike, and then mean different things.
        if let Some(mark) = marks::of_segment(kind) {
            self.written.push_unrendered(&[mark]);
        }
        self.context = Context::Root(kind);
        self.outer.clear();
        self.verbatim_depth = 0;
        self.word = Word::None;
        self.target = Target::Nothing;
        self.watch = Watch::Nothing;
        self.hint = Hint::Unknown;
        self.bytes_of_none = self.written.hasher.bytes();
        self.media.clear();
        self.prompts.clear();
    }

    /// The part has ended.
    pub(crate) fn stop(&mut self, next: Written) -> Written {
        let is_marked =
            matches!(self.context, Context::Root(kind) if marks::of_segment(kind).is_some());
        if is_marked
            && self.written.state == State::Read
            && self.written.hasher.bytes() <= self.written.unrendered_bytes
        {
            self.written.state = State::Empty;
        }
        if self.prompts.has_written_ids() {
            self.written.ids = None;
        }
        core::mem::replace(&mut self.written, next)
    }

    /// A token begins.
    #[inline]
    pub(crate) fn begin(&mut self, kind: Kind) {
        match self.context {
            Context::Verbatim => {
                self.mark(marks::of(kind));
                self.target = Target::Text;
                if matches!(kind, Kind::Object | Kind::Array) {
                    self.verbatim_depth += 1;
                }
            }
            Context::Ids if kind == Kind::Number => self.begin_id(),
            Context::Prompts(_) if kind == Kind::Number && self.prompts.are_ids() => {
                self.begin_id();
            }
            _ => self.begin_in_context(kind),
        }
    }

    fn begin_in_context(&mut self, kind: Kind) {
        if kind == Kind::Key {
            self.begin_name();
            return;
        }
        let word = core::mem::replace(&mut self.word, Word::None);
        let step = self.context.step(word, self.hint, kind);
        if matches!(step, Step::Absent | Step::Wrong) {
            self.leave_out(step, kind);
            return;
        }
        if !matches!(word, Word::None | Word::Long) {
            self.mark(marks::NAME);
            self.written.hasher.push(self.name.head());
        }
        if self.outer.len() == 1 {
            self.says_something();
        }
        match step {
            Step::Absent | Step::Wrong => {}
            Step::Text => self.begin_text(word, kind),
            Step::Payload(media) => self.begin_payload(Target::Payload(media)),
            Step::Unsettled => self.begin_payload(Target::Unsettled),
            Step::Prompt => self.begin_prompt(),
            Step::Id => {
                self.expect(Form::Ids);
                self.begin_id();
            }
            Step::Enter(context) => self.enter(context, kind),
        }
    }

    /// The next part of a token.
    #[inline]
    pub(crate) fn part(&mut self, part: &[u8]) {
        match self.target {
            Target::Text => self.written.hasher.push(part),
            Target::Nothing => return,
            Target::Name => self.part_of_name(part),
            Target::Payload(_) | Target::Unsettled => self.media.part(part),
            Target::Id => self.part_of_id(part),
        }
        if self.watch != Watch::Nothing {
            self.watched.part(part);
        }
    }

    /// A token ends.
    #[inline]
    pub(crate) fn end(&mut self, kind: Kind) {
        match kind {
            Kind::Object | Kind::Array => self.leave(),
            Kind::Key if self.context == Context::Verbatim => {}
            Kind::Key => self.end_name(),
            _ if self.context == Context::Verbatim => self.mark(marks::END),
            _ if self.target == Target::Id => self.end_id(),
            _ => self.end_scalar(),
        }
    }

    #[inline]
    fn mark(&mut self, mark: u8) {
        self.written.hasher.push(&[mark]);
    }

    fn says_something(&mut self) {
        if self.written.state != State::Wrong {
            self.written.state = State::Read;
        }
    }

    fn begin_name(&mut self) {
        self.target = if self.context.is_open() {
            self.name.clear();
            self.word = Word::Other;
            Target::Name
        } else {
            Target::Nothing
        };
    }

    fn part_of_name(&mut self, part: &[u8]) {
        let rest = self.name.part(part);
        if !rest.is_empty() && self.word != Word::Long {
            self.word = Word::Long;
            self.mark(marks::NAME);
            self.written.hasher.push(self.name.head());
        }
        self.written.hasher.push(rest);
    }

    fn end_name(&mut self) {
        if self.target == Target::Name && self.word != Word::Long {
            self.word = Word::of(self.name.head());
        }
        self.target = Target::Nothing;
    }

    /// Leaves a value out, and its name too.
    fn leave_out(&mut self, step: Step, kind: Kind) {
        if step == Step::Wrong {
            self.written.state = State::Wrong;
        } else if matches!(self.context, Context::Root(_)) {
            self.written.state = State::Null;
        }
        if matches!(kind, Kind::Object | Kind::Array) {
            self.enter(Context::Skipped, kind);
        }
    }

    fn enter(&mut self, context: Context, kind: Kind) {
        match context {
            Context::Message => self.is_of_user = false,
            Context::Block => {
                self.written.hasher.set_checkpoint();
                self.block_counts = true;
            }
            Context::Part if matches!(self.context, Context::Prompts(_)) => {
                self.expect(Form::Objects);
                self.written.prompts = self.written.prompts.saturating_add(1);
            }
            Context::Ids => self.next_list(),
            Context::Verbatim if matches!(self.context, Context::Root(_)) => self.says_something(),
            _ => {}
        }
        self.forget_hint(context);
        if context.has_opening(self.context) {
            self.mark(marks::of(kind));
        }
        self.outer
            .push(core::mem::replace(&mut self.context, context));
    }

    fn leave(&mut self) {
        if self.verbatim_depth > 0 {
            self.verbatim_depth -= 1;
            self.mark(marks::END);
            return;
        }
        self.end_pending();
        if self.context == Context::Message {
            self.settle();
        }
        let outer = self.outer.pop().unwrap_or(Context::Skipped);
        let left = core::mem::replace(&mut self.context, outer);
        self.forget_hint(left);
        if left != Context::Skipped && self.context.has_ends() {
            self.mark(marks::END);
        }
        match left {
            Context::Message if self.is_of_user && self.written.session.is_none() => {
                self.written.session = Some(self.written.hasher.digest());
            }
            Context::Block if !self.block_counts => self.written.hasher.rewind(),
            _ => {}
        }
    }

    /// The type of a part says nothing of parts within, nor theirs of it.
    fn forget_hint(&mut self, border: Context) {
        if !matches!(border, Context::Verbatim | Context::Skipped) {
            self.hint = Hint::Unknown;
        }
        if !matches!(
            border,
            Context::Verbatim | Context::Skipped | Context::Media(_)
        ) {
            self.media.forget_type();
        }
    }

    fn begin_text(&mut self, word: Word, kind: Kind) {
        self.mark(marks::of(kind));
        if kind == Kind::String {
            self.bytes_of_none = self.written.hasher.bytes();
        }
        self.target = Target::Text;
        self.watch = match (word, self.context) {
            _ if kind != Kind::String => Watch::Nothing,
            (Word::Role, Context::Message) => Watch::Role,
            (Word::Text, Context::Block) => Watch::BlockText,
            (Word::Type, _) => Watch::Type,
            _ => Watch::Nothing,
        };
        if self.watch != Watch::Nothing {
            self.watched.clear();
        }
    }

    fn end_scalar(&mut self) {
        match self.target {
            Target::Nothing | Target::Name | Target::Id => return,
            Target::Text => self.end_watch(),
            Target::Payload(kind) => self.end_payload(kind),
            Target::Unsettled => self.end_unsettled(),
        }
        self.target = Target::Nothing;
        let is_root = matches!(self.context, Context::Root(_));
        if is_root && self.written.hasher.bytes() > self.bytes_of_none {
            self.says_something();
        }
        if self.context.has_ends() {
            self.mark(marks::END);
        }
    }

    fn end_watch(&mut self) {
        match core::mem::replace(&mut self.watch, Watch::Nothing) {
            Watch::Nothing => {}
            Watch::Role => self.is_of_user = self.watched.whole() == Some(b"user"),
            Watch::Type => {
                self.hint = Hint::of(self.watched.head());
                self.type_media();
                if self.context == Context::Message {
                    self.settle();
                }
            }
            Watch::BlockText => {
                self.block_counts = !self.watched.head().starts_with(UNRENDERED_BLOCK);
            }
        }
    }
}

/// A block of a system prompt whose text begins so is a client's note to its provider.
const UNRENDERED_BLOCK: &[u8] = b"x-anthropic-billing-header";

#[cfg(test)]
mod tests;
