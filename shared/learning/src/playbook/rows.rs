//! From a model's answer to rows: each candidate is checked against what the model was shown, alone.

use std::collections::{BTreeMap, HashSet};

use domain::entities::{BlockingIssue, Status, UserPlaybook};
use domain::ids::{RequestId, UserId};
use domain::time::EpochSeconds;

use super::schema::{EvidenceKind, PlaybookAnswer, PlaybookDraft};
use crate::formatting::labels::without_labels;
use crate::formatting::text::first_chars;
use crate::formatting::{EvidenceMap, Resolved};

/// The name of every learned playbook.
pub const PLAYBOOK_NAME: &str = "playbook";
/// Longest content of a learned playbook, in characters.
pub const PLAYBOOK_CONTENT_CHARS_MAX: usize = 4_000;
/// Longest trigger, and longest rationale, in characters.
pub const TRIGGER_CHARS_MAX: usize = 2_000;
/// Longest quotation of the evidence, in characters; a longer one is cut.
pub const QUOTED_EVIDENCE_CHARS_MAX: usize = 300;
/// Longest note, and longest details of a blocking issue, in characters; longer ones are cut.
pub const NOTES_CHARS_MAX: usize = 500;
/// Rows that one window may yield; what comes after is rejected.
pub const ROWS_PER_WINDOW_MAX: usize = 16;

/// What all rows of one run share.
#[derive(Debug, Clone)]
pub struct PlaybookContext {
    /// From whom.
    pub user_id: UserId,
    /// For which agent.
    pub agent_version: String,
    /// The request that triggered the run.
    pub request_id: RequestId,
    /// Its source; `None` when it named none.
    pub source: Option<String>,
    /// `None` for current rows, pending for a preview.
    pub status: Option<Status>,
    /// When the run takes place.
    pub now: EpochSeconds,
}

/// Why a candidate became no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaybookRejection {
    /// The content is blank.
    MissingContent,
    /// The trigger is blank.
    MissingTrigger,
    /// The rationale is blank.
    MissingRationale,
    /// The kind of evidence is none of the six.
    MissingEvidenceKind,
    /// It cites nothing.
    MissingEvidence,
    /// Nothing was shown that it could cite.
    MissingEvidenceUnitMap,
    /// One of its references is blank.
    EmptyEvidenceRef,
    /// One of its references names nothing that was shown.
    UnknownEvidenceRef,
    /// It cites only turns that were learned from before.
    OnlyEarlierEvidence,
    /// It claims a preference of the user and cites no turn of the user.
    PreferenceWithoutDirectUserEvidence,
    /// A label of a turn is woven into content, trigger or rationale.
    TurnReferenceInPersistedProse,
    /// Content, trigger or rationale is too long.
    TooLong,
    /// An earlier candidate of the answer says the same.
    Repeated,
    /// The answer holds more than [`ROWS_PER_WINDOW_MAX`] rows.
    TooMany,
}

impl PlaybookRejection {
    /// The code in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingContent => "missing_content",
            Self::MissingTrigger => "missing_trigger",
            Self::MissingRationale => "missing_rationale",
            Self::MissingEvidenceKind => "missing_evidence_kind",
            Self::MissingEvidence => "missing_evidence",
            Self::MissingEvidenceUnitMap => "missing_evidence_unit_map",
            Self::EmptyEvidenceRef => "empty_evidence_ref",
            Self::UnknownEvidenceRef => "unknown_evidence_ref",
            Self::OnlyEarlierEvidence => "only_earlier_evidence",
            Self::PreferenceWithoutDirectUserEvidence => "preference_without_direct_user_evidence",
            Self::TurnReferenceInPersistedProse => "turn_reference_in_persisted_prose",
            Self::TooLong => "too_long",
            Self::Repeated => "repeated",
            Self::TooMany => "too_many",
        }
    }
}

/// What an answer yields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlaybookRows {
    /// New rows, without ids: these are for consolidation.
    pub rows: Vec<UserPlaybook>,
    /// How many candidates were rejected, by reason.
    pub rejected: BTreeMap<PlaybookRejection, usize>,
}

/// Turns an answer into rows. A candidate that does not hold is left out and counted; the others are kept.
#[must_use]
pub fn playbooks_from_answer(
    answer: &PlaybookAnswer,
    shown: &EvidenceMap,
    context: &PlaybookContext,
) -> PlaybookRows {
    let mut outcome = PlaybookRows::default();
    let mut seen = HashSet::new();
    for draft in &answer.playbooks {
        let checked = check(draft, shown).and_then(|checked| {
            if outcome.rows.len() >= ROWS_PER_WINDOW_MAX {
                return Err(PlaybookRejection::TooMany);
            }
            let is_first = seen.insert((checked.trigger.to_lowercase(), checked.content.to_lowercase()));
            if is_first { Ok(checked) } else { Err(PlaybookRejection::Repeated) }
        });
        match checked {
            Ok(checked) => outcome.rows.push(row(draft, checked, context)),
            Err(reason) => *outcome.rejected.entry(reason).or_default() += 1,
        }
    }
    outcome
}

struct Checked<'a> {
    content: String,
    trigger: String,
    rationale: String,
    kind: EvidenceKind,
    cited: Resolved<'a>,
    notes: Option<String>,
}

fn check<'a>(draft: &PlaybookDraft, shown: &'a EvidenceMap) -> Result<Checked<'a>, PlaybookRejection> {
    use PlaybookRejection as Rejection;
    let cited = check_evidence(draft, shown)?;
    let prose = |text: &Option<String>, missing: Rejection, chars_max: usize| {
        let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or(missing)?;
        let clean = without_labels(text, shown, &cited).ok_or(Rejection::TurnReferenceInPersistedProse)?;
        match clean.chars().count() {
            0 => Err(missing),
            chars if chars > chars_max => Err(Rejection::TooLong),
            _ => Ok(clean),
        }
    };
    let content = prose(&draft.content, Rejection::MissingContent, PLAYBOOK_CONTENT_CHARS_MAX)?;
    let trigger = prose(&draft.trigger, Rejection::MissingTrigger, TRIGGER_CHARS_MAX)?;
    let rationale = prose(&draft.rationale, Rejection::MissingRationale, TRIGGER_CHARS_MAX)?;
    let kind = draft.evidence_kind.ok_or(Rejection::MissingEvidenceKind)?;
    if kind == EvidenceKind::Preference && !cited.turns.iter().any(|turn| turn.by_user) {
        return Err(Rejection::PreferenceWithoutDirectUserEvidence);
    }
    let notes = draft.notes.as_deref().and_then(|notes| without_labels(notes, shown, &cited));
    Ok(Checked { content, trigger, rationale, kind, cited, notes })
}

fn check_evidence<'a>(
    draft: &PlaybookDraft,
    shown: &'a EvidenceMap,
) -> Result<Resolved<'a>, PlaybookRejection> {
    if draft.evidence_refs.is_empty() {
        return Err(PlaybookRejection::MissingEvidence);
    }
    if shown.is_empty() {
        return Err(PlaybookRejection::MissingEvidenceUnitMap);
    }
    let cited = shown.resolve(&draft.evidence_refs);
    if cited.blank > 0 {
        return Err(PlaybookRejection::EmptyEvidenceRef);
    }
    if cited.unknown > 0 {
        return Err(PlaybookRejection::UnknownEvidenceRef);
    }
    if cited.any_new() { Ok(cited) } else { Err(PlaybookRejection::OnlyEarlierEvidence) }
}

fn row(draft: &PlaybookDraft, checked: Checked<'_>, context: &PlaybookContext) -> UserPlaybook {
    let notes = checked.notes.as_deref().map(|notes| first_chars(notes, NOTES_CHARS_MAX));
    UserPlaybook {
        user_playbook_id: 0,
        user_id: Some(context.user_id.clone()),
        agent_version: context.agent_version.clone(),
        request_id: context.request_id.as_str().to_owned(),
        playbook_name: PLAYBOOK_NAME.to_owned(),
        created_at: context.now,
        content: checked.content,
        trigger: Some(checked.trigger),
        rationale: Some(checked.rationale),
        blocking_issue: draft.blocking_issue.as_ref().and_then(storable_issue),
        status: context.status,
        source: context.source.clone(),
        source_interaction_ids: checked.cited.interaction_ids(),
        expanded_terms: None,
        tags: None,
        source_span: quoted_evidence(&checked.cited),
        notes: notes.filter(|notes| !notes.is_empty()).map(str::to_owned),
        reader_angle: Some(checked.kind.as_str().to_owned()),
        merged_into: None,
        superseded_by: None,
    }
}

fn storable_issue(issue: &BlockingIssue) -> Option<BlockingIssue> {
    let details = first_chars(issue.details.trim(), NOTES_CHARS_MAX);
    (!details.is_empty()).then(|| BlockingIssue { kind: issue.kind, details: details.to_owned() })
}

/// What the first cited turn of the user says, else the first cited turn: the words that the rule rests on.
fn quoted_evidence(cited: &Resolved<'_>) -> Option<String> {
    let turn = cited.turns.iter().find(|turn| turn.by_user).or(cited.turns.first())?;
    let quote = first_chars(turn.texts.first()?.trim(), QUOTED_EVIDENCE_CHARS_MAX);
    (!quote.is_empty()).then(|| quote.to_owned())
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
