//! `POST /api/get_evaluation_overview`.

use std::collections::HashSet;

use serde_json::Value;

use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds, Choice};
use crate::validation::{Faults, Path, ValidationErrors, object, read_body};

/// How much time a point of a curve stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverviewBucket {
    /// A day, in UTC.
    Day,
    /// Seven days, from Thursday on as the epoch does.
    #[default]
    Week,
}

impl OverviewBucket {
    /// How long it is.
    #[must_use]
    pub fn seconds(self) -> EpochSeconds {
        match self {
            Self::Day => 86_400,
            Self::Week => 604_800,
        }
    }
}

impl Choice for OverviewBucket {
    const WORDS: &'static [(&'static str, Self)] = &[("day", Self::Day), ("week", Self::Week)];
}

/// Sources whose sessions are looked at together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSet {
    /// What it is called.
    pub label: String,
    /// Which sources.
    pub sources: Vec<String>,
}

impl SourceSet {
    fn read<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        object(
            None,
            value,
            at,
            faults,
            |fields| {
                let label = fields.required("label", rules::non_blank);
                let sources = fields.required("sources", rules::list(1, usize::MAX, rules::text));
                Some(Self { label: label?, sources: sources? })
            },
            |set| match all_differ(&set.sources) {
                true => Ok(()),
                false => Err("sources must be unique within a source set".to_owned()),
            },
        )
    }
}

/// Which time to look over, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetEvaluationOverview {
    /// Sessions that began then or later.
    pub from_ts: EpochSeconds,
    /// Sessions that began then or earlier.
    pub to_ts: EpochSeconds,
    /// What a point of a curve stands for.
    pub bucket: OverviewBucket,
    /// Whether to say how answers compared to those of the shadow.
    pub include_shadow: bool,
    /// Which sources to compare; no source is in two of them.
    pub source_sets: Vec<SourceSet>,
}

impl GetEvaluationOverview {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let since_epoch = || rules::integer(Bounds::<i64>::from(0));
                let from_ts = fields.required("from_ts", since_epoch());
                let to_ts = fields.required("to_ts", since_epoch());
                let bucket = fields.optional("bucket", OverviewBucket::default(), rules::literal);
                let include_shadow = fields.optional("include_shadow", true, rules::boolean);
                let sets = rules::list(0, usize::MAX, SourceSet::read);
                let source_sets = fields.optional("source_sets", Vec::new(), sets);
                Some(Self {
                    from_ts: from_ts?,
                    to_ts: to_ts?,
                    bucket: bucket?,
                    include_shadow: include_shadow?,
                    source_sets: source_sets?,
                })
            },
            Self::check,
        )
    }

    fn check(&self) -> Result<(), String> {
        if self.from_ts > self.to_ts {
            return Err("from_ts must be <= to_ts".to_owned());
        }
        if !all_differ(self.source_sets.iter().map(|set| &set.label)) {
            return Err("source set labels must be unique".to_owned());
        }
        if !all_differ(self.source_sets.iter().flat_map(|set| &set.sources)) {
            return Err("a source may belong to one source set only".to_owned());
        }
        Ok(())
    }
}

fn all_differ<'a>(texts: impl IntoIterator<Item = &'a String>) -> bool {
    let mut seen = HashSet::new();
    texts.into_iter().all(|text| seen.insert(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        let read = GetEvaluationOverview::parse(&json!({ "from_ts": 0, "to_ts": 0 })).unwrap();
        let expected = GetEvaluationOverview {
            from_ts: 0,
            to_ts: 0,
            bucket: OverviewBucket::Week,
            include_shadow: true,
            source_sets: Vec::new(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn both_ends_are_required() {
        let errors = GetEvaluationOverview::parse(&json!({})).unwrap_err().to_json();
        let missing = |name: &str| json!({ "type": "missing", "loc": ["body", name], "msg": "Field required", "input": {} });
        assert_eq!(errors, json!({ "detail": [missing("from_ts"), missing("to_ts")] }));
    }

    #[test]
    fn each_broken_rule_is_refused_where_it_is_broken() {
        let set = |label: &str, sources: &[&str]| json!({ "label": label, "sources": sources });
        let with_sets = |sets: Value| json!({ "from_ts": 1, "to_ts": 2, "source_sets": sets });
        for (body, kind, loc) in [
            (json!({ "from_ts": 2, "to_ts": 1 }), "value_error", json!(["body"])),
            (json!({ "from_ts": -1, "to_ts": 1 }), "greater_than_equal", json!(["body", "from_ts"])),
            (
                json!({ "from_ts": 1, "to_ts": 2, "bucket": "year" }),
                "literal_error",
                json!(["body", "bucket"]),
            ),
            (with_sets(json!([set("a", &[])])), "too_short", json!(["body", "source_sets", 0, "sources"])),
            (with_sets(json!([set(" ", &["x"])])), "value_error", json!(["body", "source_sets", 0, "label"])),
            (with_sets(json!([set("a", &["x", "x"])])), "value_error", json!(["body", "source_sets", 0])),
            (with_sets(json!([set("a", &["x"]), set("a", &["y"])])), "value_error", json!(["body"])),
            (with_sets(json!([set("a", &["x"]), set("b", &["y", "x"])])), "value_error", json!(["body"])),
        ] {
            let errors = GetEvaluationOverview::parse(&body).unwrap_err().to_json();
            assert_eq!((&errors["detail"][0]["type"], &errors["detail"][0]["loc"]), (&json!(kind), &loc));
            assert!(errors["detail"].get(1).is_none(), "{errors}");
        }
    }

    #[test]
    fn an_empty_source_may_be_in_a_set() {
        let body =
            json!({ "from_ts": 1, "to_ts": 1, "source_sets": [{ "label": " all ", "sources": [""] }] });
        let read = GetEvaluationOverview::parse(&body).unwrap();
        assert_eq!(read.source_sets, [SourceSet { label: "all".to_owned(), sources: vec![String::new()] }]);
    }
}
