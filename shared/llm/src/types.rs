//! What is asked of a chat model and what it answers, whatever the provider.

use std::time::Duration;

use domain::time::EpochMillis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long one call may take when the caller does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// Sampling temperature when the caller does not say; omitted for model families that refuse it.
pub const DEFAULT_TEMPERATURE: f32 = 0.7;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// The provider fetches it.
    Url(String),
    /// It travels with the request.
    Base64 {
        /// For example `image/png`.
        media_type: String,
        /// The bytes in standard base64.
        data: String,
    },
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(ImageSource),
}

/// A call the model wants made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, or one of ours where the provider gives none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, not checked.
    pub arguments: String,
    /// An opaque token the provider wants back with the call (Gemini's thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// Calls the assistant wanted made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For [`Role::Tool`]: the call that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    fn text_of(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text(text.into())], tool_calls: Vec::new(), tool_call_id: None }
    }

    /// Instructions to the model.
    pub fn system(text: impl Into<String>) -> Self {
        Self::text_of(Role::System, text)
    }

    /// A question or other input.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Role::User, text)
    }

    /// What the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text_of(Role::Assistant, text)
    }

    /// The result of the tool call `id`.
    pub fn tool_result(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tool_call_id: Some(id.into()), ..Self::text_of(Role::Tool, text) }
    }

    /// All text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of the arguments; see [`crate::schema`].
    pub parameters: Value,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// Some tool.
    Required,
    /// This tool.
    Tool(String),
    /// None at all.
    None,
}

/// The shape the answer must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseSchema {
    /// Name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// JSON schema in strict form; see [`crate::schema`].
    pub schema: Value,
}

/// One question to a chat model.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// The prompt id: what metering and logs call this request.
    pub purpose: &'static str,
    /// The provider's name of the model; empty means the one the client was built for.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools the model may call. With tools, `response_schema` is not sent.
    pub tools: Vec<ToolSpec>,
    /// Whether it must call one.
    pub tool_choice: ToolChoice,
    /// The shape of the answer.
    pub response_schema: Option<ResponseSchema>,
    /// 0 to 2; `None` leaves it to the provider.
    pub temperature: Option<f32>,
    /// Most tokens of the answer, reasoning included; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// How long one call may take.
    pub timeout: Duration,
    /// When the answer is of no use any more, over all tries.
    pub deadline: Option<EpochMillis>,
    /// Tries after the first, if other than usual.
    pub retries_max: Option<u32>,
}

impl ChatRequest {
    /// A plain question with default bounds.
    #[must_use]
    pub fn new(purpose: &'static str, messages: Vec<Message>) -> Self {
        Self {
            purpose,
            model: String::new(),
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            response_schema: None,
            temperature: Some(DEFAULT_TEMPERATURE),
            max_output_tokens: None,
            timeout: DEFAULT_TIMEOUT,
            deadline: None,
            retries_max: None,
        }
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// The output limit was reached: the answer is cut.
    Length,
    /// The provider's filter intervened.
    ContentFilter,
    /// Anything else.
    Other,
}

/// Tokens spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_tokens: u64,
}

/// One answer of a chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatResponse {
    /// What it said; `None` when it said nothing.
    pub text: Option<String>,
    /// The calls it wants made.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered.
    pub model: String,
}
