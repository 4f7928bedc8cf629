//! `POST /api/get_retrieved_learning_evaluation_results`.

use serde_json::Value;

use super::shared::{as_count, user_filter};
use crate::ids::{SessionId, UserId};
use crate::validation::rules::{self, Bounds};
use crate::validation::{Faults, Path, TimeRange, ValidationErrors, read_body};

/// Which verdicts on learnings to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetRetrievedLearningResults {
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only of this session.
    pub session_id: Option<SessionId>,
    /// Only on learnings of interactions within these times; with one of them, the latest interaction comes first.
    pub time: TimeRange,
    /// Most verdicts.
    pub limit: usize,
}

impl GetRetrievedLearningResults {
    /// Verdicts when the caller does not say.
    pub const LIMIT: i64 = 100;
    /// Most verdicts of one answer.
    pub const LIMIT_MAX: i64 = 1_000;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.nullable("user_id", user_filter);
                let session_id = fields.nullable("session_id", session_filter);
                let time = TimeRange::read(fields);
                let bounds = Bounds::<i64>::from(1).to(Self::LIMIT_MAX);
                let limit = fields.optional("limit", Self::LIMIT, rules::integer(bounds));
                Some(Self {
                    user_id: user_id?.flatten(),
                    session_id: session_id?.flatten(),
                    time: time?,
                    limit: as_count(limit?),
                })
            },
            |read| read.time.check(),
        )
    }
}

/// A session to filter by; blank text filters by none.
fn session_filter<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Option<SessionId>> {
    let text = rules::bounded(rules::IDENTIFIER_CHARS_MAX)(value, at, faults)?;
    Some(SessionId::new(&text).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_required_and_the_limit_has_its_bounds() {
        let read = GetRetrievedLearningResults::parse(&json!({})).unwrap();
        assert_eq!((read.user_id, read.session_id, read.limit), (None, None, 100));
        for (limit, is_fine) in
            [(-1, false), (0, false), (1, true), (2, true), (999, true), (1_000, true), (1_001, false)]
        {
            let read = GetRetrievedLearningResults::parse(&json!({ "limit": limit }));
            assert_eq!(read.is_ok(), is_fine, "{limit}");
        }
    }

    #[test]
    fn an_end_that_is_not_after_the_start_is_refused() {
        for (end, is_fine) in [(99, false), (100, false), (101, true)] {
            let body = json!({ "start_time": 100, "end_time": end });
            assert_eq!(GetRetrievedLearningResults::parse(&body).is_ok(), is_fine, "{end}");
        }
    }
}
