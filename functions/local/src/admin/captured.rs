//! Prompts that an operator captured: one JSON object a line.
//!
//! Retrospect itself never logs prompts, so such a file comes from outside: a proxy before the provider, a provider's
//! own console, a test. A line counts when it is an object with `messages`, at its root or in its member `body` or
//! `request`, in the form of OpenAI's chat completions:
//!
//! ```json
//! {"purpose": "profile_update_main", "messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"}]}
//! {"body": {"model": "…", "messages": […], "tools": […], "tool_choice": …, "response_format": {…}, "max_tokens": 500}}
//! ```
//!
//! `content` is a text or a list of parts (`text`, `image_url`). `purpose` names the prompt in the report and chooses
//! between the gate's model (`…_should_generate`) and the one that extracts; `model` is not looked at, since the
//! configured model is the one under test. Other lines are passed over and counted.

use llm::types::{ImageSource, Part, ResponseSchema, Role, ToolCall, ToolChoice, ToolSpec};
use llm::{ChatRequest, Message};
use serde_json::Value;

/// Prompts of one file.
pub(super) const PROMPTS_MAX: usize = 1_000;
/// What all replayed prompts are for, to the meter.
const PURPOSE: &str = "replay";

/// A captured prompt.
#[derive(Debug)]
pub(super) struct Captured {
    /// Where it stands in the file, from 1.
    pub(super) line: usize,
    /// What it is for, if the line says so.
    pub(super) purpose: Option<String>,
    /// What to ask.
    pub(super) request: ChatRequest,
}

/// The prompts of a file, and how many lines hold none.
pub(super) fn read(text: &str) -> Result<(Vec<Captured>, usize), String> {
    let (mut prompts, mut others) = (Vec::new(), 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Some(value) = serde_json::from_str::<Value>(line).ok() else {
            others += 1;
            continue;
        };
        let places = [&value, &value["body"], &value["request"]];
        let Some(body) = places.into_iter().find(|place| place.get("messages").is_some()) else {
            others += 1;
            continue;
        };
        let request = request(body).map_err(|problem| format!("line {}: {problem}", index + 1))?;
        let purpose = [&value["purpose"], &body["purpose"]].into_iter().find_map(Value::as_str);
        prompts.push(Captured { line: index + 1, purpose: purpose.map(str::to_owned), request });
        if prompts.len() > PROMPTS_MAX {
            return Err(format!("more than {PROMPTS_MAX} prompts; replay them in parts"));
        }
    }
    if prompts.is_empty() {
        return Err("no line holds a prompt: an object with messages".to_owned());
    }
    Ok((prompts, others))
}

fn request(body: &Value) -> Result<ChatRequest, String> {
    let messages = body["messages"].as_array().ok_or("messages must be a list")?;
    if messages.is_empty() {
        return Err("messages must not be empty".to_owned());
    }
    let messages = messages.iter().map(message).collect::<Result<_, _>>()?;
    let mut request = ChatRequest::new(PURPOSE, messages);
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    request.tools = tools.iter().map(tool).collect::<Result<_, _>>()?;
    request.tool_choice = match &body["tool_choice"] {
        Value::String(word) if word == "required" => ToolChoice::Required,
        Value::String(word) if word == "none" => ToolChoice::None,
        choice => {
            let named = choice["function"]["name"].as_str();
            named.map_or(ToolChoice::Auto, |name| ToolChoice::Tool(name.to_owned()))
        }
    };
    let wanted = &body["response_format"]["json_schema"];
    if wanted["schema"].is_object() {
        let name = wanted["name"].as_str().unwrap_or("answer").to_owned();
        request.response_schema = Some(ResponseSchema { name, schema: wanted["schema"].clone() });
    }
    if let Some(temperature) = body["temperature"].as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "0 to 2")]
        let temperature = temperature as f32;
        request.temperature = Some(temperature);
    }
    let limit = [&body["max_completion_tokens"], &body["max_tokens"]].into_iter().find_map(Value::as_u64);
    request.max_output_tokens = limit.and_then(|limit| u32::try_from(limit).ok());
    Ok(request)
}

fn message(value: &Value) -> Result<Message, String> {
    let role = match value["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => return Err("a message's role must be system, developer, user, assistant or tool".to_owned()),
    };
    let parts = match &value["content"] {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(parts) => parts.iter().map(part).collect::<Result<_, _>>()?,
        _ => return Err("a message's content must be a text or a list of parts".to_owned()),
    };
    let calls = value["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Message {
        role,
        parts,
        tool_calls: calls.iter().map(tool_call).collect::<Result<_, _>>()?,
        tool_call_id: value["tool_call_id"].as_str().map(str::to_owned),
    })
}

fn part(value: &Value) -> Result<Part, String> {
    if let Some(text) = value["text"].as_str() {
        return Ok(Part::Text(text.to_owned()));
    }
    let url = value["image_url"]["url"].as_str().ok_or("a part must have text or image_url.url")?;
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Ok(Part::Image(match inline {
        Some((media_type, data)) => {
            ImageSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() }
        }
        None => ImageSource::Url(url.to_owned()),
    }))
}

fn tool(value: &Value) -> Result<ToolSpec, String> {
    let function = &value["function"];
    Ok(ToolSpec {
        name: function["name"].as_str().ok_or("a tool must have function.name")?.to_owned(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        parameters: function["parameters"].clone(),
    })
}

fn tool_call(value: &Value) -> Result<ToolCall, String> {
    let text =
        |value: &Value| value.as_str().map(str::to_owned).ok_or("a tool call needs id, name, arguments");
    Ok(ToolCall {
        id: text(&value["id"])?,
        name: text(&value["function"]["name"])?,
        arguments: text(&value["function"]["arguments"])?,
        signature: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_are_found_at_the_root_and_in_bodies_among_other_lines() {
        let text = [
            json!({ "purpose": "profile_should_generate", "messages": [{ "role": "user", "content": "hi" }] })
                .to_string(),
            "not JSON at all".to_owned(),
            json!({ "level": "info", "event": "llm_request_end" }).to_string(),
            String::new(),
            json!({ "request": { "messages": [{ "role": "developer", "content": [{ "type": "text", "text": "be brief" }] }] } })
                .to_string(),
        ];
        let (prompts, others) = read(&text.join("\n")).unwrap();
        assert_eq!(others, 2);
        let found: Vec<_> = prompts.iter().map(|prompt| (prompt.line, prompt.purpose.as_deref())).collect();
        assert_eq!(found, [(1, Some("profile_should_generate")), (5, None)]);
        assert_eq!(prompts[1].request.messages, [Message::system("be brief")]);
    }

    #[test]
    fn a_request_body_is_asked_as_it_was() {
        let body = json!({ "model": "ignored", "temperature": 0.5, "max_tokens": 500,
            "messages": [
                { "role": "assistant", "content": null,
                  "tool_calls": [{ "id": "c1", "function": { "name": "look", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "c1", "content": "seen" },
                { "role": "user", "content": [
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] },
            ],
            "tools": [{ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } }],
            "tool_choice": { "type": "function", "function": { "name": "look" } },
            "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "object" } } },
        });
        let request = read(&body.to_string()).unwrap().0.remove(0).request;
        assert_eq!((request.temperature, request.max_output_tokens), (Some(0.5), Some(500)));
        assert_eq!(request.tool_choice, ToolChoice::Tool("look".to_owned()));
        assert_eq!((request.tools[0].name.as_str(), request.model.as_str()), ("look", ""));
        assert_eq!(request.response_schema.unwrap().name, "x");
        assert_eq!(request.messages[0].tool_calls[0].id, "c1");
        assert_eq!(request.messages[1].tool_call_id.as_deref(), Some("c1"));
        let image = ImageSource::Base64 { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        assert_eq!(request.messages[2].parts, [Part::Image(image)]);
    }

    #[test]
    fn a_broken_prompt_is_named_by_its_line() {
        for (body, problem) in [
            (json!({ "messages": "hi" }), "messages must be a list"),
            (json!({ "messages": [] }), "messages must not be empty"),
            (json!({ "messages": [{ "role": "robot", "content": "hi" }] }), "a message's role must be"),
            (json!({ "messages": [{ "role": "user", "content": 7 }] }), "a message's content must be"),
            (json!({ "messages": [{ "role": "user", "content": "x" }], "tools": [{}] }), "a tool must have"),
        ] {
            let refused = read(&format!("\n{body}")).unwrap_err();
            assert!(refused.starts_with(&format!("line 2: {problem}")), "{refused}");
        }
        assert!(read("{}\n").unwrap_err().starts_with("no line holds a prompt"));
    }

    #[test]
    fn prompts_are_read_up_to_their_limit_and_not_beyond() {
        let line = json!({ "messages": [{ "role": "user", "content": "hi" }] }).to_string();
        for (many, ok) in [(PROMPTS_MAX - 1, true), (PROMPTS_MAX, true), (PROMPTS_MAX + 1, false)] {
            assert_eq!(read(&vec![line.as_str(); many].join("\n")).is_ok(), ok, "{many}");
        }
    }
}
