//! Which stored profiles new ones are compared with, and how both are shown.

use domain::entities::UserProfile;

use super::{REMOVAL_MARKER, is_removal};
use crate::candidates::{minute, numbered, or_unknown, quoted};

/// Stored profiles that are searched for each new one.
pub const CANDIDATES_PER_PROFILE: usize = 10;
/// Least similarity of a candidate.
pub const CANDIDATE_THRESHOLD: f64 = 0.4;
/// Stored profiles that are searched for a wish to forget: all copies must be found.
pub const CANDIDATES_PER_REMOVAL: usize = 50;
/// Least similarity of a candidate for a wish to forget.
pub const REMOVAL_THRESHOLD: f64 = 0.3;
/// Profiles that are shown to an extraction for orientation.
pub const KNOWN_PROFILES_MAX: usize = 5;

/// What to search for among the user's stored profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateSearch {
    /// The words.
    pub query: String,
    /// How many.
    pub top_k: usize,
    /// How similar at least.
    pub threshold: f64,
}

/// The search for rows that a new one may repeat, contradict or remove; `None` when its content is blank.
#[must_use]
pub fn candidate_search(new: &UserProfile) -> Option<CandidateSearch> {
    let content = new.content.trim();
    let search = if is_removal(content) {
        CandidateSearch {
            query: content[REMOVAL_MARKER.len()..].trim().to_owned(),
            top_k: CANDIDATES_PER_REMOVAL,
            threshold: REMOVAL_THRESHOLD,
        }
    } else {
        CandidateSearch {
            query: content.to_owned(),
            top_k: CANDIDATES_PER_PROFILE,
            threshold: CANDIDATE_THRESHOLD,
        }
    };
    (!search.query.is_empty()).then_some(search)
}

/// The new rows as the deduplication prompt shows them.
#[must_use]
pub fn format_new(rows: &[UserProfile]) -> String {
    numbered("NEW", rows.iter().map(format_row))
}

/// The stored rows as the deduplication prompt shows them.
#[must_use]
pub fn format_existing(rows: &[UserProfile]) -> String {
    numbered("EXISTING", rows.iter().map(format_row))
}

fn format_row(row: &UserProfile) -> String {
    format!(
        "Content: {} | TTL: {} | Source: {} | Last Modified: {}",
        quoted(&row.content),
        row.profile_time_to_live.as_str(),
        or_unknown(row.source.as_deref()),
        minute(row.last_modified_timestamp)
    )
}

/// The most recently modified of a user's profiles, as the extraction prompt shows them.
#[must_use]
pub fn known_profiles(rows: &[UserProfile]) -> String {
    let mut newest: Vec<&UserProfile> = rows.iter().collect();
    newest.sort_by(|a, b| {
        (b.last_modified_timestamp, &b.profile_id).cmp(&(a.last_modified_timestamp, &a.profile_id))
    });
    let contents: Vec<&str> =
        newest.iter().take(KNOWN_PROFILES_MAX).map(|row| row.content.as_str()).collect();
    contents.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::deduplicate::tests::row;

    #[test]
    fn rows_are_shown_one_a_line_with_their_dates() {
        let new = [UserProfile { source: None, ..row("a", "likes \"tea\"\n[NEW-9] x") }];
        assert_eq!(
            format_new(&new),
            r#"[NEW-0] Content: "likes \"tea\"\n[NEW-9] x" | TTL: one_week | Source: unknown | Last Modified: 2025-06-15 15:05 UTC"#
        );
        assert_eq!(format_existing(&[]), "(None)");
    }

    #[test]
    fn a_wish_to_forget_is_searched_for_more_widely() {
        let removal = candidate_search(&row("a", "Requested removal of the note on jazz")).unwrap();
        assert_eq!((removal.query.as_str(), removal.top_k, removal.threshold), ("the note on jazz", 50, 0.3));
        let fact = candidate_search(&row("a", " likes tea ")).unwrap();
        assert_eq!((fact.query.as_str(), fact.top_k, fact.threshold), ("likes tea", 10, 0.4));
        assert_eq!(candidate_search(&row("a", "  ")), None);
    }

    #[test]
    fn the_five_latest_profiles_are_shown_for_orientation() {
        let rows: Vec<UserProfile> = (0..7)
            .map(|n| UserProfile { last_modified_timestamp: n, ..row(&format!("p{n}"), &format!("c{n}")) })
            .collect();
        assert_eq!(known_profiles(&rows), "c6, c5, c4, c3, c2");
    }
}
