//! OpenAI chat completions: the answer.

use serde_json::Value;

use super::{arguments_text, malformed, tokens};
use crate::classify::Refusal;
use crate::error::ChatError;
use crate::types::{ChatResponse, FinishReason, ToolCall, Usage};

/// Reads an answer that came with a status of success.
pub(crate) fn parse(body: &Value, model: &str) -> Result<ChatResponse, ChatError> {
    let refused = body.get("error").is_some_and(|error| !error.is_null())
        || body["base_resp"]["status_code"].as_i64().is_some_and(|code| code != 0);
    if refused {
        return Err(Refusal::from_body(200, body).into_error());
    }
    let choice = body["choices"].get(0).ok_or_else(|| malformed("the answer has no choices"))?;
    let message = &choice["message"];
    if !message.is_object() {
        return Err(malformed("the answer has no message"));
    }
    let tool_calls: Vec<ToolCall> =
        message["tool_calls"].as_array().into_iter().flatten().enumerate().filter_map(tool_call).collect();
    let mut finish = finish(choice["finish_reason"].as_str(), !tool_calls.is_empty());
    if message["refusal"].as_str().is_some_and(|text| !text.is_empty()) {
        finish = FinishReason::ContentFilter;
    }
    Ok(ChatResponse {
        text: text(&message["content"]),
        tool_calls,
        finish,
        usage: usage(&body["usage"]),
        model: body["model"].as_str().unwrap_or(model).to_owned(),
    })
}

/// Content is text, null, or a list of parts.
fn text(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn tool_call((index, call): (usize, &Value)) -> Option<ToolCall> {
    let function = &call["function"];
    Some(ToolCall {
        id: call["id"]
            .as_str()
            .filter(|id| !id.is_empty())
            .map_or_else(|| format!("call_{index}"), str::to_owned),
        name: function["name"].as_str()?.to_owned(),
        arguments: arguments_text(&function["arguments"]),
        signature: None,
    })
}

fn finish(reason: Option<&str>, has_calls: bool) -> FinishReason {
    match reason {
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("content_filter" | "sensitive") => FinishReason::ContentFilter,
        // With a forced tool OpenAI itself says `stop`.
        _ if has_calls => FinishReason::ToolCalls,
        Some("stop" | "eos") | None => FinishReason::Stop,
        Some(_) => FinishReason::Other,
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: tokens(&usage["prompt_tokens"]),
        output_tokens: tokens(&usage["completion_tokens"]),
        cached_tokens: tokens(&usage["prompt_tokens_details"]["cached_tokens"])
            .max(tokens(&usage["prompt_cache_hit_tokens"])),
    }
}
