//! Choosing a version and filling in the variables.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::Value;
use minijinja::value::Serde;

use crate::bank::{Prompt, PromptBank, template_name};

/// A prompt, ready to be sent, with the identity that a window receipt keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Which prompt.
    pub prompt_id: String,
    /// Which version of it.
    pub version: String,
    /// Hex SHA-256 of the template.
    pub sha256: String,
    /// What is sent.
    pub text: String,
}

/// Why a prompt was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// No such prompt, or no such version of it.
    #[error("Prompt {id} not found")]
    NotFound {
        /// The id asked for.
        id: String,
    },
    /// Declared variables were not given.
    #[error("Missing required variables {} for prompt {id}", names.join(", "))]
    MissingVariables {
        /// The prompt.
        id: String,
        /// What is missing, in order.
        names: Vec<String>,
    },
    /// The template could not be filled in.
    #[error("Error rendering prompt {id}: {reason}")]
    Render {
        /// The prompt.
        id: String,
        /// Why.
        reason: String,
    },
}

impl PromptBank {
    /// Renders the version named by `version_override`, else the highest active one.
    ///
    /// Values are inserted as they are: nothing in them is read as a template, nothing is escaped, and null is
    /// empty text.
    ///
    /// # Errors
    /// [`PromptError::NotFound`] for an unknown prompt or version; [`PromptError::MissingVariables`] when a declared
    /// variable is not given; [`PromptError::Render`] when one is given that the prompt does not declare.
    pub fn render(
        &self,
        prompt_id: &str,
        variables: &[(&str, Value)],
        version_override: Option<&str>,
    ) -> Result<Rendered, PromptError> {
        let (prompt, version) = self.choose(prompt_id, version_override)?;
        let given: BTreeMap<&str, Value> = variables.iter().cloned().collect();
        check_variables(prompt_id, &prompt.metadata.versions[version].variables, &given)?;
        let text = self
            .templates
            .get_template(&template_name(prompt_id, version))
            .and_then(|template| template.render(Serde(&given)))
            .map_err(|error| PromptError::Render { id: prompt_id.into(), reason: error.to_string() })?;
        Ok(Rendered {
            prompt_id: prompt_id.into(),
            version: version.into(),
            sha256: prompt.digests[version].clone(),
            text,
        })
    }

    fn choose(&self, id: &str, version_override: Option<&str>) -> Result<(&Prompt, &str), PromptError> {
        let not_found = || PromptError::NotFound { id: id.into() };
        let prompt = self.prompts.get(id).ok_or_else(not_found)?;
        let version = match version_override {
            Some(named) => prompt.metadata.versions.get_key_value(named).map(|(version, _)| version.as_str()),
            None => prompt.metadata.highest_active(),
        };
        Ok((prompt, version.ok_or_else(not_found)?))
    }
}

fn check_variables(
    id: &str,
    declared: &BTreeSet<String>,
    given: &BTreeMap<&str, Value>,
) -> Result<(), PromptError> {
    let names: Vec<String> =
        declared.iter().filter(|name| !given.contains_key(name.as_str())).cloned().collect();
    if !names.is_empty() {
        return Err(PromptError::MissingVariables { id: id.into(), names });
    }
    // A variable that the template ignores is information that the caller believes the model will see.
    match given.keys().find(|name| !declared.contains(**name)) {
        Some(name) => Err(PromptError::Render {
            id: id.into(),
            reason: format!("{name} is not a variable of this prompt"),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"prompt_id":"greet","description":"d","active_version":"1.10.0","versions":{
        "1.9.0":{"file":"old.prompt","active":true,"variables":["name"],"changelog":"first"},
        "1.10.0":{"file":"new.prompt","active":true,"variables":["name","mood"],"changelog":"mood"},
        "2.0.0":{"file":"next.prompt","active":false,"variables":["name"],"changelog":"not yet"}}}"#;

    fn bank() -> PromptBank {
        let files = BTreeMap::from([
            ("metadata.json", METADATA),
            ("old.prompt", "Hello {{ name }}\n"),
            ("new.prompt", "{% if mood %}\nMood: {{ mood }}\n{% endif %}\nHi {{ name }}"),
            ("next.prompt", "Hey {{ name }}"),
        ]);
        PromptBank::load(&BTreeMap::from([("greet", files)])).unwrap()
    }

    fn text(variables: &[(&str, Value)], version: Option<&str>) -> Result<String, String> {
        bank().render("greet", variables, version).map(|r| r.text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_highest_active_version_is_rendered_with_its_identity() {
        let rendered =
            bank().render("greet", &[("name", "Ana".into()), ("mood", "fine".into())], None).unwrap();
        assert_eq!((rendered.version.as_str(), rendered.text.as_str()), ("1.10.0", "Mood: fine\nHi Ana"));
        assert_eq!(rendered.sha256.len(), 64);
    }

    #[test]
    fn an_override_chooses_any_version_that_exists() {
        assert_eq!(text(&[("name", "Ana".into())], Some("1.9.0")).unwrap(), "Hello Ana");
        assert_eq!(text(&[("name", "Ana".into())], Some("2.0.0")).unwrap(), "Hey Ana");
        assert_eq!(text(&[("name", "Ana".into())], Some("3.0.0")).unwrap_err(), "Prompt greet not found");
    }

    #[test]
    fn an_unknown_prompt_is_not_found() {
        assert_eq!(bank().render("nobody", &[], None).unwrap_err().to_string(), "Prompt nobody not found");
    }

    #[test]
    fn missing_variables_are_named() {
        let message = text(&[], None).unwrap_err();
        assert_eq!(message, "Missing required variables mood, name for prompt greet");
    }

    #[test]
    fn a_variable_that_the_prompt_does_not_know_is_an_error() {
        let message = text(&[("name", "Ana".into()), ("nmae", "Ana".into())], Some("1.9.0")).unwrap_err();
        assert_eq!(message, "Error rendering prompt greet: nmae is not a variable of this prompt");
    }

    #[test]
    fn null_is_empty_text() {
        assert_eq!(text(&[("name", Value::from(())), ("mood", Value::from(()))], None).unwrap(), "Hi ");
    }

    #[test]
    fn values_are_neither_read_as_templates_nor_escaped() {
        let hostile = "{{ mood }} {% if x %} <b>&amp;\"'</b> {name}";
        assert_eq!(text(&[("name", hostile.into())], Some("1.9.0")).unwrap(), format!("Hello {hostile}"));
    }
}
