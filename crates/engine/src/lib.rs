//! A model of an inference engine, as the engine stand-in and the simulator run it.
//!
//! Job: what an engine does with time and memory: slots of a batch, prefill under a budget, KV
//! blocks, a prefix cache, adapters with the cost of loading them, roles for prefill and decoding
//! apart. It runs by the rules of vLLM's scheduler or by those of the founding article. Not its job:
//! text, tokens or HTTP; a request is only lengths and keys, and time is told by the caller.
//!
//! Read first: [`engine::Engine`] (submit, advance, cancel; end_due and begin for a simulator, which
//! has a loop of its own), [`job::Job`] (what the engine must know of a request), and
//! [`config::Batching`] (the two sets of rules).
//!
//! Invariants: a request that was accepted ends exactly once, by [`event::EngineEvent::Finished`] or
//! by its cancel; no more requests run than there are slots; what a request holds is given back when
//! it ends; events come in the order of their time. By the rules of vLLM also: every block is free,
//! cached or held, never two of them; a prompt's last token is always computed, so cached tokens stay
//! below the prompt's tokens; the oldest running request is never preempted, so the engine always
//! gets on.

mod adapters;
mod article;
mod cache_log;
pub mod config;
mod continuous;
pub mod engine;
pub mod event;
pub mod job;
mod key_hasher;
mod memory;
mod queue;
mod request;
pub mod stats;
mod step;
