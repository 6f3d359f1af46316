//! The way of one piece through the restorer.

use bytes::Bytes;

/// Gives a piece on, as it is but for the names in it.
pub(super) struct Passage<'a, F> {
    piece: &'a Bytes,
    name: &'a Bytes,
    held: &'a mut Vec<u8>,
    out: &'a mut F,
    /// Bytes of the piece that are given on or replaced.
    passed: usize,
    /// Where the run of text that is read now lies in the piece, and where in the text it begins.
    run_at: usize,
    run_begin: u64,
    suspect: Option<Suspect>,
}

/// Where a value begins that may be the name.
#[derive(Clone, Copy)]
enum Suspect {
    /// In an earlier piece: what came of it then is held.
    Before,
    /// At this byte of the piece.
    Here(usize),
}

impl<'a, F: FnMut(Bytes)> Passage<'a, F> {
    pub(super) fn new(
        piece: &'a Bytes,
        name: &'a Bytes,
        held: &'a mut Vec<u8>,
        out: &'a mut F,
    ) -> Self {
        let suspect = (!held.is_empty()).then_some(Suspect::Before);
        Self {
            piece,
            name,
            held,
            out,
            passed: 0,
            run_at: 0,
            run_begin: 0,
            suspect,
        }
    }

    /// The text goes on at byte `at` of the piece, which is byte `begin` of the text.
    pub(super) const fn begin_run(&mut self, at: usize, begin: u64) {
        self.run_at = at;
        self.run_begin = begin;
    }

    /// A value that may be the name begins at byte `at` of the text.
    pub(super) fn suspect(&mut self, at: u64) {
        self.suspect = Some(Suspect::Here(self.place(at)));
    }

    /// The value is not the name.
    pub(super) fn lose(&mut self) {
        if let Some(Suspect::Before) = self.suspect.take() {
            (self.out)(Bytes::copy_from_slice(self.held));
            self.held.clear();
        }
    }

    /// The value was the name, and ends before byte `end` of the text.
    pub(super) fn replace(&mut self, end: u64) {
        match self.suspect.take() {
            Some(Suspect::Here(start)) => self.pass_to(start),
            Some(Suspect::Before) => self.held.clear(),
            None => return,
        }
        (self.out)(self.name.clone());
        self.passed = self.place(end);
    }

    /// Gives on what is left, but for what may still become the name.
    pub(super) fn finish(mut self) {
        let end = self.piece.len();
        match self.suspect {
            Some(Suspect::Here(start)) => self.pass_to(start),
            Some(Suspect::Before) => {}
            None => return self.pass_to(end),
        }
        let rest = self.piece.get(self.passed..).unwrap_or_default();
        self.held.extend_from_slice(rest);
    }

    fn pass_to(&mut self, end: usize) {
        let end = end.min(self.piece.len());
        if self.passed < end {
            (self.out)(self.piece.slice(self.passed..end));
        }
        self.passed = end;
    }

    /// The place in the piece of byte `at` of the text.
    fn place(&self, at: u64) -> usize {
        let offset = usize::try_from(at.saturating_sub(self.run_begin)).unwrap_or(usize::MAX);
        self.run_at.saturating_add(offset)
    }
}
