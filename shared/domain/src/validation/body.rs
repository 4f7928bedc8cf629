//! From the bytes of a body to a JSON value.

use serde_json::{Value, json};

use super::fault::{Path, ValidationErrors};
use super::json::read_json;

/// Why a body is no JSON value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BodyFault {
    /// The text is not JSON.
    #[error(transparent)]
    Invalid(#[from] ValidationErrors),
    /// The bytes are not text.
    #[error("the body is not UTF-8")]
    NotText,
}

/// Reads the body of a request.
///
/// No bytes at all read as `null`; a body of another content type is not parsed but taken as one text, which
/// the route then refuses.
///
/// # Errors
/// [`BodyFault`] when the bytes are not UTF-8 or the text is not JSON.
pub fn read_json_body(content_type: Option<&str>, bytes: &[u8]) -> Result<Value, BodyFault> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if !content_type.is_some_and(is_json) {
        return Ok(Value::String(String::from_utf8_lossy(bytes).into_owned()));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| BodyFault::NotText)?;
    read_json(text).map_err(|fault| {
        let body = Path::root("body");
        let at = body.index(fault.position);
        let ctx = json!({ "error": fault.reason });
        BodyFault::Invalid(ValidationErrors::single(
            "json_invalid",
            at,
            "JSON decode error",
            &json!({}),
            Some(ctx),
        ))
    })
}

/// Whether a content type is `application/json` or `application/…+json`.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence
        .strip_prefix("application/")
        .is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}
