//! Lists and free-form objects.

use serde_json::{Map, Value, json};

use super::super::fault::{Faults, Path};
use super::super::fields::Rule;
use super::super::marks;

/// A list of `min..=max` elements. A list that is too long is not looked into.
pub fn list<'v, T>(min: usize, max: usize, item: impl Rule<'v, T>) -> impl Rule<'v, Vec<T>> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let Value::Array(items) = value else {
            faults.add("list_type", at, "Input should be a valid list", value, None);
            return None;
        };
        let actual = items.len();
        if actual > max {
            let ctx = json!({ "field_type": "List", "max_length": max, "actual_length": actual });
            let msg =
                format!("List should have at most {max} item{} after validation, not {actual}", plural(max));
            faults.add("too_long", at, msg, value, Some(ctx));
            return None;
        }
        if actual < min {
            let ctx = json!({ "field_type": "List", "min_length": min, "actual_length": actual });
            let msg =
                format!("List should have at least {min} item{} after validation, not {actual}", plural(min));
            faults.add("too_short", at, msg, value, Some(ctx));
            return None;
        }
        let mut read = Vec::with_capacity(actual);
        for (index, element) in items.iter().enumerate() {
            read.extend(item(element, at.index(index), faults));
        }
        (read.len() == actual).then_some(read)
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// An element that may be `null`.
pub fn nullable<'v, T>(rule: impl Rule<'v, T>) -> impl Rule<'v, Option<T>> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        if value.is_null() { Some(None) } else { rule(value, at, faults).map(Some) }
    }
}

/// A list of texts of any length.
pub fn texts<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Vec<String>> {
    list(0, usize::MAX, super::text)(value, at, faults)
}

/// A free-form object without copying it; `reason` is what is said of one that could not be written back as JSON.
pub fn valid_json_object<'v>(reason: &'static str) -> impl Rule<'v, &'v Map<String, Value>> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let Value::Object(map) = value else {
            faults.add("dict_type", at, "Input should be a valid dictionary", value, None);
            return None;
        };
        if marks::deep_fault(value).is_some() {
            faults.add_value_error(at, reason, value);
            return None;
        }
        Some(map)
    }
}

/// A free-form object; only what could not be written back as JSON is refused in it.
pub fn json_object<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<Map<String, Value>> {
    let Value::Object(map) = value else {
        faults.add("dict_type", at, "Input should be a valid dictionary", value, None);
        return None;
    };
    if let Some(reason) = marks::deep_fault(value) {
        faults.add_value_error(at, reason, value);
        return None;
    }
    Some(map.clone())
}
