//! A recording of a real picker, told to another pool, which must answer the same.
//!
//! What decides is a function of inputs, times and a seed. The picker writes these down together
//! with what it answered; here they go to a fresh pool of this program, and every output is compared.

mod comparison;
pub mod summary;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pointsman_domain::time::Timestamp;
use pointsman_pipeline::config::RuntimeConfig;
use pointsman_pipeline::pool::{Input, Output, Pool};
use pointsman_pipeline::record::reader::{Fault, ReadError, Reader};
use pointsman_pipeline::record::{Configuration, Entry, Line, Step};
use pointsman_policy::problem::Problems;
use pointsman_policy::{config, rewrites};

use self::comparison::Mismatch;
use self::summary::Summary;

/// A recording that is read line by line.
#[derive(Debug)]
pub struct Replay {
    goal: Goal,
    reader: Reader,
    pool: Option<Pool>,
    summary: Summary,
}

/// What a recording is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To count what is in it.
    Summarize,
    /// To demand that a pool of this program answers the same, too.
    Verify,
}

/// Why a replay does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// A line cannot be used.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// This program cannot make a pool of the configuration.
    #[error("line {line}: the configuration is not usable here:\n{problems}")]
    Unusable {
        /// The line that holds it.
        line: u64,
        /// All that is wrong with it.
        problems: Problems,
    },
    /// The pool answered something else.
    #[error(transparent)]
    Different(#[from] Difference),
}

/// The first answer that is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, entry {sequence} ({kind}), {place}: expected {expected}, got {got}")]
pub struct Difference {
    /// The line of the recording.
    pub line: u64,
    /// The entry's sequence number.
    pub sequence: u64,
    /// The kind of its step.
    pub kind: &'static str,
    /// Which of the step's outputs.
    pub place: String,
    /// What was recorded, cut to where the difference is.
    pub expected: String,
    /// What the pool answered here, cut alike.
    pub got: String,
}

impl Replay {
    /// A replay of which no line was read.
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            reader: Reader::default(),
            pool: None,
            summary: Summary::default(),
        }
    }

    /// Takes the next line, with the mark of its end. The beginning of a line without one is what a
    /// picker that was killed left behind; it is not counted.
    pub fn line(&mut self, text: &[u8]) -> Result<(), Stop> {
        let line = match self.reader.read(text) {
            Ok(line) => line,
            Err(error) if is_cut(text, &error) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        match line {
            Line::Header(header) => {
                if self.goal == Goal::Verify {
                    let config = self.load(&header.configuration)?;
                    self.pool = Some(Pool::new(config, header.seed));
                }
                self.summary.begin(header);
            }
            Line::Entry(entry) => {
                self.verify(&entry)?;
                self.summary.count(&entry);
            }
            Line::End(end) => self.summary.end(end),
        }
        Ok(())
    }

    /// Takes note that there are no more lines.
    pub fn finish(self) -> Result<Summary, Stop> {
        self.reader.finish()?;
        Ok(self.summary)
    }

    /// What was counted so far.
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    fn verify(&mut self, entry: &Entry) -> Result<(), Stop> {
        let Some(mut pool) = self.pool.take() else {
            return Ok(());
        };
        let mismatch = match &entry.step {
            Step::Input(input) => unless_panicked(entry, |outputs| {
                pool.input(entry.now, input.clone(), outputs);
            }),
            Step::Configure(configuration) => {
                let config = Box::new(self.load(configuration)?);
                unless_panicked(entry, |outputs| {
                    pool.input(entry.now, Input::Configure(config), outputs);
                })
            }
            Step::Recover { lost } => unless_panicked(entry, |outputs| {
                pool.recover(entry.now, *lost, outputs);
            }),
            Step::Panicked(input) => panic_again(&mut pool, entry.now, input, &entry.outputs),
        };
        self.pool = Some(pool);
        mismatch.map_or(Ok(()), |mismatch| Err(self.different(entry, mismatch)))
    }

    fn different(&self, entry: &Entry, mismatch: Mismatch) -> Stop {
        Stop::Different(Difference {
            line: self.reader.line(),
            sequence: entry.sequence,
            kind: entry.step.kind(),
            place: mismatch.place,
            expected: mismatch.expected,
            got: mismatch.got,
        })
    }

    fn load(&self, configuration: &Configuration) -> Result<RuntimeConfig, Stop> {
        let line = self.reader.line();
        let unusable = |problems| Stop::Unusable { line, problems };
        let compiled = config::load(&configuration.text, configuration.attachment);
        let mut runtime = compiled.map_err(unusable)?.runtime;
        if !configuration.rewrites.is_empty() {
            let compiled = rewrites::compile(&configuration.rewrites).map_err(unusable)?;
            runtime.rewrites = compiled.rewrites;
        }
        Ok(runtime)
    }
}

/// Whether the text is the beginning of a line whose writer did not live to its end.
fn is_cut(text: &[u8], error: &ReadError) -> bool {
    let is_unfinished = matches!(error.fault, Fault::Unfinished { .. });
    is_unfinished && error.line > 1 && !text.ends_with(b"\n")
}

/// Takes a step of which the recording tells no panic.
fn unless_panicked(entry: &Entry, work: impl FnOnce(&mut Vec<Output>)) -> Option<Mismatch> {
    let mut outputs = Vec::new();
    match catch_unwind(AssertUnwindSafe(|| work(&mut outputs))) {
        Ok(()) => comparison::first_mismatch(&entry.outputs, &outputs),
        Err(_) => Some(Mismatch::unexpected_panic()),
    }
}

/// Takes a step over which the recorded pool panicked. What it had changed by then counts for all
/// that follows, so this one must panic too.
fn panic_again(
    pool: &mut Pool,
    now: Timestamp,
    input: &Input,
    expected: &[Output],
) -> Option<Mismatch> {
    let mut outputs = Vec::new();
    let work = AssertUnwindSafe(|| pool.input(now, input.clone(), &mut outputs));
    if catch_unwind(work).is_ok() {
        return Some(Mismatch::missing_panic());
    }
    outputs.retain(|output| !matches!(output, Output::Event(_)));
    comparison::first_mismatch(expected, &outputs)
}

#[cfg(test)]
mod tests;
