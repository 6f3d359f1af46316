//! The lines of a recording, one after another, each checked to be in its place.

use serde::Deserialize;
use serde_json::error::Category;

use crate::record::{Configuration, FORMAT, LINE_BYTES_MAX, Line, Step};

/// Reads a recording. It holds no line, so a recording of any length can be read.
#[derive(Debug, Default)]
pub struct Reader {
    line: u64,
    /// What may come next.
    next: Next,
}

/// A line that cannot be used, and its number.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ReadError {
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It is not in the form of a recording.
    #[error("not a line of a recording: {what} at column {column}")]
    Malformed {
        /// What does not fit.
        what: String,
        /// Where it was noticed.
        column: usize,
    },
    /// It is the beginning of a line, as a writer leaves it that is killed.
    #[error("not a line of a recording: {what} at column {column}")]
    Unfinished {
        /// What it ends in.
        what: String,
        /// Where it ends.
        column: usize,
    },
    /// It is longer than any that is written.
    #[error("it has {0} bytes, more than {LINE_BYTES_MAX}")]
    TooLong(usize),
    /// The recording has another form than the one that is read here.
    #[error("the recording has format {0}, and this program reads format {FORMAT}")]
    OtherFormat(u32),
    /// A recording begins with its header.
    #[error("a recording must begin with a header")]
    NoHeader,
    /// There is one header only.
    #[error("there is a second header")]
    SecondHeader,
    /// An entry is missing, comes twice, or is in the wrong place.
    #[error("entry {found} stands where entry {expected} must be")]
    OutOfOrder {
        /// The sequence number that must follow.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// The end tells another number of entries.
    #[error("the end tells of {told} entries, and there are {found}")]
    Miscounted {
        /// How many the end tells of.
        told: u64,
        /// How many there were.
        found: u64,
    },
    /// Nothing follows the end.
    #[error("something follows the end of the recording")]
    AfterEnd,
    /// The text of a configuration is not the one that was hashed.
    #[error("the configuration is not the one that was recorded: its hash is another")]
    ConfigurationChanged,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Header,
    Entry(u64),
    Nothing,
}

impl Reader {
    /// Reads the next line, with or without the mark of its end.
    pub fn read(&mut self, text: &[u8]) -> Result<Line, ReadError> {
        self.line += 1;
        let line = parse(text).and_then(|line| self.place(&line).map(|()| line));
        line.map_err(|fault| self.error(fault))
    }

    /// Takes note that there are no more lines. Fails if there was none.
    pub fn finish(self) -> Result<(), ReadError> {
        match self.next {
            Next::Header => Err(self.error(Fault::NoHeader)),
            Next::Entry(_) | Next::Nothing => Ok(()),
        }
    }

    /// The number of the last line that was read, from 1; 0 before the first.
    pub const fn line(&self) -> u64 {
        self.line
    }

    fn place(&mut self, line: &Line) -> Result<(), Fault> {
        let expected = match (self.next, line) {
            (Next::Header, Line::Header(_)) => 0,
            (Next::Header, _) => return Err(Fault::NoHeader),
            (Next::Nothing, _) => return Err(Fault::AfterEnd),
            (Next::Entry(_), Line::Header(_)) => return Err(Fault::SecondHeader),
            (Next::Entry(expected), Line::Entry(entry)) => {
                let found = entry.sequence;
                if found != expected {
                    return Err(Fault::OutOfOrder { expected, found });
                }
                expected.saturating_add(1)
            }
            (Next::Entry(found), Line::End(end)) => {
                if end.entries != found {
                    let told = end.entries;
                    return Err(Fault::Miscounted { told, found });
                }
                self.next = Next::Nothing;
                return Ok(());
            }
        };
        self.next = Next::Entry(expected);
        Ok(())
    }

    const fn error(&self, fault: Fault) -> ReadError {
        // An empty recording lacks its first line.
        let line = if self.line == 0 { 1 } else { self.line };
        ReadError { line, fault }
    }
}

fn parse(text: &[u8]) -> Result<Line, Fault> {
    if text.len() > LINE_BYTES_MAX + 1 {
        return Err(Fault::TooLong(text.len()));
    }
    let line: Line = serde_json::from_slice(text).map_err(|error| other_format(text, &error))?;
    match &line {
        Line::Header(header) if header.format != FORMAT => Err(Fault::OtherFormat(header.format)),
        Line::Header(header) => intact(&header.configuration),
        Line::Entry(entry) => match &entry.step {
            Step::Configure(configuration) => intact(configuration),
            Step::Input(_) | Step::Panicked(_) | Step::Recover { .. } => Ok(()),
        },
        Line::End(_) => Ok(()),
    }?;
    Ok(line)
}

fn intact(configuration: &Configuration) -> Result<(), Fault> {
    if configuration.is_intact() {
        Ok(())
    } else {
        Err(Fault::ConfigurationChanged)
    }
}

/// A header of another format need not have any of our other fields.
fn other_format(text: &[u8], error: &serde_json::Error) -> Fault {
    #[derive(Deserialize)]
    struct Probe {
        header: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    match serde_json::from_slice(text) {
        Ok(Probe { header }) if header.format != FORMAT => Fault::OtherFormat(header.format),
        _ => malformed(error),
    }
}

fn malformed(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    // The library counts lines within the one line that it was given.
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    let (what, column) = (what.to_owned(), error.column());
    match error.classify() {
        Category::Eof => Fault::Unfinished { what, column },
        Category::Data | Category::Syntax | Category::Io => Fault::Malformed { what, column },
    }
}
