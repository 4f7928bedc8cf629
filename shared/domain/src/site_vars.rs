//! Site variables: what an operator sets for the whole deployment, by key.
//!
//! A value is JSON, or plain text where it is no JSON. Whoever reads one is tolerant: what cannot be read counts as
//! not set. Whoever sets one is told at once what would not be read.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::flags::FeatureFlags;

/// Longest key, in characters.
pub const SITE_KEY_CHARS_MAX: usize = 64;
/// Longest value, in bytes: all values are read together, once a minute.
pub const SITE_VALUE_BYTES_MAX: usize = 65_536;

/// Which features are on for whom; see [`FeatureFlags`].
pub const FEATURE_FLAGS: &str = "feature_flags";
/// The models of organisations that name none; see [`LlmModelSetting`].
pub const LLM_MODEL_SETTING: &str = "llm_model_setting";
/// Accepted for operators who bring it along. Searches do not read it: each says itself how it searches.
pub const SEARCH_SETTINGS: &str = "search_settings";

/// The name of a site variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteKey(String);

/// Why a text is not the name of a site variable, or a value not one of its values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSiteVar {
    /// The name is empty, too long, or holds other characters.
    #[error("a site variable's key is 1 to {SITE_KEY_CHARS_MAX} characters of a-z, 0-9 and '_'")]
    Key,
    /// The value is blank.
    #[error("a site variable's value must not be empty or whitespace-only")]
    Blank,
    /// The value is too long.
    #[error("a site variable's value has at most {SITE_VALUE_BYTES_MAX} bytes")]
    TooLarge,
    /// A key that this version reads has a value that it would not read.
    #[error("{key}: {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl SiteKey {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for SiteKey {
    type Err = InvalidSiteVar;

    fn from_str(text: &str) -> Result<Self, InvalidSiteVar> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if text.is_empty() || text.len() > SITE_KEY_CHARS_MAX || !text.chars().all(allowed) {
            return Err(InvalidSiteVar::Key);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a stored text says: JSON, or itself without white space around it.
#[must_use]
pub fn read_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.trim().to_owned()))
}

/// Checks a value before it is set.
///
/// # Errors
/// [`InvalidSiteVar`] for a value that is blank, too long, or would not be read under this key.
pub fn check_value(key: &SiteKey, text: &str) -> Result<(), InvalidSiteVar> {
    if text.trim().is_empty() {
        return Err(InvalidSiteVar::Blank);
    }
    if text.len() > SITE_VALUE_BYTES_MAX {
        return Err(InvalidSiteVar::TooLarge);
    }
    let value = read_value(text);
    let wrong = |key, problem| Err(InvalidSiteVar::Value { key, problem });
    match key.as_str() {
        FEATURE_FLAGS if !value.is_object() => wrong(FEATURE_FLAGS, "must be a JSON object".to_owned()),
        FEATURE_FLAGS => match FeatureFlags::read(&value).1.first() {
            Some(flag) => wrong(
                FEATURE_FLAGS,
                format!("{flag} must be {{\"enabled\": true or false, \"enabled_org_ids\": [ids]}}"),
            ),
            None => Ok(()),
        },
        LLM_MODEL_SETTING => match LlmModelSetting::read(&value) {
            Ok(_) => Ok(()),
            Err(problem) => wrong(LLM_MODEL_SETTING, problem),
        },
        _ => Ok(()),
    }
}

/// The deployment's choice of models, for organisations that name none. Empty names are not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LlmModelSetting {
    /// Decides whether a window is worth an extraction.
    pub should_run: Option<String>,
    /// Extracts.
    pub generation: Option<String>,
    /// Judges.
    pub evaluation: Option<String>,
    /// Makes vectors.
    pub embedding: Option<String>,
    /// Rewrites queries.
    pub pre_retrieval: Option<String>,
}

const MODEL_MEMBERS: [&str; 5] = [
    "should_run_model_name",
    "default_generation_model_name",
    "default_evaluate_model_name",
    "embedding_model_name",
    "pre_retrieval_model_name",
];

impl LlmModelSetting {
    /// Reads the value of [`LLM_MODEL_SETTING`].
    ///
    /// # Errors
    /// What is wrong, for people: it is no object, or a member is unknown or no text.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else { return Err("must be a JSON object".to_owned()) };
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for (member, name) in members {
            if !MODEL_MEMBERS.contains(&member.as_str()) {
                return Err(format!("{member} is none of {}", MODEL_MEMBERS.join(", ")));
            }
            match name {
                Value::Null => {}
                Value::String(name) if name.trim().is_empty() => {}
                Value::String(name) => drop(names.insert(member, name.trim().to_owned())),
                _ => return Err(format!("{member} must be a text")),
            }
        }
        let [should_run, generation, evaluation, embedding, pre_retrieval] =
            MODEL_MEMBERS.map(|member| names.remove(member));
        Ok(Self { should_run, generation, evaluation, embedding, pre_retrieval })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(text: &str) -> SiteKey {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_is_accepted_up_to_its_limit_and_not_beyond() {
        let lengths = [(0, false), (1, true), (SITE_KEY_CHARS_MAX - 1, true), (SITE_KEY_CHARS_MAX, true)];
        for (length, ok) in lengths.into_iter().chain([(SITE_KEY_CHARS_MAX + 1, false)]) {
            assert_eq!("a".repeat(length).parse::<SiteKey>().is_ok(), ok, "{length}");
        }
        for text in ["A", "a-b", "a#b", "ä", "a b"] {
            assert_eq!(text.parse::<SiteKey>(), Err(InvalidSiteVar::Key), "{text}");
        }
    }

    #[test]
    fn a_value_is_accepted_up_to_its_limit_and_not_beyond() {
        for (length, ok) in [
            (SITE_VALUE_BYTES_MAX - 1, true),
            (SITE_VALUE_BYTES_MAX, true),
            (SITE_VALUE_BYTES_MAX + 1, false),
        ] {
            assert_eq!(check_value(&key("note"), &"x".repeat(length)).is_ok(), ok, "{length}");
        }
        assert_eq!(check_value(&key("note"), " \n"), Err(InvalidSiteVar::Blank));
    }

    #[test]
    fn a_text_is_json_where_it_can_be_and_itself_otherwise() {
        assert_eq!(read_value(r#" {"a": 1} "#), json!({ "a": 1 }));
        assert_eq!(read_value(" be kind \n"), json!("be kind"));
    }

    #[test]
    fn empty_model_names_are_not_set() {
        let value = json!({
            "should_run_model_name": "", "default_generation_model_name": " openai/gpt-5.5 ",
            "default_evaluate_model_name": null, "embedding_model_name": "  ",
        });
        let expected =
            LlmModelSetting { generation: Some("openai/gpt-5.5".to_owned()), ..LlmModelSetting::default() };
        assert_eq!(LlmModelSetting::read(&value), Ok(expected));
    }

    #[test]
    fn what_would_not_be_read_is_refused_when_it_is_set() {
        for (name, text) in [
            (FEATURE_FLAGS, "on"),
            (FEATURE_FLAGS, r#"{"deduplicator": {"enabled": "false"}}"#),
            (LLM_MODEL_SETTING, "[]"),
            (LLM_MODEL_SETTING, r#"{"generation_model_name": "x"}"#),
            (LLM_MODEL_SETTING, r#"{"embedding_model_name": 1}"#),
        ] {
            let refused = check_value(&key(name), text).unwrap_err();
            assert!(refused.to_string().starts_with(name), "{refused}");
        }
        for (name, text) in [
            (FEATURE_FLAGS, r#"{"deduplicator": {"enabled": false, "enabled_org_ids": ["acme"]}}"#),
            (LLM_MODEL_SETTING, r#"{"embedding_model_name": "text-embedding-3-small"}"#),
            (SEARCH_SETTINGS, r#"{"search_mode": "hybrid"}"#),
            ("motto", "be kind"),
        ] {
            assert_eq!(check_value(&key(name), text), Ok(()), "{name}");
        }
    }
}
