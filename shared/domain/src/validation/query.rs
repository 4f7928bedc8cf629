//! Query strings.

use serde_json::{Map, Value};

/// The parameters of a query as an object of texts; of several with one name the last counts.
#[must_use]
pub fn query_object(query: &str) -> Value {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    Value::Object(
        pairs
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect::<Map<_, _>>(),
    )
}
