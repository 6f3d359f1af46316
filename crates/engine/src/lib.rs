//! A model of an inference engine, as the engine stand-in and the simulator run it.
//!
//! Job: what an engine like vLLM does with time and memory: batch slots with continuous batching,
//! chunked prefill under a token budget per step, KV blocks with a prefix cache in the same memory,
//! preemption. Not its job: text, tokens or HTTP; a request is only lengths and block keys, and time
//! is told by the caller.
//!
//! Read first: [`engine::Engine`] (submit, advance, cancel) and [`job::Job`] (what the engine must
//! know of a request).
//!
//! Invariants: every block is free, cached or held, never two of them; a request that was accepted
//! ends exactly once, by [`event::EngineEvent::Finished`] or by its cancel; no more requests run
//! than there are slots; a prompt's last token is always computed, so cached tokens stay below the
//! prompt's tokens; the oldest running request is never preempted, so the engine always gets on.

pub mod config;
pub mod engine;
pub mod event;
pub mod job;
mod memory;
pub mod stats;
