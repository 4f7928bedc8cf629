//! The prompt bank: every text that is sent to a model as an instruction.
//!
//! `prompt_bank/<id>/` holds a hand-written `metadata.json` and one `<version>.prompt` per version, a minijinja
//! template. All of it is compiled in. A bank is checked as a whole when it is loaded: after that, rendering
//! fails only when a caller passes the wrong variables.
//!
//! *Architecture invariant:* data never becomes instruction. Values are inserted once and never scanned again,
//! and text that other people wrote goes through the [`blocks`] filter, which nothing inside it can close.

pub mod bank;
pub mod blocks;
pub mod metadata;
pub mod render;

#[cfg(test)]
mod contract_tests;

pub use bank::{BankError, PromptBank};
pub use minijinja::Value;
pub use render::{PromptError, Rendered};
