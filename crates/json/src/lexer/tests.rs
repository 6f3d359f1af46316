mod fuzz;
mod pieces;
mod recorder;
mod serde;
mod surrogates;
mod tables;
mod texts;
