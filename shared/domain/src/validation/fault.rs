//! Faults while they are collected, and the list of them that goes to the caller.

use serde_json::{Map, Value, json};

use super::marks;

/// Most faults that one answer names; a body of millions of wrong numbers would otherwise be answered with
/// hundreds of megabytes.
pub const FAULTS_MAX: usize = 1_000;
/// Most bytes of the caller's own input that one answer repeats. What does not fit is left out.
pub const ECHO_BYTES_MAX: usize = 1 << 20;

/// Where in a document a rule looks; a chain of borrowed parts that costs nothing until there is a fault.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    part: Part<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Part<'p> {
    /// The start of a path that names nothing (configuration documents).
    Nothing,
    Name(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The empty path.
    pub const ROOT: Path<'static> = Path { parent: None, part: Part::Nothing };

    /// A path that starts with a name, such as `body`.
    #[must_use]
    pub fn root(name: &'p str) -> Self {
        Self { parent: None, part: Part::Name(name) }
    }

    /// The path to a member, or to one arm of a union.
    #[must_use]
    pub fn name(&'p self, name: &'p str) -> Self {
        Self { parent: Some(self), part: Part::Name(name) }
    }

    /// The path to an element of a list.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), part: Part::Index(index) }
    }

    fn to_loc(self) -> Vec<Value> {
        let mut loc = self.parent.map_or_else(Vec::new, |parent| parent.to_loc());
        match self.part {
            Part::Nothing => {}
            Part::Name(name) => loc.push(name.into()),
            Part::Index(index) => loc.push(index.into()),
        }
        loc
    }
}

#[derive(Debug)]
struct Fault<'v> {
    kind: &'static str,
    loc: Vec<Value>,
    msg: String,
    input: &'v Value,
    ctx: Option<Value>,
}

/// The faults found so far in one document.
#[derive(Debug, Default)]
pub struct Faults<'v> {
    list: Vec<Fault<'v>>,
}

impl<'v> Faults<'v> {
    /// Records a fault; beyond [`FAULTS_MAX`] they are only known to exist.
    pub fn add(
        &mut self,
        kind: &'static str,
        at: Path<'_>,
        msg: impl Into<String>,
        input: &'v Value,
        ctx: Option<Value>,
    ) {
        if self.list.len() < FAULTS_MAX {
            self.list.push(Fault { kind, loc: at.to_loc(), msg: msg.into(), input, ctx });
        }
    }

    /// Records that a value breaks a rule of ours, as a pydantic validator that raises `ValueError` does.
    pub fn add_value_error(&mut self, at: Path<'_>, reason: &str, input: &'v Value) {
        self.add("value_error", at, format!("Value error, {reason}"), input, Some(json!({ "error": {} })));
    }

    /// How many faults are recorded.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// The value if there are no faults.
    ///
    /// # Errors
    /// [`ValidationErrors`] with everything that was recorded.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, ValidationErrors> {
        match value {
            Some(value) if self.list.is_empty() => Ok(value),
            _ => Err(ValidationErrors::from_faults(&self.list)),
        }
    }
}

/// What is wrong with a request, as the caller sees it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the request is not valid: {}", self.summary())]
pub struct ValidationErrors {
    entries: Vec<Map<String, Value>>,
}

impl ValidationErrors {
    fn from_faults(faults: &[Fault<'_>]) -> Self {
        // JSON cannot repeat NaN, so then nothing is repeated at all.
        let shows_input = !faults.iter().any(|fault| marks::holds_non_finite(fault.input));
        let mut budget = ECHO_BYTES_MAX;
        let entries = faults.iter().map(|fault| {
            let mut entry = Map::new();
            entry.insert("type".into(), fault.kind.into());
            entry.insert("loc".into(), fault.loc.clone().into());
            entry.insert("msg".into(), fault.msg.as_str().into());
            if shows_input {
                if let Some(size) = marks::size_within(fault.input, budget) {
                    budget -= size;
                    entry.insert("input".into(), marks::shown(fault.input));
                }
                if let Some(ctx) = &fault.ctx {
                    entry.insert("ctx".into(), ctx.clone());
                }
            }
            entry
        });
        Self { entries: entries.collect() }
    }

    /// A single fault outside any field.
    #[must_use]
    pub fn single(kind: &'static str, at: Path<'_>, msg: &str, input: &Value, ctx: Option<Value>) -> Self {
        Self::from_faults(&[Fault { kind, loc: at.to_loc(), msg: msg.to_owned(), input, ctx }])
    }

    /// The answer of most routes: `{"detail": [{type, loc, msg, input?, ctx?}]}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "detail": self.entries })
    }

    /// The list `[{type, loc, msg}]` of the configuration routes, which repeat no input: it may hold secrets.
    #[must_use]
    pub fn without_input(&self) -> Value {
        let short = |entry: &Map<String, Value>| {
            let keep = ["type", "loc", "msg"].into_iter();
            keep.filter_map(|key| Some((key.to_owned(), entry.get(key)?.clone()))).collect::<Map<_, _>>()
        };
        Value::Array(self.entries.iter().map(|entry| Value::Object(short(entry))).collect())
    }

    /// How many faults the answer names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The kinds and places of the first faults, without any input: fit for a log.
    #[must_use]
    pub fn summary(&self) -> String {
        let text = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
        let short =
            |entry: &Map<String, Value>| format!("{} {}", text(entry.get("type")), text(entry.get("loc")));
        self.entries.iter().take(3).map(short).collect::<Vec<_>>().join(", ")
    }
}
