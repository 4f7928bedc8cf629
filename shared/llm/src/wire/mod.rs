//! The wire formats: how a request is written and an answer read.

pub(crate) mod anthropic;
#[cfg(feature = "bedrock")]
pub(crate) mod bedrock;
#[cfg(feature = "bedrock")]
mod bedrock_document;
#[cfg(feature = "bedrock")]
mod bedrock_request;
pub(crate) mod client;
pub(crate) mod embeddings;
pub(crate) mod gemini;
mod gemini_schema;
pub(crate) mod openai;
mod openai_reply;
mod quirks;

use serde_json::Value;

use crate::error::ChatError;

fn malformed(detail: &str) -> ChatError {
    ChatError::Malformed { detail: detail.to_owned() }
}

fn tokens(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// A tool call's arguments as text: most providers write text, some an object.
fn arguments_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    }
}
