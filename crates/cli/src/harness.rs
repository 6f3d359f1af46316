//! Starts, watches and ends the processes of a local setup: engines, picker and Envoy.
//!
//! `pointsman up` and the end-to-end tests share it, so what the demo shows is what the tests test.

pub mod binaries;
pub mod child;
pub mod endpoints;
pub mod engine;
pub mod envoy;
pub mod pages;
pub mod picker;
pub mod ports;
pub mod stack;
