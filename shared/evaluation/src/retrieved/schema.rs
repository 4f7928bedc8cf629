//! What the judges answer. The comments on the fields are part of the schema that the model sees.

use std::collections::BTreeSet;

use domain::entities::{DiagnosisCategory, LearningImpact, PlaybookDiagnosis, RetrievedLearningKind};
use learning::formatting::text::first_chars;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Longest reason of a verdict that is kept, in characters.
pub const REASON_CHARS_MAX: usize = 2_000;
/// Longest reason of a diagnosis, in characters; a longer one is cut.
pub const DIAGNOSIS_CHARS_MAX: usize = 4_000;
/// Interactions that a diagnosis rests on; what comes after is dropped.
pub const EVIDENCE_MAX: usize = 20;
/// References that a repair names.
const NAMED_MAX: usize = 5;

/// One verdict for each learning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct RelevanceAnswer {
    /// One entry for each learning.
    pub verdicts: Vec<RelevanceVerdict>,
}

/// Whether one learning had to do with what was going on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct RelevanceVerdict {
    /// The learning_ref as shown.
    pub learning_ref: String,
    /// Why, in one or two sentences.
    #[serde(default)]
    pub relevance_reason: String,
    /// Whether the learning has to do with its target interaction.
    pub is_relevant: bool,
}

/// One verdict for each learning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ImpactAnswer {
    /// One entry for each learning.
    pub verdicts: Vec<ImpactVerdict>,
}

/// Whether one learning helped.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ImpactVerdict {
    /// The learning_ref as shown.
    pub learning_ref: String,
    /// Why, in one or two sentences.
    #[serde(default)]
    pub impact_reason: String,
    /// Whether it made the agent's work better, worse, or neither.
    #[schemars(schema_with = "impact_schema")]
    pub impact: LearningImpact,
    /// For playbooks: why it helped or did not. Null for profiles.
    #[serde(default)]
    pub diagnosis: Option<DiagnosisAnswer>,
}

/// Why a playbook helped or did not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct DiagnosisAnswer {
    /// Where the cause lies.
    #[schemars(schema_with = "category_schema")]
    pub category: DiagnosisCategory,
    /// What shows it, in a few sentences.
    pub reason: String,
    /// Ids of the interactions that show it, at most 20.
    #[serde(default)]
    pub evidence_interaction_ids: Vec<i64>,
}

fn impact_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["positive", "negative", "neutral"] })
}

fn category_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "enum": ["content_defect", "application_failure", "external_failure", "no_issue", "unknown"],
    })
}

/// Whether the answered references are those that were asked about: none missing, none twice, none else.
///
/// # Errors
/// What is wrong with them, for the model.
pub fn check_refs<'a>(asked: &[String], answered: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let asked: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
    let (mut seen, mut twice, mut unknown) = (BTreeSet::new(), Vec::new(), Vec::new());
    for reference in answered {
        if !asked.contains(reference) {
            unknown.push(reference);
        } else if !seen.insert(reference) {
            twice.push(reference);
        }
    }
    let missing: Vec<&str> = asked.difference(&seen).copied().collect();
    let faults =
        [("without a verdict", missing), ("judged more than once", twice), ("never asked about", unknown)];
    let named = |(fault, refs): &(&str, Vec<&str>)| {
        (!refs.is_empty()).then(|| format!("{fault}: {}", refs[..refs.len().min(NAMED_MAX)].join(", ")))
    };
    let faults: Vec<String> = faults.iter().filter_map(named).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("there must be exactly one verdict for each learning_ref; {}", faults.join("; ")))
    }
}

impl ImpactAnswer {
    /// Whether the diagnoses say something.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn check_diagnoses(&self) -> Result<(), String> {
        let is_empty = |verdict: &&ImpactVerdict| {
            verdict.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.reason.trim().is_empty())
        };
        match self.verdicts.iter().find(is_empty) {
            None => Ok(()),
            Some(verdict) => Err(format!("the diagnosis of {} has no reason", verdict.learning_ref)),
        }
    }
}

/// A diagnosis as it is kept: none for profiles, and "unknown" where it rests on what is not in the session.
#[must_use]
pub fn kept_diagnosis(
    kind: RetrievedLearningKind,
    answer: Option<DiagnosisAnswer>,
    is_in_session: impl Fn(i64) -> bool,
) -> Option<PlaybookDiagnosis> {
    let answer = answer.filter(|_| kind != RetrievedLearningKind::Profile)?;
    let reason = first_chars(answer.reason.trim(), DIAGNOSIS_CHARS_MAX).to_owned();
    let mut evidence = Vec::new();
    for id in answer.evidence_interaction_ids {
        if !is_in_session(id) {
            return Some(PlaybookDiagnosis {
                category: DiagnosisCategory::Unknown,
                reason,
                evidence_interaction_ids: Vec::new(),
            });
        }
        if !evidence.contains(&id) && evidence.len() < EVIDENCE_MAX {
            evidence.push(id);
        }
    }
    Some(PlaybookDiagnosis { category: answer.category, reason, evidence_interaction_ids: evidence })
}

/// A reason as it is kept.
#[must_use]
pub fn kept_reason(reason: &str) -> String {
    first_chars(reason.trim(), REASON_CHARS_MAX).to_owned()
}
