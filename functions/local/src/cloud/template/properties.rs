//! A mapping of properties that remembers which of them were read, so that none is overlooked.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::intrinsics::{Scope, scalar_text};
use super::model::TemplateError;

/// Properties of one resource, or of a part of it.
#[derive(Debug)]
pub(super) struct Properties<'a> {
    logical_id: &'a str,
    path: String,
    left: Map<String, Value>,
    scope: &'a Scope,
}

impl<'a> Properties<'a> {
    pub(super) fn new(logical_id: &'a str, properties: Map<String, Value>, scope: &'a Scope) -> Self {
        Self { logical_id, path: String::new(), left: properties, scope }
    }

    /// An error about the property `name`.
    pub(super) fn problem(&self, name: &str, problem: impl Into<String>) -> TemplateError {
        TemplateError::Property {
            logical_id: self.logical_id.to_owned(),
            property: format!("{}{name}", self.path),
            problem: problem.into(),
        }
    }

    /// The resolved value of a property.
    pub(super) fn value(&mut self, name: &str) -> Result<Option<Value>, TemplateError> {
        let Some(value) = self.left.shift_remove(name) else { return Ok(None) };
        self.scope.resolve(&value).map(Some).map_err(|problem| self.problem(name, problem))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, TemplateError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        scalar_text(&value).map(Some).ok_or_else(|| self.problem(name, "is not text"))
    }

    pub(super) fn required_text(&mut self, name: &str) -> Result<String, TemplateError> {
        self.text(name)?.ok_or_else(|| self.problem(name, "is missing"))
    }

    /// A whole number within `bounds`; CloudFormation also takes it as text.
    pub(super) fn number(
        &mut self,
        name: &str,
        bounds: RangeInclusive<u32>,
    ) -> Result<Option<u32>, TemplateError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        let expected = || format!("{text} is not a number from {} to {}", bounds.start(), bounds.end());
        number.map(Some).ok_or_else(|| self.problem(name, expected()))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, TemplateError> {
        match self.text(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(self.problem(name, "is neither true nor false")),
        }
    }

    /// The properties below `name`; empty when there are none.
    pub(super) fn part(&mut self, name: &str) -> Result<Properties<'a>, TemplateError> {
        let left = match self.left.shift_remove(name) {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(self.problem(name, "is not a mapping")),
        };
        Ok(Properties {
            logical_id: self.logical_id,
            path: format!("{}{name}.", self.path),
            left,
            scope: self.scope,
        })
    }

    /// Adds a property unless there is one of that name.
    pub(super) fn add(&mut self, name: &str, value: &Value) {
        self.left.entry(name).or_insert_with(|| value.clone());
    }

    /// Adds entries to the mapping `inner` in the mapping `outer`, unless there are some of their names.
    pub(super) fn add_below(
        &mut self,
        outer: &str,
        inner: &str,
        entries: &Map<String, Value>,
    ) -> Result<(), TemplateError> {
        let empty = || Value::Object(Map::new());
        let found = self.left.entry(outer).or_insert_with(empty).as_object_mut();
        let found = found.and_then(|outer| outer.entry(inner).or_insert_with(empty).as_object_mut());
        let Some(found) = found else { return Err(self.problem(outer, "is not a mapping")) };
        for (name, value) in entries {
            found.entry(name).or_insert_with(|| value.clone());
        }
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    /// The names not yet read.
    pub(super) fn names(&self) -> Vec<String> {
        self.left.keys().cloned().collect()
    }

    /// Sets aside what means nothing on one machine.
    pub(super) fn ignore(&mut self, names: &[&str]) {
        self.left.retain(|name, _| !names.contains(&name.as_str()));
    }

    /// # Errors
    /// When a property was neither read nor ignored.
    pub(super) fn finish(self) -> Result<(), TemplateError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(self.problem(name, "the local cloud does not know this property")),
        }
    }
}
