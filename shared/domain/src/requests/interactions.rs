//! `POST /api/get_interactions`, `GET /api/get_all_interactions`.

use serde_json::Value;

use super::shared::{as_count, count};
use crate::ids::UserId;
use crate::validation::rules::{self, Bounds};
use crate::validation::{TimeRange, ValidationErrors, query_object, read_body, read_query};

/// Which interactions of a user to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetInteractions {
    /// Whose.
    pub user_id: UserId,
    /// Only within these times.
    pub time: TimeRange,
    /// Most interactions.
    pub top_k: usize,
}

impl GetInteractions {
    /// Interactions when the caller does not say.
    pub const TOP_K: i64 = 30;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.required("user_id", rules::identifier(UserId::new));
                let time = TimeRange::read(fields);
                let top_k = count(fields, "top_k", Self::TOP_K, Self::TOP_K);
                Some(Self { user_id: user_id?, time: time?, top_k: top_k? })
            },
            |read| read.time.check(),
        )
    }
}

/// How many interactions of all users to list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetAllInteractions {
    /// Most interactions; `None` is all of them.
    pub limit: Option<usize>,
}

impl GetAllInteractions {
    /// Interactions when the caller does not say.
    pub const LIMIT: i64 = 100;

    /// Reads a query string; a negative limit means all.
    ///
    /// # Errors
    /// [`ValidationErrors`] when the limit is no number.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        let limit =
            read_query(&query, |fields| fields.optional("limit", Self::LIMIT, rules::integer(Bounds::NONE)))?;
        Ok(Self { limit: (limit >= 0).then(|| as_count(limit)) })
    }
}
