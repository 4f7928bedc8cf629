//! `Ref`, `Fn::GetAtt` and `Fn::Sub`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ACCOUNT_ID, REGION, STACK_NAME};

/// What references may name.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// What `!Ref` of a parameter, pseudo parameter or resource gives.
    pub(super) references: BTreeMap<String, Value>,
    /// What `!GetAtt` gives, by resource and attribute.
    pub(super) attributes: BTreeMap<(String, String), Value>,
}

impl Scope {
    /// A scope of the pseudo parameters.
    pub(super) fn pseudo() -> Self {
        let references = [
            ("AWS::AccountId", ACCOUNT_ID.to_owned()),
            ("AWS::Partition", "aws".to_owned()),
            ("AWS::Region", REGION.to_owned()),
            ("AWS::StackName", STACK_NAME.to_owned()),
            (
                "AWS::StackId",
                format!("arn:aws:cloudformation:{REGION}:{ACCOUNT_ID}:stack/{STACK_NAME}/{STACK_NAME}"),
            ),
            ("AWS::URLSuffix", "amazonaws.com".to_owned()),
        ];
        let references = references.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value)));
        Self { references: references.collect(), attributes: BTreeMap::new() }
    }

    /// Replaces every reference in `value`; the error says which one has no meaning locally.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(map) => match intrinsic(map) {
                Some((name, argument)) => self.evaluate(name, argument),
                None => {
                    let entries = map.iter().map(|(key, value)| Ok((key.clone(), self.resolve(value)?)));
                    Ok(Value::Object(entries.collect::<Result<_, String>>()?))
                }
            },
            scalar => Ok(scalar.clone()),
        }
    }

    fn evaluate(&self, name: &str, argument: &Value) -> Result<Value, String> {
        match (name, argument) {
            ("Ref", Value::String(target)) => self.reference(target),
            ("Fn::GetAtt", Value::Array(path)) => match path.as_slice() {
                [Value::String(resource), Value::String(attribute)] => self.attribute(resource, attribute),
                _ => Err("Fn::GetAtt needs a resource and an attribute".to_owned()),
            },
            ("Fn::Sub", Value::String(template)) => self.substitute(template, &Map::new()),
            ("Fn::Sub", Value::Array(arguments)) => match arguments.as_slice() {
                [Value::String(template), Value::Object(names)] => self.substitute(template, names),
                _ => Err("Fn::Sub needs a text and a mapping".to_owned()),
            },
            _ => Err(format!("{name} is not known to the local cloud")),
        }
    }

    fn reference(&self, target: &str) -> Result<Value, String> {
        self.references
            .get(target)
            .cloned()
            .ok_or_else(|| format!("{target} has no value in the local cloud"))
    }

    fn attribute(&self, resource: &str, attribute: &str) -> Result<Value, String> {
        let key = (resource.to_owned(), attribute.to_owned());
        self.attributes
            .get(&key)
            .cloned()
            .ok_or_else(|| format!("{resource}.{attribute} has no value in the local cloud"))
    }

    fn substitute(&self, template: &str, names: &Map<String, Value>) -> Result<Value, String> {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or("Fn::Sub has an unclosed ${")?;
            text.push_str(before);
            if let Some(literal) = name.strip_prefix('!') {
                text.push_str(&format!("${{{literal}}}"));
            } else {
                let value = match (names.get(name), name.split_once('.')) {
                    (Some(value), _) => self.resolve(value)?,
                    (None, Some((resource, attribute))) => self.attribute(resource, attribute)?,
                    (None, None) => self.reference(name)?,
                };
                text.push_str(&scalar_text(&value).ok_or_else(|| format!("{name} is not text"))?);
            }
            rest = after;
        }
        text.push_str(rest);
        Ok(Value::String(text))
    }
}

/// The text of a string, number or truth value, as CloudFormation converts it.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn intrinsic(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, argument) = map.iter().next()?;
    let is_one = map.len() == 1 && (name == "Ref" || name == "Condition" || name.starts_with("Fn::"));
    is_one.then_some((name.as_str(), argument))
}
