//! The template as text: YAML with CloudFormation's short tags becomes JSON with their long form.

use serde_json::{Map, Value};

use super::model::TemplateError;

/// Sections that say nothing about what runs locally.
const IGNORED_SECTIONS: [&str; 6] =
    ["AWSTemplateFormatVersion", "Description", "Transform", "Metadata", "Conditions", "Outputs"];

/// The sections that the local cloud reads, references unresolved.
#[derive(Debug)]
pub(super) struct Document {
    /// Declarations of parameters.
    pub(super) parameters: Map<String, Value>,
    /// What every function has unless it says otherwise.
    pub(super) function_globals: Map<String, Value>,
    /// Resources by logical id.
    pub(super) resources: Map<String, Value>,
}

impl Document {
    pub(super) fn parse(yaml: &str) -> Result<Self, TemplateError> {
        let mut sections = object(long_form(serde_norway::from_str(yaml)?, "template")?, "template")?;
        let parameters = section(&mut sections, "Parameters")?;
        let resources = section(&mut sections, "Resources")?;
        let mut globals = section(&mut sections, "Globals")?;
        let function_globals = section(&mut globals, "Function")?;
        if let Some(name) = globals.keys().next() {
            return Err(problem(&format!("Globals.{name}"), "not known to the local cloud"));
        }
        if let Some(name) = sections.keys().find(|name| !IGNORED_SECTIONS.contains(&name.as_str())) {
            return Err(problem(name, "not known to the local cloud"));
        }
        Ok(Self { parameters, function_globals, resources })
    }
}

fn problem(section: &str, problem: &str) -> TemplateError {
    TemplateError::Section { section: section.to_owned(), problem: problem.to_owned() }
}

fn object(value: Value, section: &str) -> Result<Map<String, Value>, TemplateError> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(problem(section, "is not a mapping")),
    }
}

fn section(parent: &mut Map<String, Value>, name: &str) -> Result<Map<String, Value>, TemplateError> {
    parent.shift_remove(name).map_or_else(|| Ok(Map::new()), |value| object(value, name))
}

/// `!Ref x` becomes `{"Ref": "x"}`, `!GetAtt a.b` `{"Fn::GetAtt": ["a", "b"]}`, `!Other x` `{"Fn::Other": x}`.
fn long_form(yaml: serde_norway::Value, path: &str) -> Result<Value, TemplateError> {
    use serde_norway::Value as Yaml;
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => Value::Bool(flag),
        Yaml::String(text) => Value::String(text),
        Yaml::Number(number) => {
            serde_json::to_value(&number).map_err(|_| problem(path, "holds a number that JSON cannot"))?
        }
        Yaml::Sequence(items) => {
            Value::Array(items.into_iter().map(|item| long_form(item, path)).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let Yaml::String(key) = key else { return Err(problem(path, "has a key that is not text")) };
                let value = long_form(value, &format!("{path}.{key}"))?;
                map.insert(key, value);
            }
            Value::Object(map)
        }
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let name = tag.trim_start_matches('!');
            let value = long_form(tagged.value, path)?;
            let (name, value) = match (name, value) {
                ("Ref" | "Condition", value) => (name.to_owned(), value),
                ("GetAtt", Value::String(dotted)) => {
                    let (resource, attribute) =
                        dotted.split_once('.').ok_or_else(|| problem(path, "!GetAtt needs a dot"))?;
                    ("Fn::GetAtt".to_owned(), serde_json::json!([resource, attribute]))
                }
                (_, value) => (format!("Fn::{name}"), value),
            };
            Value::Object(Map::from_iter([(name, value)]))
        }
    })
}
