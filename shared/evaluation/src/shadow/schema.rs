//! What a judge of two answers says. The comments on the fields are part of the schema that the model sees.

use domain::entities::BetterRequest;
use learning::formatting::text::first_chars;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Longest reason that is kept, in characters.
pub const REASON_CHARS_MAX: usize = 2_000;

/// Which of two answers is better.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ShadowComparisonOutput {
    /// "1" or "2" for the better answer, "tie" when neither is better.
    #[serde(deserialize_with = "better_request")]
    #[schemars(schema_with = "better_request_schema")]
    pub better_request: BetterRequest,
    /// Whether the difference would matter to the user.
    #[serde(deserialize_with = "yes_or_no")]
    #[schemars(with = "bool")]
    pub is_significantly_better: bool,
    /// What decided it, in one or two sentences; null when there is nothing to say.
    #[serde(default, deserialize_with = "reason")]
    pub comparison_reason: Option<String>,
}

fn better_request_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["1", "2", "tie"] })
}

/// Other spellings of the same words are read; another word is an error, never a guess.
fn better_request<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BetterRequest, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let said = match &value {
        Value::String(text) => text.trim().trim_matches(['"', '\'', '.']).to_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let word = ["request", "answer", "response"].into_iter().find_map(|noun| said.strip_prefix(noun));
    match word.unwrap_or(&said).trim_matches([' ', '_', '-', '#']) {
        "1" => Ok(BetterRequest::First),
        "2" => Ok(BetterRequest::Second),
        "tie" | "tied" => Ok(BetterRequest::Tie),
        _ => Err(D::Error::custom("better_request must be \"1\", \"2\" or \"tie\"")),
    }
}

fn yes_or_no<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match &value {
        Value::Bool(said) => Ok(*said),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(D::Error::custom("is_significantly_better must be true or false")),
    }
}

/// What is no text is no reason: it must not cost the verdict.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let said = value.as_str().map(str::trim).filter(|text| !text.is_empty());
    // U+0000 is kept out of what is stored and sent on.
    Ok(said.map(|text| first_chars(&text.replace('\0', ""), REASON_CHARS_MAX).to_owned()))
}

#[cfg(test)]
mod tests {
    use BetterRequest::{First, Second, Tie};
    use llm::schema::strict_schema_for;
    use llm::structured::read_text;
    use serde_json::json;

    use super::*;

    type Read = Option<(BetterRequest, bool, Option<&'static str>)>;

    fn read(text: &str) -> Option<ShadowComparisonOutput> {
        read_text(text, &strict_schema_for::<ShadowComparisonOutput>()).ok()
    }

    #[test]
    fn the_model_is_shown_a_closed_schema() {
        let schema = strict_schema_for::<ShadowComparisonOutput>();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["better_request"]["enum"], json!(["1", "2", "tie"]));
        let required = json!(["better_request", "is_significantly_better", "comparison_reason"]);
        assert_eq!(schema["required"], required);
    }

    #[test]
    fn answers_of_every_shape_are_read_or_refused_and_never_guessed() {
        let whole =
            r#"{"better_request":"1","is_significantly_better":true,"comparison_reason":"It is right."}"#;
        let fence_inside = r#"{"better_request":"2","is_significantly_better":false,"comparison_reason":"It has ```code``` in it"}"#;
        let right = Some((First, true, Some("It is right.")));
        let cases: [(String, Read); 24] = [
            (whole.to_owned(), right),
            (format!("<think>Perhaps {{\"better_request\":\"2\"}}?</think>\n{whole}"), right),
            (format!("```json\n{whole}\n```"), right),
            (format!("Here is my verdict:\n{whole}\nI hope this helps."), right),
            (fence_inside.to_owned(), Some((Second, false, Some("It has ```code``` in it")))),
            (format!("```\n{fence_inside}\n```"), Some((Second, false, Some("It has ```code``` in it")))),
            (r#"{"better_request":1,"is_significantly_better":false}"#.to_owned(), Some((First, false, None))),
            (
                r#"{"better_request":" Request 2 ","is_significantly_better":"True","comparison_reason":null}"#.to_owned(),
                Some((Second, true, None)),
            ),
            (
                r#"{"better_request":"answer_1","is_significantly_better":true,"comparison_reason":["a"]}"#.to_owned(),
                Some((First, true, None)),
            ),
            (
                r#"{"better_request":"TIE","is_significantly_better":false,"comparison_reason":" "}"#.to_owned(),
                Some((Tie, false, None)),
            ),
            (
                r#"{"better_request":"tie","is_significantly_better":false,"confidence":0.9,"better_answer":"2"}"#.to_owned(),
                Some((Tie, false, None)),
            ),
            ("{\"better_request\":\"1\",\"is_significantly_better\":true,\"comparison_reason\":\"a\nb\"}".to_owned(), Some((First, true, Some("a\nb")))),
            (r#"{"better_request":"3","is_significantly_better":false}"#.to_owned(), None),
            (r#"{"better_request":"both","is_significantly_better":false}"#.to_owned(), None),
            (r#"{"better_request":"12","is_significantly_better":false}"#.to_owned(), None),
            (r#"{"better_request":null,"is_significantly_better":false}"#.to_owned(), None),
            (r#"{"better_request":"1"}"#.to_owned(), None),
            (r#"{"better_request":"1","is_significantly_better":"maybe"}"#.to_owned(), None),
            (r#"{"is_significantly_better":true}"#.to_owned(), None),
            (strict_schema_for::<ShadowComparisonOutput>().to_string(), None),
            ("{}".to_owned(), None),
            ("null".to_owned(), None),
            (String::new(), None),
            ("Answer 1 is better.".to_owned(), None),
        ];
        for (text, expected) in cases {
            let found = read(&text);
            let found = found.as_ref().map(|output| {
                (output.better_request, output.is_significantly_better, output.comparison_reason.as_deref())
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_answer_that_ends_too_early_is_no_verdict() {
        assert_eq!(read(r#"{"better_request":"1","is_signif"#), None);
    }

    #[test]
    fn a_reason_is_kept_up_to_its_limit() {
        for chars in [REASON_CHARS_MAX - 1, REASON_CHARS_MAX, REASON_CHARS_MAX + 1] {
            let answer = json!({ "better_request": "1", "is_significantly_better": true, "comparison_reason": "é".repeat(chars) });
            let kept = read(&answer.to_string()).unwrap().comparison_reason.unwrap();
            assert_eq!(kept.chars().count(), chars.min(REASON_CHARS_MAX));
        }
    }
}
