//! The search routes.

mod agent_playbooks;
mod unified;

use serde_json::Value;

pub use agent_playbooks::SearchAgentPlaybooks;
pub use unified::{ConversationTurn, UnifiedSearch};

use super::choices::SearchMode;
use super::shared::{SEARCH_ID_CHARS_MAX, StatusFilter, as_count, count, searched_user, status_filter, tags};
use crate::ids::UserId;
use crate::validation::rules::{self, POSITIVE, UNIT_INTERVAL};
use crate::validation::{Fields, TimeRange, ValidationErrors, read_body};

/// Most results of the searches that have a limit.
pub const TOP_K_MAX: i64 = 100;

fn threshold(fields: &mut Fields<'_, '_>) -> Option<Option<f64>> {
    fields.nullable("threshold", rules::number(UNIT_INTERVAL))
}

fn flag(fields: &mut Fields<'_, '_>, name: &str) -> Option<bool> {
    fields.nullable_or(name, Some(false), rules::boolean).map(|flag| flag.unwrap_or(false))
}

fn mode(fields: &mut Fields<'_, '_>) -> Option<SearchMode> {
    fields.optional("search_mode", SearchMode::Hybrid, rules::choice)
}

fn bounded_count(fields: &mut Fields<'_, '_>, default: i64) -> Option<usize> {
    let count = fields.nullable_or("top_k", Some(default), rules::integer(POSITIVE.to(TOP_K_MAX)));
    count.map(|count| as_count(count.unwrap_or(default)))
}

/// `POST /api/search_profiles`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchProfiles {
    /// Whose.
    pub user_id: UserId,
    /// Only learned from this request.
    pub generated_from_request_id: Option<String>,
    /// The request on whose behalf is searched.
    pub request_id: Option<String>,
    /// The session on whose behalf is searched.
    pub session_id: Option<String>,
    /// What to look for; without it the last modified come first.
    pub query: Option<String>,
    /// Only modified within these times.
    pub time: TimeRange,
    /// Most profiles.
    pub top_k: usize,
    /// Only from this source.
    pub source: Option<String>,
    /// Only with this text in their extra data.
    pub custom_feature: Option<String>,
    /// Only of this extractor.
    pub extractor_name: Option<String>,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
    /// Only more similar than this, 0 to 1; the model's own threshold otherwise.
    pub threshold: Option<f64>,
    /// Rewrite the query first.
    pub enable_reformulation: bool,
    /// How to rank.
    pub search_mode: SearchMode,
}

impl SearchProfiles {
    /// Profiles when the caller does not say.
    pub const TOP_K: i64 = 10;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, Self::read, |read| read.time.check())
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let user_id = fields.required("user_id", rules::identifier(UserId::new));
        let generated_from_request_id = fields.nullable("generated_from_request_id", rules::text);
        let request_id = fields.nullable("request_id", rules::text);
        let session_id = fields.nullable("session_id", rules::text);
        let query = fields.nullable("query", rules::text);
        let time = TimeRange::read(fields);
        let top_k = count(fields, "top_k", Self::TOP_K, Self::TOP_K);
        let source = fields.nullable("source", rules::source_label);
        let custom_feature = fields.nullable("custom_feature", rules::text);
        let extractor_name = fields.nullable("extractor_name", rules::text);
        let tags = tags(fields);
        let threshold = threshold(fields);
        let enable_reformulation = flag(fields, "enable_reformulation");
        let search_mode = mode(fields);
        Some(Self {
            user_id: user_id?,
            generated_from_request_id: generated_from_request_id?,
            request_id: request_id?,
            session_id: session_id?,
            query: query?,
            time: time?,
            top_k: top_k?,
            source: source?,
            custom_feature: custom_feature?,
            extractor_name: extractor_name?,
            tags: tags?,
            threshold: threshold?,
            enable_reformulation: enable_reformulation?,
            search_mode: search_mode?,
        })
    }
}

/// `POST /api/search_interactions`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchInteractions {
    /// Whose.
    pub user_id: UserId,
    /// Only of this request.
    pub request_id: Option<String>,
    /// What to look for.
    pub query: Option<String>,
    /// Only within these times.
    pub time: TimeRange,
    /// Most interactions.
    pub top_k: Option<usize>,
    /// Without a query: the newest of this number, oldest first.
    pub most_recent_k: Option<usize>,
    /// Only more similar than this, 0 to 1; the model's own threshold otherwise.
    pub threshold: Option<f64>,
    /// How to rank.
    pub search_mode: SearchMode,
}

impl SearchInteractions {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, Self::read, |read| read.time.check())
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let user_id = fields.required("user_id", rules::identifier(UserId::new));
        let request_id = fields.nullable("request_id", rules::text);
        let query = fields.nullable("query", rules::text);
        let time = TimeRange::read(fields);
        let top_k = fields.nullable("top_k", rules::integer(POSITIVE));
        let most_recent_k = fields.nullable("most_recent_k", rules::integer(POSITIVE));
        let threshold = threshold(fields);
        let search_mode = mode(fields);
        Some(Self {
            user_id: user_id?,
            request_id: request_id?,
            query: query?,
            time: time?,
            top_k: top_k?.map(as_count),
            most_recent_k: most_recent_k?.map(as_count),
            threshold: threshold?,
            search_mode: search_mode?,
        })
    }
}

/// `POST /api/search_user_playbooks`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchUserPlaybooks {
    /// What to look for; without it the newest come first.
    pub query: Option<String>,
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only for this agent version.
    pub agent_version: Option<String>,
    /// Only of this name.
    pub playbook_name: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only written within these times.
    pub time: TimeRange,
    /// Only with one of these statuses; all but tombstones by default.
    pub status_filter: StatusFilter,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
    /// Most playbooks.
    pub top_k: usize,
    /// Only more similar than this, 0 to 1; the model's own threshold otherwise.
    pub threshold: Option<f64>,
    /// Rewrite the query first.
    pub enable_reformulation: bool,
    /// How to rank.
    pub search_mode: SearchMode,
    /// The request on whose behalf is searched.
    pub request_id: Option<String>,
    /// The session on whose behalf is searched.
    pub session_id: Option<String>,
}

impl SearchUserPlaybooks {
    /// Playbooks when the caller does not say.
    pub const TOP_K: i64 = 10;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, Self::read, |read| read.time.check())
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let query = fields.nullable("query", rules::text);
        let user_id = fields.nullable("user_id", searched_user);
        let agent_version = fields.nullable("agent_version", rules::text);
        let playbook_name = fields.nullable("playbook_name", rules::text);
        let source = fields.nullable("source", rules::source_label);
        let time = TimeRange::read(fields);
        let status_filter = status_filter(fields);
        let tags = tags(fields);
        let top_k = bounded_count(fields, Self::TOP_K);
        let threshold = threshold(fields);
        let enable_reformulation = flag(fields, "enable_reformulation");
        let search_mode = mode(fields);
        let request_id = fields.nullable("request_id", rules::bounded(SEARCH_ID_CHARS_MAX));
        let session_id = fields.nullable("session_id", rules::bounded(SEARCH_ID_CHARS_MAX));
        Some(Self {
            query: query?,
            user_id: user_id?.flatten(),
            agent_version: agent_version?,
            playbook_name: playbook_name?,
            source: source?,
            time: time?,
            status_filter: status_filter?,
            tags: tags?,
            top_k: top_k?,
            threshold: threshold?,
            enable_reformulation: enable_reformulation?,
            search_mode: search_mode?,
            request_id: request_id?,
            session_id: session_id?,
        })
    }
}
