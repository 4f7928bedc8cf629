//! Members that several routes have.

use serde_json::Value;

use super::choices::WireStatus;
use crate::entities::Status;
use crate::ids::UserId;
use crate::validation::rules::{self, POSITIVE};
use crate::validation::{Faults, Fields, Path};

/// Longest user, request or session id in searches, in characters.
pub(super) const SEARCH_ID_CHARS_MAX: usize = 255;

/// Statuses to look for; `None` in the list is the current version. No list is the default filter.
pub type StatusFilter = Option<Vec<Option<Status>>>;

/// Reads `status_filter`; an empty list counts as none.
pub(super) fn status_filter(fields: &mut Fields<'_, '_>) -> Option<StatusFilter> {
    let statuses = fields
        .nullable("status_filter", rules::list(0, usize::MAX, rules::nullable(rules::choice::<WireStatus>)));
    let statuses = statuses?.filter(|list| !list.is_empty());
    Some(statuses.map(|list| list.into_iter().map(|status| status.and_then(|word| word.0)).collect()))
}

/// Reads `tags`.
pub(super) fn tags(fields: &mut Fields<'_, '_>) -> Option<Option<Vec<String>>> {
    fields.nullable("tags", rules::texts)
}

/// Reads a count of results; an explicit `null` means `when_null`.
pub(super) fn count(fields: &mut Fields<'_, '_>, name: &str, default: i64, when_null: i64) -> Option<usize> {
    let count = fields.nullable_or(name, Some(default), rules::integer(POSITIVE));
    count.map(|count| as_count(count.unwrap_or(when_null)))
}

/// A count from a number; negative ones are none.
pub(super) fn as_count(number: i64) -> usize {
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}

/// A user to filter by; blank text filters by nobody.
pub(super) fn user_filter<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<Option<UserId>> {
    let text = rules::bounded(rules::IDENTIFIER_CHARS_MAX)(value, at, faults)?;
    Some(UserId::new(&text).ok())
}

/// The same for searches, which know shorter ids only.
pub(super) fn searched_user<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<Option<UserId>> {
    let text = rules::bounded(SEARCH_ID_CHARS_MAX)(value, at, faults)?;
    Some(UserId::new(&text).ok())
}
