//! Gemini generateContent.

use serde_json::{Map, Value, json};
use url::Url;

use super::openai::round;
use super::{gemini_schema, malformed, quirks, tokens};
use crate::error::ChatError;
use crate::http::join;
use crate::secret::Secret;
use crate::types::{
    ChatRequest, ChatResponse, FinishReason, ImageSource, Message, Part, Role, ToolCall, ToolChoice, Usage,
};

/// The seed sent with every request, so that answers vary less.
const SEED: u32 = 42;

/// The address of an operation such as `generateContent` on a model.
pub(crate) fn url(base_url: &str, model: &str, operation: &str) -> Result<Url, ChatError> {
    let model = model.trim_start_matches("models/");
    join(base_url, &format!("models/{model}:{operation}"))
}

/// The header that carries the key.
pub(crate) fn headers(api_key: &Secret) -> Vec<(&'static str, String)> {
    vec![("x-goog-api-key", api_key.expose().to_owned())]
}

/// The body of a request.
pub(crate) fn body(request: &ChatRequest, model: &str) -> Value {
    let mut body = Map::new();
    let system: Vec<String> =
        request.messages.iter().filter(|m| m.role == Role::System).map(Message::text).collect();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": system.join("\n\n")}]}));
    }
    body.insert("contents".into(), contents(&request.messages));
    body.insert("generationConfig".into(), generation_config(request, model));
    if !request.tools.is_empty() {
        let declarations = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "parameters": gemini_schema::subset(&tool.parameters)})
        });
        let declarations: Vec<Value> = declarations.collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
        body.insert(
            "toolConfig".into(),
            json!({"functionCallingConfig": calling_config(&request.tool_choice)}),
        );
    }
    Value::Object(body)
}

fn generation_config(request: &ChatRequest, model: &str) -> Value {
    let mut config = Map::new();
    if let Some(temperature) = quirks::temperature(model, request) {
        config.insert("temperature".into(), round(temperature));
    }
    if let Some(limit) = request.max_output_tokens {
        config.insert("maxOutputTokens".into(), json!(limit));
    }
    config.insert("seed".into(), json!(SEED));
    if let Some(wanted) = request.response_schema.as_ref().filter(|_| request.tools.is_empty()) {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert("responseSchema".into(), gemini_schema::subset(&wanted.schema));
    }
    Value::Object(config)
}

fn calling_config(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    }
}

fn contents(messages: &[Message]) -> Value {
    let mut out: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = match message.role {
            Role::System => continue,
            Role::Assistant => "model",
            Role::User | Role::Tool => "user",
        };
        let parts = parts(message, messages.get(..index).unwrap_or_default());
        match out.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(parts),
            _ if parts.is_empty() => {}
            _ => out.push((role, parts)),
        }
    }
    out.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn parts(message: &Message, before: &[Message]) -> Vec<Value> {
    if let Some(id) = &message.tool_call_id {
        // A result goes by the name of the tool, not by the id of the call.
        let called = before.iter().flat_map(|m| &m.tool_calls).rfind(|call| call.id == *id);
        let name = called.map_or("unknown", |call| call.name.as_str());
        return vec![json!({"functionResponse": {"name": name, "response": {"result": message.text()}}})];
    }
    let mut parts: Vec<Value> = message.parts.iter().map(part).collect();
    for call in &message.tool_calls {
        let args =
            serde_json::from_str(&call.arguments).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
        let mut part = json!({"functionCall": {"name": call.name, "args": args}});
        if let Some(signature) = &call.signature {
            part["thoughtSignature"] = json!(signature);
        }
        parts.push(part);
    }
    parts
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::Image(ImageSource::Url(url)) => json!({"fileData": {"fileUri": url}}),
        Part::Image(ImageSource::Base64 { media_type, data }) => {
            json!({"inlineData": {"mimeType": media_type, "data": data}})
        }
    }
}

/// Reads an answer that came with a status of success.
pub(crate) fn parse(body: &Value, model: &str) -> Result<ChatResponse, ChatError> {
    let blocked = body["promptFeedback"]["blockReason"].is_string();
    let candidate = body["candidates"].get(0);
    if candidate.is_none() && !blocked {
        return Err(malformed("the answer has no candidates"));
    }
    let candidate = candidate.unwrap_or(&Value::Null);
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        if part["thought"].as_bool() == Some(true) {
            continue;
        }
        if let Some(piece) = part["text"].as_str() {
            text.push_str(piece);
        }
        if let Some(name) = part["functionCall"]["name"].as_str() {
            tool_calls.push(ToolCall {
                // The format has no ids; ours only need to differ within the conversation's last turn.
                id: format!("call_{}", tool_calls.len()),
                name: name.to_owned(),
                arguments: super::arguments_text(&part["functionCall"]["args"]),
                signature: part["thoughtSignature"].as_str().map(str::to_owned),
            });
        }
    }
    let finish = match candidate["finishReason"].as_str() {
        _ if blocked => FinishReason::ContentFilter,
        Some("MAX_TOKENS") => FinishReason::Length,
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => {
            FinishReason::ContentFilter
        }
        _ if !tool_calls.is_empty() => FinishReason::ToolCalls,
        Some("STOP") => FinishReason::Stop,
        _ => FinishReason::Other,
    };
    Ok(ChatResponse {
        text: (!text.is_empty()).then_some(text),
        tool_calls,
        finish,
        usage: usage(&body["usageMetadata"]),
        model: body["modelVersion"].as_str().unwrap_or(model).to_owned(),
    })
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: tokens(&usage["promptTokenCount"]),
        output_tokens: tokens(&usage["candidatesTokenCount"]) + tokens(&usage["thoughtsTokenCount"]),
        cached_tokens: tokens(&usage["cachedContentTokenCount"]),
    }
}
