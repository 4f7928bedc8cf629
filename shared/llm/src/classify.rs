//! From a provider's refusal to a class of error.
//!
//! Providers disagree about status codes (a missing credit is 400, 402 or 429; a wrong key is 400 at Gemini),
//! so the code, type and words of the error object count as well.

use std::time::Duration;

use serde_json::Value;

use crate::error::{ChatError, RetryAfter, shorten};

/// What a provider said instead of an answer.
#[derive(Debug, Default, Clone)]
pub(crate) struct Refusal {
    /// HTTP status, or the code inside an error object that came with 200.
    pub(crate) status: u16,
    /// Codes and types of the error object, lower case, joined by blanks.
    pub(crate) codes: String,
    /// The message of the error object.
    pub(crate) message: String,
    /// When to ask again.
    pub(crate) retry_after: Option<RetryAfter>,
}

const BILLING_CODES: [&str; 6] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_error",
    "billing_not_active",
    "exceeded_current_quota_error",
    "insufficient_balance",
];
const BILLING_WORDS: [&str; 5] = [
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient_quota",
    "out of credits",
];
const AUTH_CODES: [&str; 5] = [
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "api_key_invalid",
    "unrecognizedclientexception",
];
const AUTH_WORDS: [&str; 3] = ["api key not valid", "invalid api key", "incorrect api key"];
const LENGTH_WORDS: [&str; 7] = [
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "context window",
    "input token count",
    "too many input tokens",
    "input is too long",
];
const FILTER_CODES: [&str; 4] =
    ["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "safety"];
const OVERLOAD_CODES: [&str; 4] = ["overloaded", "server_error", "api_error", "unavailable"];

fn any(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| text.contains(needle))
}

impl Refusal {
    /// Reads the error object of any of the formats.
    pub(crate) fn from_body(status: u16, body: &Value) -> Self {
        let mut refusal = Self { status, ..Self::default() };
        // Gemini wraps its error in an array on some paths.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").or_else(|| body.get("base_resp")).unwrap_or(body);
        if let Some(text) = error.as_str() {
            text.clone_into(&mut refusal.message);
        }
        // OpenRouter answers 200 and puts the status of the provider behind it into the error object.
        if status == 200
            && let Some(code) = error["code"].as_u64().and_then(|code| u16::try_from(code).ok())
        {
            refusal.status = code;
        }
        for key in ["message", "status_msg", "detail"] {
            if refusal.message.is_empty()
                && let Some(text) = error[key].as_str()
            {
                text.clone_into(&mut refusal.message);
            }
        }
        let mut codes = Vec::new();
        for value in [&error["type"], &error["code"], &error["status"], &error["innererror"]["code"]] {
            if let Some(text) = value.as_str() {
                codes.push(text.to_lowercase());
            }
        }
        for detail in error["details"].as_array().into_iter().flatten() {
            if let Some(reason) = detail["reason"].as_str() {
                codes.push(reason.to_lowercase());
            }
            if let Some(delay) = detail["retryDelay"].as_str().and_then(|text| text.strip_suffix('s')) {
                refusal.retry_after = seconds(delay);
            }
        }
        if let Some(code) = error["status_code"].as_i64() {
            codes.push(minimax_code(code).to_owned());
        }
        refusal.codes = codes.join(" ");
        refusal
    }

    /// The class of the refusal.
    pub(crate) fn into_error(self) -> ChatError {
        let message = self.message.to_lowercase();
        let codes = self.codes.as_str();
        let detail = shorten(&format!("{} {} {}", self.status, codes, self.message));
        let retry_after = self.retry_after;
        if self.status == 402 || any(codes, &BILLING_CODES) || any(&message, &BILLING_WORDS) {
            return ChatError::Billing { detail };
        }
        if any(codes, &FILTER_CODES) {
            return ChatError::ContentFiltered { detail };
        }
        if matches!(self.status, 401 | 403) || any(codes, &AUTH_CODES) || any(&message, &AUTH_WORDS) {
            return ChatError::Auth { detail };
        }
        let too_long = any(codes, &LENGTH_WORDS) || any(&message, &LENGTH_WORDS);
        match self.status {
            429 => ChatError::RateLimited { retry_after, detail },
            408 | 504 => ChatError::Timeout { detail },
            413 => ChatError::ContextTooLong { detail },
            400..=499 if too_long => ChatError::ContextTooLong { detail },
            // 409 and 425 are passing states at the providers that use them.
            409 | 425 | 500.. => ChatError::Overloaded { retry_after, detail },
            _ if any(codes, &["rate_limit", "resource_exhausted", "throttling"]) => {
                ChatError::RateLimited { retry_after, detail }
            }
            _ if any(codes, &OVERLOAD_CODES) => ChatError::Overloaded { retry_after, detail },
            _ => ChatError::BadRequest { detail },
        }
    }
}

/// MiniMax answers 200 with a number of its own.
fn minimax_code(code: i64) -> &'static str {
    match code {
        1002 | 1039 => "rate_limit",
        1004 | 2049 => "authentication_error",
        1008 => "insufficient_balance",
        1026 | 1027 => "content_filter",
        1000 | 1001 | 1013 | 1024 | 1033 => "server_error",
        _ => "invalid_request_error",
    }
}

fn seconds(text: &str) -> Option<RetryAfter> {
    let value: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(value).ok().map(RetryAfter::Delay)
}

/// Reads `retry-after-ms` and `Retry-After` (seconds or an HTTP date).
pub(crate) fn retry_after(milliseconds: Option<&str>, header: Option<&str>) -> Option<RetryAfter> {
    if let Some(value) = milliseconds.and_then(|text| text.trim().parse::<u64>().ok()) {
        return Some(RetryAfter::Delay(Duration::from_millis(value)));
    }
    let text = header?.trim();
    if let Some(delay) = seconds(text) {
        return Some(delay);
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(RetryAfter::At(date.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests;
