//! Instruction counts of the hot functions.
//!
//! Job: the inputs of the functions that are counted, as a gateway and engines make them, and in
//! `benches/counts.rs` the functions. Not its job: to run them and to compare them with the stored
//! counts in `values.json` (`cargo xtask counts` does), and to measure time (`pointsman bench` does).
//!
//! Read first: [`warm::Moment`] (a pool and what comes next) and [`body::Text`].
//!
//! Invariant: an input is a value of the code alone, the same in every run; no clock, entropy or
//! file goes into it.
//!
//! The counts are callgrind's, so neither the speed of the machine nor what else runs there matters.
//! They depend on
//! - rustc and the crates, which `rust-toolchain.toml` and `Cargo.lock` pin;
//! - the build: the profile `counts`, for the oldest x86-64 processors whatever flags a user has set,
//!   and of this package alone, so that no other one changes the features of what it uses;
//! - the C library's functions that copy and compare memory. Which of them run is fixed, and their
//!   code is that of the machine's version: a quarter of the smallest count and a few percent of the
//!   others. The stored counts were made with glibc 2.36, as of Debian 12;
//! - valgrind (3.19 for the stored counts) only as far as a counted function would ask it for the
//!   processor. None does: `memchr` would, but is not reached.
//!
//! Memory is given by an allocator of the program's own, so that its cost does not depend on what was
//! allocated before. An allocation counts some fifty instructions and its release nothing.

pub mod body;
pub mod page;
pub mod response;
pub mod warm;
