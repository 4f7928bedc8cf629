//! Reading the members of an object in schema order.

use serde_json::{Map, Value};

use super::fault::{Faults, Path, ValidationErrors};

/// A rule reads one value, or records why not and gives nothing.
pub trait Rule<'v, T>: Fn(&'v Value, Path<'_>, &mut Faults<'v>) -> Option<T> {}
impl<'v, T, F: Fn(&'v Value, Path<'_>, &mut Faults<'v>) -> Option<T>> Rule<'v, T> for F {}

/// The members of one object.
///
/// Each method reads a member and gives `None` if it could not; read them all before the first `?`, so that
/// every fault is reported:
///
/// ```
/// use domain::validation::{Fields, read_body, rules};
///
/// let body = serde_json::json!({"user_id": " ana ", "top_k": "5"});
/// let read = read_body(&body, |fields| {
///     let user = fields.required("user_id", rules::non_blank);
///     let top_k = fields.optional("top_k", 30, rules::integer(rules::POSITIVE));
///     Some((user?, top_k?))
/// }, |_| Ok(()));
/// assert_eq!(read.unwrap(), ("ana".to_owned(), 5));
/// ```
#[derive(Debug)]
pub struct Fields<'r, 'v> {
    map: &'v Map<String, Value>,
    /// What a missing member is reported with.
    whole: &'v Value,
    at: Path<'r>,
    faults: &'r mut Faults<'v>,
}

impl<'v> Fields<'_, 'v> {
    /// A member that must be there.
    pub fn required<T>(&mut self, name: &str, rule: impl Rule<'v, T>) -> Option<T> {
        let at = self.at.name(name);
        match self.map.get(name) {
            Some(value) => rule(value, at, self.faults),
            None => {
                self.faults.add("missing", at, "Field required", self.whole, None);
                None
            }
        }
    }

    /// A member with a default. `null` is not the default: it is read by the rule.
    pub fn optional<T>(&mut self, name: &str, default: T, rule: impl Rule<'v, T>) -> Option<T> {
        match self.map.get(name) {
            Some(value) => rule(value, self.at.name(name), self.faults),
            None => Some(default),
        }
    }

    /// A member that may be `null` or absent.
    pub fn nullable<T>(&mut self, name: &str, rule: impl Rule<'v, T>) -> Option<Option<T>> {
        self.nullable_or(name, None, rule)
    }

    /// A member that may be `null`, with a default when it is absent.
    pub fn nullable_or<T>(
        &mut self,
        name: &str,
        default: Option<T>,
        rule: impl Rule<'v, T>,
    ) -> Option<Option<T>> {
        match self.map.get(name) {
            Some(Value::Null) => Some(None),
            Some(value) => rule(value, self.at.name(name), self.faults).map(Some),
            None => Some(default),
        }
    }

    /// Reports every member that is none of `known`.
    pub fn forbid_others(&mut self, known: &[&str]) {
        for (name, value) in self.map {
            if !known.contains(&name.as_str()) {
                let msg = "Extra inputs are not permitted";
                self.faults.add("extra_forbidden", self.at.name(name), msg, value, None);
            }
        }
    }

    /// The raw member, if present.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name)
    }
}

/// How a value that should be an object and is not is reported.
#[derive(Debug, Clone, Copy)]
enum NotAnObject {
    /// Bodies of routes.
    Attributes,
    /// Models that are built directly, by the name of the model.
    Model(&'static str),
}

fn read_object<'v, T>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
    otherwise: NotAnObject,
    missing_input: Option<&'v Value>,
    fields: impl FnOnce(&mut Fields<'_, 'v>) -> Option<T>,
    check: impl FnOnce(&T) -> Result<(), String>,
) -> Option<T> {
    let Value::Object(map) = value else {
        match otherwise {
            NotAnObject::Attributes => {
                let msg = "Input should be a valid dictionary or object to extract fields from";
                faults.add("model_attributes_type", at, msg, value, None);
            }
            NotAnObject::Model(name) => {
                let msg = format!("Input should be a valid dictionary or instance of {name}");
                faults.add("model_type", at, msg, value, Some(serde_json::json!({ "class_name": name })));
            }
        }
        return None;
    };
    let before = faults.count();
    let whole = missing_input.unwrap_or(value);
    let read = fields(&mut Fields { map, whole, at, faults: &mut *faults })?;
    if faults.count() > before {
        return None;
    }
    if let Err(reason) = check(&read) {
        faults.add_value_error(at, &reason, value);
        return None;
    }
    Some(read)
}

/// Reads an object inside a document. With a model's name, what is no object is reported as pydantic does
/// for models that are built directly; without, as for parts of a route's body.
pub fn object<'v, T>(
    model: Option<&'static str>,
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
    fields: impl FnOnce(&mut Fields<'_, 'v>) -> Option<T>,
    check: impl FnOnce(&T) -> Result<(), String>,
) -> Option<T> {
    let otherwise = model.map_or(NotAnObject::Attributes, NotAnObject::Model);
    read_object(value, at, faults, otherwise, None, fields, check)
}

/// Reads the body of a route. `check` looks across fields and runs only when all were read.
///
/// # Errors
/// [`ValidationErrors`] with every fault, under `["body", …]`.
pub fn read_body<'v, T>(
    body: &'v Value,
    fields: impl FnOnce(&mut Fields<'_, 'v>) -> Option<T>,
    check: impl FnOnce(&T) -> Result<(), String>,
) -> Result<T, ValidationErrors> {
    let at = Path::root("body");
    if body.is_null() {
        // A body of `null` counts as none.
        return Err(ValidationErrors::single("missing", at, "Field required", body, None));
    }
    let mut faults = Faults::default();
    let read = read_object(body, at, &mut faults, NotAnObject::Attributes, None, fields, check);
    faults.finish(read)
}

/// Reads the parameters of a query (see [`super::query_object`]).
///
/// # Errors
/// [`ValidationErrors`] with every fault, under `["query", …]`.
pub fn read_query<'v, T>(
    query: &'v Value,
    fields: impl FnOnce(&mut Fields<'_, 'v>) -> Option<T>,
) -> Result<T, ValidationErrors> {
    static NULL: Value = Value::Null;
    let mut faults = Faults::default();
    let at = Path::root("query");
    let read = read_object(query, at, &mut faults, NotAnObject::Attributes, Some(&NULL), fields, |_| Ok(()));
    faults.finish(read)
}
