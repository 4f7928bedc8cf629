//! `POST /api/session_outcome`, `POST /api/get_session_outcomes`.

use serde_json::Value;

use super::publish::unknown;
use super::shared::as_count;
use crate::entities::SessionOutcomeKind;
use crate::ids::SessionId;
use crate::outcomes::{Metadata, OUTCOME_LABEL_CHARS_MAX};
use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds, IDENTIFIER_CHARS_MAX};
use crate::validation::{Faults, Path, ValidationErrors, read_body};

/// Most sessions that one call may ask for.
pub const SESSION_IDS_MAX: usize = 100;
/// Most outcomes of one answer.
pub const SESSION_OUTCOMES_MAX: i64 = 1_000;

const KNOWN: [&str; 6] = ["session_id", "outcome", "occurred_at", "label", "value", "metadata"];
const FROM_ZERO: Bounds<i64> = Bounds::<i64>::from(0);

/// How a session ended, as a caller reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetSessionOutcome {
    /// The session.
    pub session_id: SessionId,
    /// How it ended.
    pub outcome: SessionOutcomeKind,
    /// When.
    pub occurred_at: EpochSeconds,
    /// A word for it.
    pub label: Option<String>,
    /// A number for it.
    pub value: Option<f64>,
    /// More of the caller's.
    pub metadata: Option<Metadata>,
    /// Names of members that were ignored, fit for a log.
    pub ignored: Vec<String>,
}

impl SetSessionOutcome {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let ignored = ignored(body);
        read_body(
            body,
            |fields| {
                let session_id = fields.required("session_id", rules::identifier(SessionId::new));
                let outcome = fields.required("outcome", rules::choice);
                let occurred_at = fields.required("occurred_at", rules::integer(FROM_ZERO));
                let label = fields.nullable("label", rules::non_blank_bounded(OUTCOME_LABEL_CHARS_MAX));
                let value = fields.nullable("value", rules::number(Bounds::NONE));
                let metadata = fields.nullable("metadata", metadata);
                Some(Self {
                    session_id: session_id?,
                    outcome: outcome?,
                    occurred_at: occurred_at?,
                    label: label?,
                    value: value?,
                    metadata: metadata?,
                    ignored,
                })
            },
            |_| Ok(()),
        )
    }
}

fn ignored(body: &Value) -> Vec<String> {
    let Value::Object(body) = body else { return Vec::new() };
    let names = unknown::unknown(body, &KNOWN).take(unknown::NAMES_MAX);
    names.map(|name| unknown::presentable(name)).collect()
}

fn metadata<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Metadata> {
    let object = rules::valid_json_object("metadata must contain only valid JSON values")(value, at, faults)?;
    let encoded = Metadata::encode(object);
    if encoded.is_none() {
        faults.add_value_error(at, "metadata must encode to at most 16384 bytes", value);
    }
    encoded
}

/// Which outcomes to list, the last ones first. All filters must let an outcome through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetSessionOutcomes {
    /// Only of these sessions, each named once; `None` is all.
    pub session_ids: Option<Vec<SessionId>>,
    /// Only of this user.
    pub user_id: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only of this kind.
    pub outcome: Option<SessionOutcomeKind>,
    /// Only with this label.
    pub label: Option<String>,
    /// Only at this time or later.
    pub start_time: Option<EpochSeconds>,
    /// Only at this time or earlier.
    pub end_time: Option<EpochSeconds>,
    /// Most outcomes.
    pub top_k: usize,
    /// Outcomes to pass over.
    pub offset: usize,
}

impl GetSessionOutcomes {
    /// Outcomes when the caller does not say.
    pub const TOP_K: i64 = 100;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let session = rules::identifier(SessionId::new);
                let session_ids = fields.nullable("session_ids", rules::list(0, SESSION_IDS_MAX, session));
                let user_id = fields.nullable("user_id", rules::bounded(IDENTIFIER_CHARS_MAX));
                let source = fields.nullable("source", rules::source_label);
                let outcome = fields.nullable("outcome", rules::choice);
                let label = fields.nullable("label", rules::text);
                let start_time = fields.nullable("start_time", rules::integer(FROM_ZERO));
                let end_time = fields.nullable("end_time", rules::integer(FROM_ZERO));
                let top_k = Bounds::<i64>::from(1).to(SESSION_OUTCOMES_MAX);
                let top_k = fields.optional("top_k", Self::TOP_K, rules::integer(top_k));
                let offset = fields.optional("offset", 0, rules::integer(FROM_ZERO));
                Some(Self {
                    session_ids: session_ids?.filter(|ids| !ids.is_empty()).map(without_repeats),
                    user_id: user_id?,
                    source: source?,
                    outcome: outcome?,
                    label: label?,
                    start_time: start_time?,
                    end_time: end_time?,
                    top_k: as_count(top_k?),
                    offset: as_count(offset?),
                })
            },
            |read| match (read.start_time, read.end_time) {
                (Some(start), Some(end)) if start > end => {
                    Err("start_time must be less than or equal to end_time".to_owned())
                }
                _ => Ok(()),
            },
        )
    }
}

fn without_repeats(ids: Vec<SessionId>) -> Vec<SessionId> {
    let mut kept = Vec::with_capacity(ids.len());
    for id in ids {
        if !kept.contains(&id) {
            kept.push(id);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validation::read_json;

    fn report(member: &str, value: Value) -> Result<SetSessionOutcome, ValidationErrors> {
        let mut body = json!({ "session_id": "s1", "outcome": "success", "occurred_at": 5 });
        body[member] = value;
        SetSessionOutcome::parse(&body)
    }

    fn faults<T: std::fmt::Debug>(read: Result<T, ValidationErrors>) -> Vec<(String, String)> {
        let errors = read.unwrap_err().without_input();
        let text = |fault: &Value, name: &str| fault[name].as_str().unwrap().to_owned();
        errors.as_array().unwrap().iter().map(|fault| (text(fault, "type"), text(fault, "msg"))).collect()
    }

    #[test]
    fn a_label_is_measured_with_its_white_space_and_kept_without_it() {
        for (chars, fits) in [(127, true), (128, true), (129, false)] {
            let padded = format!(" é{} ", "x".repeat(chars - 3));
            let read = report("label", padded.clone().into());
            assert_eq!(read.ok().and_then(|read| read.label).as_deref(), fits.then(|| padded.trim()));
        }
        let too_long = faults(report("label", "x".repeat(129).into()));
        assert_eq!(
            too_long,
            [("string_too_long".into(), "String should have at most 128 characters".into())]
        );
        let blank = faults(report("label", "  ".into()));
        assert_eq!(blank[0].1, "Value error, String must not be empty or whitespace-only");
        assert_eq!(report("label", Value::Null).unwrap().label, None);
    }

    #[test]
    fn metadata_is_taken_up_to_its_limit_in_encoded_bytes() {
        // Two bytes of UTF-8 are six of the encoding.
        let of = |bytes: usize| json!({ "k": format!("é{}", "x".repeat(bytes - 14)) });
        for (bytes, fits) in [(16_383, true), (16_384, true), (16_385, false)] {
            assert_eq!(report("metadata", of(bytes)).is_ok(), fits, "{bytes}");
        }
        let fault = faults(report("metadata", of(16_385)));
        let msg = "Value error, metadata must encode to at most 16384 bytes";
        assert_eq!(fault, [("value_error".into(), msg.into())]);
        assert_eq!(faults(report("metadata", json!([1])))[0].0, "dict_type");
        assert_eq!(report("metadata", Value::Null).unwrap().metadata, None);
        assert_eq!(report("metadata", json!({})).unwrap().metadata.unwrap().as_str(), "{}");
    }

    #[test]
    fn what_is_no_json_is_refused_and_not_echoed() {
        let body = |tail: &str| {
            read_json(&format!(r#"{{"session_id":"s1","outcome":"success","occurred_at":5,{tail}}}"#))
                .unwrap()
        };
        for member in [
            r#""metadata":{"a":NaN}"#,
            r#""metadata":{"a":[Infinity]}"#,
            r#""metadata":{"a":{"b":-1e999}}"#,
            r#""metadata":{"a":"\ud800"}"#,
            r#""metadata":{"\udc00":1}"#,
        ] {
            let errors = SetSessionOutcome::parse(&body(member)).unwrap_err();
            let fault = &errors.to_json()["detail"][0];
            assert_eq!(fault["msg"], "Value error, metadata must contain only valid JSON values", "{member}");
            assert_eq!(fault["loc"], json!(["body", "metadata"]));
        }
        for number in ["NaN", "Infinity", "-Infinity", "1e999"] {
            let errors = SetSessionOutcome::parse(&body(&format!(r#""value":{number}"#))).unwrap_err();
            let fault = &errors.to_json()["detail"][0];
            assert_eq!(fault["type"], "finite_number", "{number}");
            assert_eq!(fault["msg"], "Input should be a finite number", "{number}");
        }
    }

    #[test]
    fn members_that_no_schema_knows_are_ignored_and_their_names_are_known() {
        let body = json!({
            "session_id": "s1", "outcome": "unknown", "occurred_at": 5, "user_id": "x", "source": "y", "a\nb": 1,
        });
        let read = SetSessionOutcome::parse(&body).unwrap();
        assert_eq!(read.ignored, ["user_id", "source", "a?b"]);
    }

    #[test]
    fn the_numbers_of_a_list_have_their_limits() {
        let get = |member: &str, value: Value| GetSessionOutcomes::parse(&json!({ member: value }));
        for (top_k, fits) in [(0, false), (1, true), (2, true), (999, true), (1_000, true), (1_001, false)] {
            assert_eq!(get("top_k", top_k.into()).is_ok(), fits, "{top_k}");
        }
        for (offset, fits) in [(-1, false), (0, true), (1, true)] {
            assert_eq!(get("offset", offset.into()).is_ok(), fits, "{offset}");
        }
        for (many, fits) in [(99, true), (100, true), (101, false)] {
            let ids: Vec<String> = (0..many).map(|n| format!("s{n}")).collect();
            assert_eq!(get("session_ids", ids.into()).is_ok(), fits, "{many}");
        }
        let read = GetSessionOutcomes::parse(&json!({ "session_ids": ["b", " a ", "b", "a"] })).unwrap();
        let ids = read.session_ids.unwrap();
        assert_eq!(ids.iter().map(SessionId::as_str).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(GetSessionOutcomes::parse(&json!({ "session_ids": [] })).unwrap().session_ids, None);
        assert_eq!(faults(get("session_ids", json!(["a", " "])))[0].0, "value_error");
    }

    #[test]
    fn a_span_of_time_may_be_a_single_second_but_not_end_before_it_begins() {
        let span = |start: i64, end: i64| {
            GetSessionOutcomes::parse(&json!({ "start_time": start, "end_time": end }))
        };
        assert!(span(4, 5).is_ok() && span(5, 5).is_ok());
        let fault = faults(span(6, 5));
        assert_eq!(fault[0].1, "Value error, start_time must be less than or equal to end_time");
        assert!(span(-1, 5).is_err());
    }
}
