//! Doubles for tests, here and in the crates above: a model server that follows a script, a model without a
//! server, a clock that jumps, a sink that remembers, a reader of what is logged.
//!
//! ```no_run
//! # async fn example() {
//! use llm::testing::{ModelServer, Scripted};
//!
//! let server = ModelServer::start().await;
//! server.push(Scripted::text(r#"{"profiles": []}"#));
//! let base_url = server.base_url(); // for OpenAI's format, Anthropic's, and Gemini's alike
//! // … run what is tested …
//! assert_eq!(server.requests()[0].body["messages"][0]["role"], "system");
//! # }
//! ```

mod clock;
mod events;
mod render;
mod script;
mod scripted_model;
mod server;

pub use clock::{JumpClock, RecordingSink, random_always};
pub use events::{Events, Fields};
pub use script::{HttpReply, ReceivedRequest, Scripted};
pub use scripted_model::{ScriptedModel, answer, tool_answer};
pub use server::ModelServer;
