//! Anthropic messages. A schema is asked for by forcing a tool whose arguments are the answer.

use serde_json::{Map, Value, json};

use super::openai::round;
use super::{malformed, quirks, tokens};
use crate::error::ChatError;
use crate::secret::Secret;
use crate::types::{
    ChatRequest, ChatResponse, FinishReason, ImageSource, Message, Part, Role, ToolCall, ToolChoice, Usage,
};

/// The version of the API.
const API_VERSION: &str = "2023-06-01";
/// The format demands a limit; this is ours when the caller has none.
pub(crate) const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The headers of every request.
pub(crate) fn headers(api_key: &Secret) -> Vec<(&'static str, String)> {
    vec![("x-api-key", api_key.expose().to_owned()), ("anthropic-version", API_VERSION.to_owned())]
}

/// The body of a request.
pub(crate) fn body(request: &ChatRequest, model: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("max_tokens".into(), json!(request.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS)));
    if let Some(temperature) = quirks::temperature(model, request) {
        // This format ends at 1.
        body.insert("temperature".into(), round(temperature.min(1.0)));
    }
    let system: Vec<String> =
        request.messages.iter().filter(|m| m.role == Role::System).map(Message::text).collect();
    if !system.is_empty() {
        let block =
            json!([{"type": "text", "text": system.join("\n\n"), "cache_control": {"type": "ephemeral"}}]);
        body.insert("system".into(), block);
    }
    body.insert("messages".into(), messages(&request.messages));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        });
        body.insert("tools".into(), tools.collect());
        body.insert("tool_choice".into(), tool_choice(&request.tool_choice));
    } else if let Some(wanted) = &request.response_schema {
        let tool =
            json!({"name": wanted.name, "description": "Gives the answer.", "input_schema": wanted.schema});
        body.insert("tools".into(), json!([tool]));
        body.insert("tool_choice".into(), json!({"type": "tool", "name": wanted.name}));
    }
    Value::Object(body)
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
    }
}

/// Neighbours of one role are merged: the format wants the roles to take turns.
fn messages(messages: &[Message]) -> Value {
    let mut out: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in messages.iter().filter(|m| m.role != Role::System) {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let blocks = blocks(message);
        match out.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(message: &Message) -> Vec<Value> {
    if let Some(id) = &message.tool_call_id {
        return vec![json!({"type": "tool_result", "tool_use_id": id, "content": message.text()})];
    }
    // Empty text blocks are refused.
    let parts =
        message.parts.iter().filter(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
    let mut blocks: Vec<Value> = parts.map(part).collect();
    for call in &message.tool_calls {
        // The format wants an object; what the model wrote may be none.
        let input =
            serde_json::from_str(&call.arguments).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
        blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    blocks
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image(ImageSource::Url(url)) => json!({"type": "image", "source": {"type": "url", "url": url}}),
        Part::Image(ImageSource::Base64 { media_type, data }) => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
    }
}

/// Reads an answer that came with a status of success.
pub(crate) fn parse(body: &Value, request: &ChatRequest, model: &str) -> Result<ChatResponse, ChatError> {
    let content = body["content"].as_array().ok_or_else(|| malformed("the answer has no content"))?;
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for block in content {
        match block["type"].as_str() {
            Some("text") => text.push_str(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => tool_calls.push(ToolCall {
                id: block["id"].as_str().unwrap_or_default().to_owned(),
                name: block["name"].as_str().unwrap_or_default().to_owned(),
                arguments: block["input"].to_string(),
                signature: None,
            }),
            _ => {}
        }
    }
    let mut finish = match body["stop_reason"].as_str() {
        Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    };
    let forced = if request.tools.is_empty() { tool_calls.pop() } else { None };
    if let Some(answer) = forced {
        text = answer.arguments;
        tool_calls.clear();
        if finish == FinishReason::ToolCalls {
            finish = FinishReason::Stop;
        }
    }
    Ok(ChatResponse {
        text: (!text.is_empty()).then_some(text),
        tool_calls,
        finish,
        usage: usage(&body["usage"]),
        model: body["model"].as_str().unwrap_or(model).to_owned(),
    })
}

fn usage(usage: &Value) -> Usage {
    let cached = tokens(&usage["cache_read_input_tokens"]);
    Usage {
        // The format counts what was read from or written to the cache apart.
        input_tokens: tokens(&usage["input_tokens"]) + tokens(&usage["cache_creation_input_tokens"]) + cached,
        output_tokens: tokens(&usage["output_tokens"]),
        cached_tokens: cached,
    }
}
