//! `POST /api/search_agent_playbooks`.

use serde_json::Value;

use super::{mode, threshold};
use crate::entities::PlaybookStatus;
use crate::ids::UserId;
use crate::requests::choices::SearchMode;
use crate::requests::shared::{StatusFilter, count, status_filter, tags};
use crate::validation::rules::{self, Choice};
use crate::validation::{Faults, Fields, Path, TimeRange, ValidationErrors, read_body};

/// What to look for among agent playbooks.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAgentPlaybooks {
    /// What to look for; without it the newest come first.
    pub query: Option<String>,
    /// On whose behalf is searched; agent playbooks belong to nobody.
    pub user_id: Option<UserId>,
    /// Only for this agent version.
    pub agent_version: Option<String>,
    /// Only of this name.
    pub playbook_name: Option<String>,
    /// Only written within these times.
    pub time: TimeRange,
    /// Only with one of these statuses; current and pending ones by default.
    pub status_filter: StatusFilter,
    /// Only with one of these approvals; any by default.
    pub playbook_status_filter: Option<Vec<PlaybookStatus>>,
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

impl SearchAgentPlaybooks {
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
        let user_id = fields.nullable("user_id", rules::identifier(UserId::new));
        let agent_version = fields.nullable("agent_version", rules::text);
        let playbook_name = fields.nullable("playbook_name", rules::text);
        let source = fields.nullable("source", rules::source_label);
        let time = TimeRange::read(fields);
        let status_filter = status_filter(fields);
        let playbook_status_filter = fields.nullable("playbook_status_filter", approvals);
        let tags = tags(fields);
        let top_k = count(fields, "top_k", Self::TOP_K, Self::TOP_K);
        let threshold = threshold(fields);
        let enable_reformulation = super::flag(fields, "enable_reformulation");
        let search_mode = mode(fields);
        let request_id = fields.nullable("request_id", rules::text);
        let session_id = fields.nullable("session_id", rules::text);
        // Accepted for its callers: what is made of many users' playbooks has no source.
        source?;
        Some(Self {
            query: query?,
            user_id: user_id?,
            agent_version: agent_version?,
            playbook_name: playbook_name?,
            time: time?,
            status_filter: status_filter?,
            playbook_status_filter: playbook_status_filter?.filter(|list| !list.is_empty()),
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

/// One approval or a list of them. It is a union of two arms, and so each arm reports why it does not fit.
fn approvals<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Vec<PlaybookStatus>> {
    let list = rules::list(0, usize::MAX, rules::choice::<PlaybookStatus>);
    let known = |value: &Value| {
        value.as_str().is_some_and(|text| PlaybookStatus::WORDS.iter().any(|(word, _)| *word == text))
    };
    if known(value) {
        return rules::choice(value, at, faults).map(|status| vec![status]);
    }
    if let Value::Array(items) = value
        && items.iter().all(known)
    {
        return list(value, at, faults);
    }
    rules::choice::<PlaybookStatus>(value, at.name("str-enum[PlaybookStatus]"), faults);
    list(value, at.name("list[str-enum[PlaybookStatus]]"), faults);
    None
}
