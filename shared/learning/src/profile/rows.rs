//! From a model's answer to rows: each draft is checked against what the model was shown, alone.

use std::collections::{BTreeMap, HashSet};

use domain::entities::{ProfileTimeToLive, Status, UserProfile};
use domain::ids::{ProfileId, RequestId, UserId};
use domain::time::EpochSeconds;

use super::schema::{ProfileAnswer, ProfileDraft, parse_time_to_live};
use crate::formatting::labels::without_labels;
use crate::formatting::text::first_chars;
use crate::formatting::{EvidenceMap, Resolved};

/// Longest content of a learned profile, in characters. A longer one is a retelling, not a fact.
pub const PROFILE_CONTENT_CHARS_MAX: usize = 2_000;
/// Longest passage of evidence, in characters; a longer one is not kept.
pub const SOURCE_SPAN_CHARS_MAX: usize = 1_000;
/// Longest note, in characters; a longer one is cut.
pub const NOTES_CHARS_MAX: usize = 500;
/// Rows that one window may yield; what comes after is rejected.
pub const ROWS_PER_WINDOW_MAX: usize = 24;

/// What all rows of one run share.
#[derive(Debug, Clone)]
pub struct RowContext {
    /// About whom.
    pub user_id: UserId,
    /// The request that triggered the run.
    pub request_id: RequestId,
    /// Its source; `None` when it named none.
    pub source: Option<String>,
    /// `None` for current rows, pending for a preview.
    pub status: Option<Status>,
    /// When the run takes place.
    pub now: EpochSeconds,
}

/// Why a draft became no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileRejection {
    /// The content is blank.
    MissingContent,
    /// The content is longer than [`PROFILE_CONTENT_CHARS_MAX`].
    ContentTooLong,
    /// The time to live is none of the six.
    UnknownTimeToLive,
    /// It cites nothing.
    MissingEvidence,
    /// It cites only what was not shown.
    UnknownEvidenceRef,
    /// It cites only turns that were learned from before.
    OnlyEarlierEvidence,
    /// It cites only words of the agent, which may repeat injected memories.
    OnlyAgentWords,
    /// A label of a turn is woven into the content.
    TurnReferenceInProse,
    /// An earlier draft of the answer says the same.
    Repeated,
    /// The answer holds more than [`ROWS_PER_WINDOW_MAX`] rows.
    TooMany,
}

impl ProfileRejection {
    /// The code in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingContent => "missing_content",
            Self::ContentTooLong => "content_too_long",
            Self::UnknownTimeToLive => "unknown_time_to_live",
            Self::MissingEvidence => "missing_evidence",
            Self::UnknownEvidenceRef => "unknown_evidence_ref",
            Self::OnlyEarlierEvidence => "only_earlier_evidence",
            Self::OnlyAgentWords => "only_agent_words",
            Self::TurnReferenceInProse => "turn_reference_in_persisted_prose",
            Self::Repeated => "repeated",
            Self::TooMany => "too_many",
        }
    }
}

/// What an answer yields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileRows {
    /// New rows, wishes to forget among them ([`super::is_removal`]): these are for deduplication, not for the store.
    pub rows: Vec<UserProfile>,
    /// How many drafts were rejected, by reason.
    pub rejected: BTreeMap<ProfileRejection, usize>,
}

/// Turns an answer into rows. A draft that does not hold is left out and counted; the others are kept.
pub fn profiles_from_answer(
    answer: &ProfileAnswer,
    shown: &EvidenceMap,
    context: &RowContext,
    mut ids: impl FnMut() -> ProfileId,
) -> ProfileRows {
    let mut outcome = ProfileRows::default();
    let mut contents = HashSet::new();
    for draft in &answer.profiles {
        let checked = check(draft, shown).and_then(|checked| {
            if outcome.rows.len() >= ROWS_PER_WINDOW_MAX {
                return Err(ProfileRejection::TooMany);
            }
            let is_first = contents.insert(checked.content.to_lowercase());
            if is_first { Ok(checked) } else { Err(ProfileRejection::Repeated) }
        });
        match checked {
            Ok(checked) => outcome.rows.push(row(draft, &checked, context, ids())),
            Err(reason) => *outcome.rejected.entry(reason).or_default() += 1,
        }
    }
    outcome
}

struct Checked<'a> {
    content: String,
    time_to_live: ProfileTimeToLive,
    cited: Resolved<'a>,
    notes: Option<String>,
}

fn check<'a>(draft: &ProfileDraft, shown: &'a EvidenceMap) -> Result<Checked<'a>, ProfileRejection> {
    let content = draft.content.as_deref().map(str::trim).unwrap_or_default();
    if content.is_empty() {
        return Err(ProfileRejection::MissingContent);
    }
    if content.chars().count() > PROFILE_CONTENT_CHARS_MAX {
        return Err(ProfileRejection::ContentTooLong);
    }
    let time_to_live =
        parse_time_to_live(draft.time_to_live.as_deref()).ok_or(ProfileRejection::UnknownTimeToLive)?;
    let cited = shown.resolve(&draft.evidence_refs);
    if cited.turns.is_empty() {
        let names_something = cited.unknown > 0;
        return Err(if names_something {
            ProfileRejection::UnknownEvidenceRef
        } else {
            ProfileRejection::MissingEvidence
        });
    }
    if !cited.any_new() {
        return Err(ProfileRejection::OnlyEarlierEvidence);
    }
    if !cited.any_beyond_agent_words() {
        return Err(ProfileRejection::OnlyAgentWords);
    }
    let content = without_labels(content, shown, &cited).ok_or(ProfileRejection::TurnReferenceInProse)?;
    if content.is_empty() {
        return Err(ProfileRejection::MissingContent);
    }
    let notes = draft.notes.as_deref().and_then(|notes| without_labels(notes, shown, &cited));
    Ok(Checked { content, time_to_live, cited, notes })
}

fn row(
    draft: &ProfileDraft,
    checked: &Checked<'_>,
    context: &RowContext,
    profile_id: ProfileId,
) -> UserProfile {
    let span = draft.source_span.as_deref().and_then(|span| checked.cited.verbatim(span));
    let span = span.filter(|span| span.chars().count() <= SOURCE_SPAN_CHARS_MAX);
    let notes = checked.notes.as_deref().map(|notes| first_chars(notes, NOTES_CHARS_MAX));
    UserProfile {
        profile_id,
        user_id: context.user_id.clone(),
        content: checked.content.clone(),
        last_modified_timestamp: context.now,
        generated_from_request_id: context.request_id.as_str().to_owned(),
        profile_time_to_live: checked.time_to_live,
        expiration_timestamp: checked.time_to_live.expiration(context.now),
        custom_features: None,
        source: context.source.clone(),
        status: context.status,
        extractor_names: None,
        expanded_terms: None,
        tags: None,
        source_interaction_ids: checked.cited.interaction_ids(),
        source_span: span.map(str::to_owned),
        notes: notes.filter(|notes| !notes.is_empty()).map(str::to_owned),
        reader_angle: None,
        merged_into: None,
        superseded_by: None,
        created_at: context.now,
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
