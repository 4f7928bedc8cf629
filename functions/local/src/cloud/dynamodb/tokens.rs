//! Idempotency of `TransactWriteItems`: a token does its work once within ten minutes.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use domain::time::{Clock, EpochMillis};
use dynoxide::{Database, DynoxideError};
use parking_lot::Mutex;
use serde_json::Value;

use super::dispatch::{self, Answer};

/// How long a token is remembered, in milliseconds.
const TOKEN_WINDOW_MS: i64 = 10 * 60 * 1000;
/// Longest token, in characters.
const TOKEN_CHARS_MAX: usize = 36;

/// The tokens of the last ten minutes. The engine has its own, which look at every token of the window at each
/// call and take the machine's time for it.
pub(super) struct Tokens {
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What a token was used for, and the answer that its work got.
    uses: HashMap<String, (u64, Answer)>,
    /// The tokens from the oldest on.
    ages: VecDeque<(EpochMillis, String)>,
}

impl Tokens {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, known: Mutex::default() }
    }

    fn find(&self, token: &str) -> Option<(u64, Answer)> {
        let mut known = self.known.lock();
        let oldest_ms = self.clock.now_ms() - TOKEN_WINDOW_MS;
        while known.ages.front().is_some_and(|(used_ms, _)| *used_ms <= oldest_ms) {
            if let Some((_, forgotten)) = known.ages.pop_front() {
                known.uses.remove(&forgotten);
            }
        }
        known.uses.get(token).map(|(purpose, answer)| (*purpose, answer.replayed()))
    }

    fn remember(&self, token: String, purpose: u64, answer: &Answer) {
        let mut known = self.known.lock();
        known.ages.push_back((self.clock.now_ms(), token.clone()));
        known.uses.insert(token, (purpose, answer.clone()));
    }
}

/// Does the transaction, or repeats the answer of the one with the same token. Only one runs at a time: the
/// database's turn is taken.
pub(super) fn transact_write(database: &Database, tokens: &Tokens, body: &[u8]) -> Answer {
    let mut request: Value = match dispatch::read(body) {
        Ok(request) => request,
        Err(error) => return error.into(),
    };
    let token = request.as_object_mut().and_then(|request| request.remove("ClientRequestToken"));
    let token = match token {
        Some(Value::String(token)) if token.chars().count() > TOKEN_CHARS_MAX => {
            return too_long(&token).into();
        }
        Some(Value::String(token)) => Some((token, purpose(&request["TransactItems"]))),
        _ => None,
    };
    if let Some((token, purpose)) = &token
        && let Some((known, answer)) = tokens.find(token)
    {
        return if known == *purpose { answer } else { mismatch().into() };
    }
    let answer = match serde_json::from_value(request) {
        Ok(request) => dispatch::transact_write(database, request),
        Err(error) => dispatch::unreadable(&error).into(),
    };
    if let Some((token, purpose)) = token
        && answer.is_success()
    {
        tokens.remember(token, purpose, &answer);
    }
    answer
}

/// A hash of the items that does not depend on the order of keys, which differs between two equal requests.
fn purpose(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Object(members) => {
            let sum = members.iter().fold(0_u64, |sum, (name, value)| {
                let mut hasher = DefaultHasher::new();
                name.hash(&mut hasher);
                purpose(value).hash(&mut hasher);
                sum.wrapping_add(hasher.finish())
            });
            (0_u8, sum).hash(&mut hasher);
        }
        Value::Array(items) => {
            1_u8.hash(&mut hasher);
            items.iter().for_each(|item| purpose(item).hash(&mut hasher));
        }
        Value::String(text) => (2_u8, text).hash(&mut hasher),
        other => (3_u8, other.to_string()).hash(&mut hasher),
    }
    hasher.finish()
}

fn mismatch() -> DynoxideError {
    DynoxideError::IdempotentParameterMismatchException(
        "An error occurred (IdempotentParameterMismatchException)".to_owned(),
    )
}

fn too_long(token: &str) -> DynoxideError {
    DynoxideError::ValidationException(format!(
        "1 validation error detected: Value '{token}' at 'clientRequestToken' failed to satisfy constraint: \
         Member must have length less than or equal to {TOKEN_CHARS_MAX}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_makes_no_other_request_but_everything_else_does() {
        let items = json!([{"Put": {"Item": {"a": {"S": "1"}, "b": {"N": "2"}}, "TableName": "t"}}]);
        let same = json!([{"Put": {"TableName": "t", "Item": {"b": {"N": "2"}, "a": {"S": "1"}}}}]);
        let swapped = json!([{"Put": {"TableName": "t", "Item": {"b": {"S": "1"}, "a": {"N": "2"}}}}]);
        let twice = json!([items[0], items[0]]);
        assert_eq!(purpose(&items), purpose(&same));
        assert_ne!(purpose(&items), purpose(&swapped));
        assert_ne!(purpose(&items), purpose(&twice));
    }
}
