//! A scripted reply in the words of each format.

use serde_json::{Value, json};

use super::script::{HttpReply, ReceivedRequest};

/// Tokens that every scripted answer claims to have read and written.
pub(super) const INPUT_TOKENS: u64 = 11;
pub(super) const OUTPUT_TOKENS: u64 = 7;

/// What happened, before it is put into a format.
pub(super) enum Said<'a> {
    Text(&'a str),
    Cut(&'a str),
    Null,
    Filtered,
    Tools(&'a [(String, Value)]),
}

pub(super) fn render(request: &ReceivedRequest, said: &Said<'_>) -> HttpReply {
    let body = if request.path.ends_with("/messages") {
        anthropic(request, said)
    } else if request.path.contains(":generateContent") {
        gemini(said)
    } else {
        openai(request, said)
    };
    HttpReply::json(200, &body)
}

fn openai(request: &ReceivedRequest, said: &Said<'_>) -> Value {
    let (message, finish) = match said {
        Said::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Said::Cut(text) => (json!({"role": "assistant", "content": text}), "length"),
        Said::Null => (json!({"role": "assistant", "content": null}), "stop"),
        Said::Filtered => (json!({"role": "assistant", "content": null}), "content_filter"),
        Said::Tools(tools) => {
            let calls: Vec<Value> = tools
                .iter()
                .enumerate()
                .map(|(index, (name, arguments))| {
                    json!({"id": format!("call_{index}"), "type": "function",
                    "function": {"name": name, "arguments": text_of(arguments)}})
                })
                .collect();
            (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
    };
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS},
    })
}

/// Arguments given as a string are sent as they are, so that a script can send broken ones.
fn text_of(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

fn anthropic(request: &ReceivedRequest, said: &Said<'_>) -> Value {
    let forced = request.body["tool_choice"]["name"].as_str();
    let text_block = |text: &str| match (forced, serde_json::from_str::<Value>(text)) {
        // A forced tool takes the answer as its arguments.
        (Some(name), Ok(input)) => json!({"type": "tool_use", "id": "toolu_0", "name": name, "input": input}),
        _ => json!({"type": "text", "text": text}),
    };
    let (content, stop) = match said {
        Said::Text(text) => {
            let block = text_block(text);
            let stop = if block["type"] == "tool_use" { "tool_use" } else { "end_turn" };
            (json!([block]), stop)
        }
        Said::Cut(text) => (json!([text_block(text)]), "max_tokens"),
        Said::Null => (json!([]), "end_turn"),
        Said::Filtered => (json!([]), "refusal"),
        Said::Tools(tools) => {
            let blocks = tools.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": arguments})
            });
            (blocks.collect(), "tool_use")
        }
    };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": request.body["model"],
        "content": content, "stop_reason": stop,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    })
}

fn gemini(said: &Said<'_>) -> Value {
    let (parts, finish) = match said {
        Said::Text(text) => (json!([{"text": text}]), "STOP"),
        Said::Cut(text) => (json!([{"text": text}]), "MAX_TOKENS"),
        Said::Null => (json!([]), "STOP"),
        Said::Filtered => (json!([]), "SAFETY"),
        Said::Tools(tools) => {
            let calls = tools.iter().map(|(name, arguments)| {
                json!({"functionCall": {"name": name, "args": arguments}, "thoughtSignature": "sig"})
            });
            (calls.collect(), "STOP")
        }
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS},
    })
}

/// Vectors that depend on nothing but the text: equal texts have equal vectors.
pub(super) fn embeddings(request: &ReceivedRequest) -> HttpReply {
    if let Some(requests) = request.body["requests"].as_array() {
        let values = requests.iter().map(|request| {
            let length = request["outputDimensionality"].as_u64().unwrap_or(8);
            json!({"values": vector(request["content"]["parts"][0]["text"].as_str().unwrap_or_default(), length)})
        });
        return HttpReply::json(200, &json!({"embeddings": values.collect::<Vec<_>>()}));
    }
    let length = request.body["dimensions"].as_u64().unwrap_or(8);
    let inputs =
        request.body["input"].as_array().cloned().unwrap_or_else(|| vec![request.body["input"].clone()]);
    let data = inputs.iter().enumerate().map(|(index, text)| {
        json!({"object": "embedding", "index": index, "embedding": vector(text.as_str().unwrap_or_default(), length)})
    });
    let body = json!({"object": "list", "model": request.body["model"], "data": data.collect::<Vec<_>>(),
        "usage": {"prompt_tokens": INPUT_TOKENS, "total_tokens": INPUT_TOKENS}});
    HttpReply::json(200, &body)
}

/// Each word adds to one place: texts that share words are similar.
fn vector(text: &str, length: u64) -> Vec<f64> {
    let length = usize::try_from(length).unwrap_or(8).max(1);
    let mut vector = vec![0.001; length];
    for word in text.split_whitespace() {
        let hash = word.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
        if let Some(number) = vector.get_mut(hash % length) {
            *number += 1.0;
        }
    }
    vector
}
