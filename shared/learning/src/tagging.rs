//! What of a stored row is tagged, and which tags count.

use domain::config::Config;
use domain::entities::{UserPlaybook, UserProfile};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::formatting::text::{cut, first_chars};
use crate::lenient;

/// Tags of one row; what comes after is dropped.
pub const TAGS_MAX: usize = 20;
/// Longest tag, in characters; a longer one is cut.
pub const TAG_CHARS_MAX: usize = 100;
/// Longest text of a row that is shown, in estimated tokens.
pub const TAGGED_TOKENS_MAX: usize = 2_000;

/// The tags that apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TaggingAnswer {
    /// The tags, most fitting first; empty when none applies.
    #[serde(deserialize_with = "lenient::texts")]
    pub tags: Vec<String>,
}

/// How rows are tagged; `None` for a kind that is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaggingDefinitions {
    /// For profiles.
    pub profiles: Option<String>,
    /// For playbooks.
    pub playbooks: Option<String>,
}

impl TaggingDefinitions {
    /// As configured; a blank definition is none.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let filled = |text: Option<&String>| {
            text.map(|text| text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let profiles = config.profile_extractor_config.as_ref();
        let playbooks = config.user_playbook_extractor_config.as_ref();
        Self {
            profiles: filled(profiles.and_then(|e| e.tagging_definition_prompt.as_ref())),
            playbooks: filled(playbooks.and_then(|e| e.tagging_definition_prompt.as_ref())),
        }
    }

    /// Whether nothing is tagged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.profiles.is_none() && self.playbooks.is_none()
    }
}

/// What of a profile is shown.
#[must_use]
pub fn profile_text(profile: &UserProfile) -> String {
    cut(&profile.content, TAGGED_TOKENS_MAX)
}

/// What of a playbook is shown.
#[must_use]
pub fn playbook_text(playbook: &UserPlaybook) -> String {
    let line = |name: &str, text: &Option<String>| {
        let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        Some(format!("{name}: {text}"))
    };
    let lines = [
        Some(playbook.content.clone()).filter(|content| !content.trim().is_empty()),
        line("Trigger", &playbook.trigger),
        line("Rationale", &playbook.rationale),
    ];
    cut(&lines.into_iter().flatten().collect::<Vec<_>>().join("\n"), TAGGED_TOKENS_MAX)
}

/// The tags that are stored: trimmed, each once, none blank, within bounds.
#[must_use]
pub fn clean_tags(answered: &[String]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in answered {
        let tag = first_chars(tag.trim(), TAG_CHARS_MAX).trim_end();
        if !tag.is_empty() && tags.len() < TAGS_MAX && !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blank_and_repeated_tags_are_dropped_and_the_others_trimmed() {
        let tags = [" food ", "", "  ", "food", "Food"].map(str::to_owned);
        assert_eq!(clean_tags(&tags), ["food", "Food"]);
        assert_eq!(clean_tags(&[]), Vec::<String>::new());
    }

    #[test]
    fn tags_are_bounded_in_number_and_length() {
        for many in [TAGS_MAX - 1, TAGS_MAX, TAGS_MAX + 1] {
            let tags: Vec<String> = (0..many).map(|n| n.to_string()).collect();
            assert_eq!(clean_tags(&tags).len(), many.min(TAGS_MAX));
        }
        for chars in [TAG_CHARS_MAX - 1, TAG_CHARS_MAX, TAG_CHARS_MAX + 1] {
            assert_eq!(clean_tags(&["é".repeat(chars)])[0].chars().count(), chars.min(TAG_CHARS_MAX));
        }
    }

    #[test]
    fn a_playbook_is_shown_with_trigger_and_rationale_where_it_has_them() {
        let playbook: UserPlaybook = serde_json::from_value(json!({
            "agent_version": "v", "request_id": "r", "content": "Be brief", "trigger": "When asked", "rationale": " ",
        }))
        .unwrap();
        assert_eq!(playbook_text(&playbook), "Be brief\nTrigger: When asked");
    }

    #[test]
    fn a_blank_definition_is_none() {
        let mut config = Config::default();
        assert!(TaggingDefinitions::of(&config).is_empty());
        if let Some(extractor) = &mut config.profile_extractor_config {
            extractor.tagging_definition_prompt = Some(" \n".to_owned());
        }
        assert!(TaggingDefinitions::of(&config).is_empty());
        if let Some(extractor) = &mut config.user_playbook_extractor_config {
            extractor.tagging_definition_prompt = Some(" topic ".to_owned());
        }
        assert_eq!(TaggingDefinitions::of(&config).playbooks.as_deref(), Some("topic"));
    }

    #[test]
    fn an_answer_of_another_shape_is_no_list_of_tags() {
        let read = |value| serde_json::from_value::<TaggingAnswer>(value).map(|answer| answer.tags);
        assert_eq!(read(json!({ "tags": null })).unwrap(), Vec::<String>::new());
        assert_eq!(read(json!({ "tags": ["a", 7] })).unwrap(), ["a", "7"]);
        assert!(read(json!({ "labels": ["a"] })).is_err());
    }
}
