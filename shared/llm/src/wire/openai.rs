//! OpenAI chat completions: the request. Also spoken by Azure, OpenRouter, Ollama and many more.

use serde_json::{Map, Value, json};
use url::Url;

use super::quirks;
use crate::error::ChatError;
use crate::http::join;
use crate::providers::SchemaMode;
use crate::resolved::{AzureRoute, ResolvedChat};
use crate::schema;
use crate::secret::Secret;
use crate::types::{ChatRequest, ImageSource, Message, Part, ResponseSchema, Role, ToolChoice, ToolSpec};

pub(crate) use super::openai_reply::parse;

/// The seed sent where it is understood, so that answers vary less.
const SEED: u32 = 42;

/// The address of an operation such as `chat/completions`.
pub(crate) fn url(base_url: &str, azure: Option<&AzureRoute>, operation: &str) -> Result<Url, ChatError> {
    let Some(azure) = azure else { return join(base_url, operation) };
    let mut url = join(base_url, &format!("openai/deployments/{}/{operation}", azure.deployment))?;
    url.query_pairs_mut().append_pair("api-version", &azure.api_version);
    Ok(url)
}

/// The header that carries the key; none for endpoints that want none.
pub(crate) fn headers(api_key: &Secret, azure: bool) -> Vec<(&'static str, String)> {
    if api_key.is_empty() {
        Vec::new()
    } else if azure {
        vec![("api-key", api_key.expose().to_owned())]
    } else {
        vec![("authorization", format!("Bearer {}", api_key.expose().trim()))]
    }
}

/// The body of a chat request.
pub(crate) fn body(resolved: &ResolvedChat, request: &ChatRequest, model: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    let schema = request.response_schema.as_ref().filter(|_| request.tools.is_empty());
    body.insert("messages".into(), messages(resolved, request, schema));
    if let Some(temperature) = quirks::temperature(model, request) {
        body.insert("temperature".into(), round(temperature));
    }
    if let Some(limit) = request.max_output_tokens {
        // Azure's older API versions and most others know only the older name.
        let new_name = quirks::is_openai_reasoning(model) || resolved.provider == "openai";
        let key = if new_name { "max_completion_tokens" } else { "max_tokens" };
        body.insert(key.into(), json!(limit));
    }
    if resolved.abilities.seed {
        body.insert("seed".into(), json!(SEED));
    }
    if !request.tools.is_empty() {
        let mode = resolved.abilities.schema;
        body.insert("tools".into(), request.tools.iter().map(|spec| tool(mode, spec)).collect());
        body.insert("tool_choice".into(), tool_choice(resolved.abilities.tool_choice(&request.tool_choice)));
    }
    if let Some(wanted) = schema {
        body.insert("response_format".into(), response_format(resolved.abilities.schema, wanted));
    }
    Value::Object(body)
}

/// 0.7 as an `f32` would be written 0.699999988079071.
pub(crate) fn round(number: f32) -> Value {
    json!((f64::from(number) * 1000.0).round() / 1000.0)
}

fn tool(mode: SchemaMode, tool: &ToolSpec) -> Value {
    let mut function =
        json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
    if mode == SchemaMode::Strict && schema::is_strict(&tool.parameters) {
        function["strict"] = json!(true);
    }
    json!({"type": "function", "function": function})
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::None => json!("none"),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

fn response_format(mode: SchemaMode, wanted: &ResponseSchema) -> Value {
    match mode {
        SchemaMode::Object => json!({"type": "json_object"}),
        SchemaMode::Strict => json!({"type": "json_schema", "json_schema": {
            "name": wanted.name,
            "schema": wanted.schema,
            "strict": schema::is_strict(&wanted.schema),
        }}),
    }
}

fn messages(resolved: &ResolvedChat, request: &ChatRequest, schema: Option<&ResponseSchema>) -> Value {
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    if let Some(wanted) = schema
        && resolved.abilities.schema == SchemaMode::Object
    {
        let text = schema::instruction(&wanted.schema);
        let system = messages.iter().rposition(|message| message["role"] == "system");
        messages.insert(system.map_or(0, |at| at + 1), json!({"role": "system", "content": text}));
    }
    Value::Array(messages)
}

fn message(message: &Message) -> Value {
    let mut out = Map::new();
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    out.insert("role".into(), json!(role));
    let has_image = message.parts.iter().any(|part| matches!(part, Part::Image(_)));
    let content = match (has_image, message.parts.is_empty()) {
        (true, _) => message.parts.iter().map(part).collect(),
        (false, true) => Value::Null,
        (false, false) => json!(message.text()),
    };
    out.insert("content".into(), content);
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}})
        });
        out.insert("tool_calls".into(), calls.collect());
    }
    if let Some(id) = &message.tool_call_id {
        out.insert("tool_call_id".into(), json!(id));
    }
    Value::Object(out)
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image(ImageSource::Url(url)) => json!({"type": "image_url", "image_url": {"url": url}}),
        Part::Image(ImageSource::Base64 { media_type, data }) => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
        }
    }
}
