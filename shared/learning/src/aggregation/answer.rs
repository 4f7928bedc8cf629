//! What models answer about a cluster. The comments on the fields are part of the schema that the model sees.

use domain::entities::BlockingIssue;
use domain::ids::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;
use crate::playbook::rows::{PLAYBOOK_CONTENT_CHARS_MAX, TRIGGER_CHARS_MAX};

/// Shorter user ids are words of any language: they cannot be told from text.
const USER_ID_CHARS_MIN: usize = 3;

/// One rule for all users, or null when the listed agent playbooks already say it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct AggregationAnswer {
    /// The rule; null when it is there already or was rejected.
    #[serde(alias = "feedback", deserialize_with = "draft")]
    pub playbook: Option<LessonDraft>,
}

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LessonDraft {
    /// Why, from what the playbooks say, in one or two sentences.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub rationale: Option<String>,
    /// The situation in which the rule applies, recognisable before the agent acts; null when it always applies.
    #[serde(deserialize_with = "lenient::text")]
    pub trigger: Option<String>,
    /// What to do, and what to avoid, in that situation.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub content: Option<String>,
    /// What keeps the agent from proceeding, if the playbooks name it; otherwise null.
    #[serde(deserialize_with = "lenient::maybe")]
    pub blocking_issue: Option<BlockingIssue>,
}

/// A draft or null; an answer without either is no answer.
fn draft<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<LessonDraft>, D::Error> {
    Option::deserialize(deserializer)
}

/// A rule that may be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// What to do.
    pub content: String,
    /// When.
    pub trigger: Option<String>,
    /// Why.
    pub rationale: Option<String>,
    /// What stands in the way.
    pub blocking_issue: Option<BlockingIssue>,
}

impl AggregationAnswer {
    /// What is wrong with the answer, in words for the model that gave it. `users` are those whose playbooks it saw:
    /// a rule for everybody names none of them.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn check(&self, users: &[UserId]) -> Result<(), String> {
        let Some(draft) = &self.playbook else { return Ok(()) };
        let mut problems = Vec::new();
        if draft.content.is_none() && draft.trigger.is_none() && draft.rationale.is_none() {
            problems.push("playbook says nothing; it is null when there is nothing to say".to_owned());
        }
        let issue = draft.blocking_issue.as_ref().map(|issue| &issue.details);
        for (name, text, limit) in [
            ("content", draft.content.as_ref(), PLAYBOOK_CONTENT_CHARS_MAX),
            ("trigger", draft.trigger.as_ref(), TRIGGER_CHARS_MAX),
            ("rationale", draft.rationale.as_ref(), TRIGGER_CHARS_MAX),
            ("blocking_issue.details", issue, TRIGGER_CHARS_MAX),
        ] {
            let Some(text) = text else { continue };
            if text.chars().count() > limit {
                problems.push(format!("{name} is longer than {limit} characters"));
            }
            if names_rows(text) {
                problems.push(format!("{name} names rows, which nobody sees later"));
            }
            if users.iter().any(|user| names_user(text, user.as_str())) {
                problems.push(format!("{name} names a user; the rule is for all users"));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    /// The rule; without content, what it says of when and why stands in.
    #[must_use]
    pub fn lesson(self) -> Option<Lesson> {
        let draft = self.playbook?;
        let content = draft.content.clone().unwrap_or_else(|| {
            let parts = [
                draft.trigger.as_ref().map(|trigger| format!("When: {trigger}")),
                draft.rationale.as_ref().map(|rationale| format!("Why: {rationale}")),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
        });
        let LessonDraft { trigger, rationale, blocking_issue, .. } = draft;
        Some(Lesson { content, trigger, rationale, blocking_issue })
    }
}

fn names_rows(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    upper.match_indices("ROW-").any(|(at, mark)| {
        upper[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit())
            && !upper[..at].ends_with(|c: char| c.is_alphanumeric())
    })
}

/// Whether a text holds a user id as a word.
fn names_user(text: &str, user: &str) -> bool {
    let is_edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    user.chars().count() >= USER_ID_CHARS_MIN
        && text.match_indices(user).any(|(at, found)| {
            is_edge(text[..at].chars().next_back()) && is_edge(text[at + found.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(value: Value) -> AggregationAnswer {
        serde_json::from_value(value).unwrap()
    }

    fn users() -> Vec<UserId> {
        ["user-42", "bo"].map(|user| UserId::new(user).unwrap()).into()
    }

    #[test]
    fn null_is_an_answer_and_silence_is_not() {
        assert_eq!(answer(json!({ "playbook": null })).lesson(), None);
        assert!(serde_json::from_value::<AggregationAnswer>(json!({})).is_err());
        assert!(answer(json!({ "playbook": {} })).check(&[]).is_err());
    }

    #[test]
    fn the_other_name_of_the_wrapper_is_read() {
        let lesson = answer(json!({ "feedback": { "content": " x " } })).lesson().unwrap();
        assert_eq!(lesson.content, "x");
    }

    #[test]
    fn without_content_the_trigger_and_the_rationale_stand_in() {
        let read = answer(json!({ "playbook": { "content": "", "trigger": "t", "rationale": "r" } }));
        assert!(read.check(&[]).is_ok());
        assert_eq!(read.lesson().unwrap().content, "When: t\nWhy: r");
    }

    #[test]
    fn a_rule_for_all_names_nobody_and_no_row() {
        for (content, fine) in [
            ("greet user-42 by name", false),
            ("greet user-421 by name", true),
            ("bo is too short to tell", true),
            ("as ROW-3 says", false),
            ("grow-3 percent", true),
        ] {
            let checked = answer(json!({ "playbook": { "content": content } })).check(&users());
            assert_eq!(checked.is_ok(), fine, "{content}: {checked:?}");
        }
    }

    #[test]
    fn contents_are_bounded() {
        for (chars, fine) in [
            (PLAYBOOK_CONTENT_CHARS_MAX - 1, true),
            (PLAYBOOK_CONTENT_CHARS_MAX, true),
            (PLAYBOOK_CONTENT_CHARS_MAX + 1, false),
        ] {
            let read = answer(json!({ "playbook": { "content": "é".repeat(chars) } }));
            assert_eq!(read.check(&[]).is_ok(), fine, "{chars}");
        }
    }
}
