//! Runs as a whole: the golden rows, the same again from the same seed, and faults.

mod checkers;
mod faults;
mod golden;
mod runs;
