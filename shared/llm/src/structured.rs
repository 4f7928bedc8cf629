//! An answer of a given type, or an error: never something half read, never silently nothing.
//!
//! Order: why the model stopped, then the plain reading, then what is around the JSON, then a mending reader,
//! then the type; then one more call that shows the model its mistake; then a typed failure.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::json_text;
use crate::schema::{instruction, strict_schema_for};
use crate::types::{ChatRequest, ChatResponse, FinishReason, Message, ResponseSchema};

/// Why an answer cannot be used: one text for the model, which may quote its answer, one for the log, which not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// For the model.
    pub for_model: String,
    /// For the log.
    pub for_log: &'static str,
}

impl Problem {
    fn new(for_log: &'static str) -> Self {
        Self { for_model: for_log.to_owned(), for_log }
    }
}

/// Asks for an answer of type `T`, named `name` towards the provider (`[A-Za-z0-9_-]{1,64}`).
///
/// # Errors
/// [`ChatError::Truncated`] when the output limit was reached, [`ChatError::ContentFiltered`],
/// [`ChatError::Malformed`] when neither the answer nor its repair is a `T`, or what the call itself yields.
pub async fn chat_structured<T>(
    model: &dyn ChatModel,
    request: &ChatRequest,
    name: &str,
) -> Result<T, ChatError>
where
    T: JsonSchema + DeserializeOwned,
{
    chat_structured_checked(model, request, name, |_: &T| Ok(())).await
}

/// As [`chat_structured`], with a check of the caller's own: ids from the set that was sent, bounds. What the
/// check says is shown to the model in the repair call.
///
/// # Errors
/// As [`chat_structured`]; an answer that fails the check twice is [`ChatError::Malformed`].
pub async fn chat_structured_checked<T, C>(
    model: &dyn ChatModel,
    request: &ChatRequest,
    name: &str,
    check: C,
) -> Result<T, ChatError>
where
    T: JsonSchema + DeserializeOwned,
    C: Fn(&T) -> Result<(), String>,
{
    let schema = strict_schema_for::<T>();
    let mut request = request.clone();
    request.response_schema = Some(ResponseSchema { name: name.to_owned(), schema: schema.clone() });
    let answer = model.chat(&request).await?;
    let problem = match read_answer(&request, &answer, &schema, &check)? {
        Ok(value) => return Ok(value),
        Err(problem) => problem,
    };
    tracing::warn!(
        event = "llm_parse_retry",
        model = answer.model,
        purpose = request.purpose,
        problem = problem.for_log,
    );
    if let Some(text) = answer.text.filter(|text| !text.trim().is_empty()) {
        request.messages.push(Message::assistant(text));
    }
    request.messages.push(Message::user(repair_prompt(&problem, &schema)));
    let answer = model.chat(&request).await?;
    read_answer(&request, &answer, &schema, &check)?.map_err(|problem| ChatError::Malformed {
        detail: format!("after a repair call: {}", problem.for_log),
    })
}

fn repair_prompt(problem: &Problem, schema: &Value) -> String {
    format!("Your last answer could not be used: {}.\n{}", problem.for_model, instruction(schema))
}

/// Outer error: no repair can help. Inner error: one may.
fn read_answer<T, C>(
    request: &ChatRequest,
    answer: &ChatResponse,
    schema: &Value,
    check: &C,
) -> Result<Result<T, Problem>, ChatError>
where
    T: DeserializeOwned,
    C: Fn(&T) -> Result<(), String>,
{
    check_finish(request, answer)?;
    let text = answer.text.as_deref().unwrap_or_default();
    Ok(read_text(text, schema).and_then(|value| {
        let checked = check(&value);
        checked
            .map(|()| value)
            .map_err(|why| Problem { for_model: why, for_log: "the answer failed its check" })
    }))
}

/// A cut or filtered answer is never read: a repair would make it whole and wrong.
pub(crate) fn check_finish(request: &ChatRequest, answer: &ChatResponse) -> Result<(), ChatError> {
    match answer.finish {
        FinishReason::Length => Err(ChatError::Truncated { limit_tokens: request.max_output_tokens }),
        FinishReason::ContentFilter => {
            Err(ChatError::ContentFiltered { detail: "the answer was withheld".to_owned() })
        }
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => Ok(()),
    }
}

/// Reads a `T`, whose strict schema is `schema`, from what a model wrote.
///
/// # Errors
/// The [`Problem`] of the first candidate, or that there is none.
pub fn read_text<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::new("the answer is empty"));
    }
    let mut first = None;
    for candidate in json_text::candidates(text) {
        match read_value(candidate, schema) {
            Ok(value) => return Ok(value),
            Err(problem) => first = first.or(Some(problem)),
        }
    }
    let cut = json_text::looks_cut(json_text::without_thoughts(text));
    let none = if cut { "the JSON ends too early" } else { "the answer holds no JSON object" };
    Err(first.unwrap_or_else(|| Problem::new(none)))
}

/// Reads a `T` from a JSON value, mending the usual slips of shape.
///
/// # Errors
/// The [`Problem`].
pub fn read_value<T: DeserializeOwned>(value: Value, schema: &Value) -> Result<T, Problem> {
    let value = unstring(wrap_bare_array(value, schema), schema);
    let Value::Object(object) = &value else {
        return Err(Problem::new("a JSON object is wanted"));
    };
    if let Some(properties) = schema["properties"].as_object()
        && !properties.is_empty()
        && !object.keys().any(|key| properties.contains_key(key))
    {
        // Without this, `{}` or an echo of the schema would read as an answer whose every field is its default.
        return Err(Problem::new("the answer has none of the wanted properties"));
    }
    serde_json::from_value(value).map_err(|error| Problem {
        for_model: format!("it does not match the schema: {error}"),
        for_log: "the answer does not match its schema",
    })
}

/// A bare array stands for the object whose only array it is.
fn wrap_bare_array(value: Value, schema: &Value) -> Value {
    if !value.is_array() {
        return value;
    }
    let Some(properties) = schema["properties"].as_object() else { return value };
    let mut arrays = properties.iter().filter(|(_, property)| accepts(property, "array"));
    match (arrays.next(), arrays.next()) {
        (Some((name, _)), None) => Value::Object([(name.clone(), value)].into_iter().collect()),
        _ => value,
    }
}

/// Containers that were sent as strings of JSON, where the schema wants a container, at any depth.
fn unstring(value: Value, schema: &Value) -> Value {
    match value {
        Value::String(text) => match inner(&text, schema) {
            Some(value) => unstring(value, schema),
            None => Value::String(text),
        },
        Value::Array(items) => {
            let item = branch(schema, "array").map_or(&Value::Null, |schema| &schema["items"]);
            Value::Array(items.into_iter().map(|value| unstring(value, item)).collect())
        }
        Value::Object(object) => {
            let properties = branch(schema, "object").map_or(&Value::Null, |schema| &schema["properties"]);
            let mend = |(key, value)| {
                let value = unstring(value, &properties[&key]);
                (key, value)
            };
            Value::Object(object.into_iter().map(mend).collect())
        }
        other => other,
    }
}

/// The container inside a string, if the schema wants one there and no string.
fn inner(text: &str, schema: &Value) -> Option<Value> {
    if accepts(schema, "string") {
        return None;
    }
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let kind = match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        _ => return None,
    };
    accepts(schema, kind).then_some(value)
}

/// The branch of a schema that describes values of this type.
fn branch<'a>(schema: &'a Value, kind: &str) -> Option<&'a Value> {
    let here = match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    if here {
        return Some(schema);
    }
    schema["anyOf"].as_array()?.iter().find_map(|schema| branch(schema, kind))
}

fn accepts(schema: &Value, kind: &str) -> bool {
    branch(schema, kind).is_some()
}

#[cfg(test)]
mod tests;
