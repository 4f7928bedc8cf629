//! `POST /api/get_requests`, `GET /api/learning_status`, `POST /api/finalize_session`.

use serde_json::Value;

use super::shared::{as_count, count, user_filter};
use crate::ids::{SessionId, UserId};
use crate::validation::rules::{self, Bounds};
use crate::validation::{TimeRange, ValidationErrors, query_object, read_body, read_query};

/// Which sessions to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetRequests {
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only this request.
    pub request_id: Option<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only received within these times.
    pub time: TimeRange,
    /// Most sessions.
    pub top_k: usize,
    /// Sessions to pass over.
    pub offset: usize,
}

impl GetRequests {
    /// Sessions of a page when the caller does not say.
    pub const TOP_K: i64 = 30;
    /// Sessions of a page when the caller says `null`.
    pub const TOP_K_NULL: i64 = 100;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.nullable("user_id", user_filter);
                let request_id = fields.nullable("request_id", rules::text);
                let session_id = fields.nullable("session_id", rules::text);
                let source = fields.nullable("source", rules::source_label);
                let time = TimeRange::read(fields);
                let top_k = count(fields, "top_k", Self::TOP_K, Self::TOP_K_NULL);
                let offset = fields.nullable_or("offset", Some(0), rules::integer(Bounds::<i64>::from(0)));
                Some(Self {
                    user_id: user_id?.flatten(),
                    request_id: request_id?,
                    session_id: session_id?,
                    source: source?,
                    time: time?,
                    top_k: top_k?,
                    offset: as_count(offset?.unwrap_or(0)),
                })
            },
            |read| read.time.check(),
        )
    }
}

/// Whose learning status is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningStatusQuery {
    /// The request.
    pub request_id: String,
}

impl LearningStatusQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// [`ValidationErrors`] when the parameter is missing.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        let request_id = read_query(&query, |fields| fields.required("request_id", rules::text))?;
        Ok(Self { request_id })
    }
}

/// Which session is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalizeSession {
    /// Whose.
    pub user_id: UserId,
    /// Which.
    pub session_id: SessionId,
}

impl FinalizeSession {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.required("user_id", rules::identifier(UserId::new));
                let session_id = fields.required("session_id", rules::identifier(SessionId::new));
                Some(Self { user_id: user_id?, session_id: session_id? })
            },
            |_| Ok(()),
        )
    }
}
