//! Chat and embedding models of any provider: four wire formats, structured answers, a tool loop, retries and
//! metering.
//!
//! The way through: [`settings::ProviderSettings`] → [`resolve::resolve_chat`] → [`connect::Models::chat`] →
//! [`structured::chat_structured`] or [`tool_loop::run_tool_loop`].
//!
//! *Architecture invariant:* this crate reads no environment, no clock and no source of chance of its own, and
//! no answer of a model leaves it unread: it is a checked value or a typed error. Bodies, prompts, answers and
//! keys are never logged.

pub mod addresses;
pub mod chat;
mod classify;
pub mod connect;
pub mod embedding;
pub mod error;
pub mod http;
mod json_repair;
mod json_text;
#[cfg(test)]
mod log_tests;
pub mod meter;
pub mod offline_adapter;
pub mod providers;
pub mod reset;
pub mod resolve;
pub mod resolved;
pub mod retry;
pub mod retrying;
mod routes;
pub mod schema;
pub mod secret;
pub mod settings;
pub mod structured;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tool_loop;
pub mod types;
mod wire;

pub use chat::ChatModel;
pub use embedding::{EmbedError, EmbeddingModel, EmbeddingPurpose};
pub use error::{ChatError, StallReason};
pub use types::{ChatRequest, ChatResponse, Message};
