//! Filters that several list and search routes share.

use domain::entities::{AgentPlaybook, Status, UserPlaybook, UserProfile};
use domain::errors::ApiError;
use domain::requests::StatusFilter;
use domain::time::EpochSeconds;

/// Whether a row's status is asked for; no list asks for `default`.
pub(crate) fn has_status(
    filter: &StatusFilter,
    status: Option<Status>,
    default: impl Fn(Option<Status>) -> bool,
) -> bool {
    match filter {
        Some(wanted) => wanted.contains(&status),
        None => default(status),
    }
}

/// Whether a row has any of the tags asked for.
pub(crate) fn has_tag(wanted: Option<&Vec<String>>, tags: Option<&Vec<String>>) -> bool {
    wanted.is_none_or(|wanted| {
        wanted.is_empty() || tags.is_some_and(|tags| tags.iter().any(|tag| wanted.contains(tag)))
    })
}

/// Whether a text asked for, if any, equals a row's.
pub(crate) fn equals(wanted: Option<&String>, value: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| value == Some(wanted.as_str()))
}

/// Whether any of the texts holds the needle, whatever the case.
pub(crate) fn contains_any<'a>(needle: Option<&String>, texts: impl IntoIterator<Item = &'a str>) -> bool {
    let Some(needle) = needle.map(|needle| needle.to_lowercase()) else { return true };
    texts.into_iter().any(|text| text.to_lowercase().contains(&needle))
}

/// A profile that is true now and in its current version.
pub(crate) fn is_live(profile: &UserProfile, now: EpochSeconds) -> bool {
    profile.status.is_none() && profile.expiration_timestamp >= now
}

/// The texts of a playbook that a list's `query` looks in.
pub(crate) fn playbook_texts(playbook: &UserPlaybook) -> impl Iterator<Item = &str> {
    [
        Some(playbook.content.as_str()),
        playbook.trigger.as_deref(),
        playbook.rationale.as_deref(),
        Some(playbook.request_id.as_str()),
        Some(playbook.playbook_name.as_str()),
        playbook.user_id.as_ref().map(domain::ids::UserId::as_str),
    ]
    .into_iter()
    .flatten()
}

/// The texts of an agent playbook that a list's `query` looks in.
pub(crate) fn agent_playbook_texts(playbook: &AgentPlaybook) -> impl Iterator<Item = &str> {
    [
        Some(playbook.content.as_str()),
        playbook.trigger.as_deref(),
        playbook.rationale.as_deref(),
        Some(playbook.playbook_name.as_str()),
    ]
    .into_iter()
    .flatten()
}

/// Refuses rows that no item could hold, before any is written.
pub(crate) fn check_sizes<'a, T: serde::Serialize + 'a>(
    field: &str,
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<(), ApiError> {
    rows.into_iter().enumerate().try_for_each(|(index, row)| check_size(&format!("{field}[{index}]"), row))
}

/// Refuses a row that is too large to be stored, and names the field.
pub(crate) fn check_size<T: serde::Serialize>(field: &str, row: &T) -> Result<(), ApiError> {
    let bytes = serde_json::to_vec(row).map_or(usize::MAX, |bytes| bytes.len());
    let limit = store::ROW_BYTES_MAX;
    if bytes > limit {
        return Err(ApiError::unprocessable(&format!("{field} is larger than {limit} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_refused_above_its_limit_and_named() {
        let row = |bytes: usize| "x".repeat(bytes - 2);
        let limit = store::ROW_BYTES_MAX;
        assert!(check_sizes("rows", &[row(limit - 1), row(limit)]).is_ok());
        let refused = check_sizes("rows", &[row(limit), row(limit + 1)]).unwrap_err();
        assert_eq!(refused.status, 422);
        assert!(refused.detail.contains("rows[1]"), "{}", refused.detail);
    }
}
