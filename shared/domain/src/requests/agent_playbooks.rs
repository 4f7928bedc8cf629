//! Agent playbooks: lists, direct writes, approval, and the aggregations that make them.

use serde_json::Value;

use super::choices::WireStatus;
use super::playbooks::read_issue;
use super::profiles::embedding;
use super::shared::{StatusFilter, count, status_filter, tags};
use crate::entities::{AgentPlaybook, PlaybookStatus};
use crate::validation::rules::{self, Bounds, POSITIVE};
use crate::validation::{
    Faults, Fields, Path, TimeRange, ValidationErrors, object, query_object, read_body, read_query,
};

/// Most agent playbooks of one call. Ours; the contract names no limit.
pub const AGENT_PLAYBOOKS_MAX: usize = 1_000;
/// Longest request id and agent version of an aggregation, in characters.
pub const AGGREGATION_ID_CHARS_MAX: usize = 200;
/// The name of what aggregation makes.
pub const PLAYBOOK_NAME_DEFAULT: &str = "playbook";

/// Which agent playbooks to list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GetAgentPlaybooks {
    /// Most playbooks.
    pub limit: usize,
    /// Only this one.
    pub agent_playbook_id: Option<i64>,
    /// Only those that hold this text, in any case.
    pub query: Option<String>,
    /// Only of this name.
    pub playbook_name: Option<String>,
    /// Only for this agent version.
    pub agent_version: Option<String>,
    /// Only written within these times.
    pub time: TimeRange,
    /// Only with one of these statuses; current ones by default.
    pub status_filter: StatusFilter,
    /// Only with this approval.
    pub playbook_status_filter: Option<PlaybookStatus>,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
}

impl GetAgentPlaybooks {
    /// Playbooks when the caller does not say.
    pub const LIMIT: i64 = 100;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, Self::read, |read| read.time.check())
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let limit = count(fields, "limit", Self::LIMIT, Self::LIMIT);
        let agent_playbook_id = fields.nullable("agent_playbook_id", rules::integer(POSITIVE));
        let query = fields.nullable("query", rules::text);
        let playbook_name = fields.nullable("playbook_name", rules::text);
        let agent_version = fields.nullable("agent_version", rules::text);
        let time = TimeRange::read(fields);
        let status_filter = status_filter(fields);
        let playbook_status_filter = fields.nullable("playbook_status_filter", rules::choice);
        let tags = tags(fields);
        // Accepted for their callers; they have no effect on the answer.
        let request_id = fields.nullable("request_id", rules::text);
        let session_id = fields.nullable("session_id", rules::text);
        request_id?;
        session_id?;
        Some(Self {
            limit: limit?,
            agent_playbook_id: agent_playbook_id?,
            query: query?,
            playbook_name: playbook_name?,
            agent_version: agent_version?,
            time: time?,
            status_filter: status_filter?,
            playbook_status_filter: playbook_status_filter?,
            tags: tags?,
        })
    }
}

/// Agent playbooks that the caller writes.
#[derive(Debug, Clone, PartialEq)]
pub struct AddAgentPlaybooks {
    /// One to [`AGENT_PLAYBOOKS_MAX`]. Ids and times are given on insert, whatever the caller sent.
    pub agent_playbooks: Vec<AgentPlaybook>,
}

impl AddAgentPlaybooks {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let all = rules::list(1, AGENT_PLAYBOOKS_MAX, read_playbook);
        let agent_playbooks = read_body(body, |fields| fields.required("agent_playbooks", all), |_| Ok(()))?;
        Ok(Self { agent_playbooks })
    }
}

fn read_playbook<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<AgentPlaybook> {
    object(None, value, at, faults, playbook_fields, |_| Ok(()))
}

/// Seven members are kept; the others must be right and are dropped.
fn playbook_fields(fields: &mut Fields<'_, '_>) -> Option<AgentPlaybook> {
    let any = rules::integer(Bounds::NONE);
    let id = fields.optional("agent_playbook_id", 0, &any);
    let playbook_name = fields.optional("playbook_name", String::new(), rules::text);
    let agent_version = fields.required("agent_version", rules::text);
    let created_at = fields.optional("created_at", 0, &any);
    let content = fields.required("content", rules::text);
    let trigger = fields.nullable("trigger", rules::text);
    let rationale = fields.nullable("rationale", rules::text);
    let blocking_issue = fields.nullable("blocking_issue", read_issue);
    let playbook_status = fields.optional("playbook_status", PlaybookStatus::Pending, rules::choice);
    let playbook_metadata = fields.optional("playbook_metadata", String::new(), rules::text);
    let expanded_terms = fields.nullable("expanded_terms", rules::text);
    let tags = tags(fields);
    let embedding = embedding(fields);
    let status = fields.nullable("status", rules::choice::<WireStatus>);
    let merged_into = fields.nullable("merged_into", &any);
    let superseded_by = fields.nullable("superseded_by", &any);
    id?;
    created_at?;
    blocking_issue?;
    expanded_terms?;
    tags?;
    embedding?;
    status?;
    merged_into?;
    superseded_by?;
    Some(AgentPlaybook {
        agent_playbook_id: 0,
        playbook_name: playbook_name?,
        agent_version: agent_version?,
        created_at: 0,
        content: content?,
        trigger: trigger?,
        rationale: rationale?,
        blocking_issue: None,
        playbook_status: playbook_status?,
        playbook_metadata: playbook_metadata?,
        expanded_terms: None,
        tags: None,
        status: None,
        merged_into: None,
        superseded_by: None,
    })
}

/// Whether people approve of an agent playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdatePlaybookStatus {
    /// Of which.
    pub agent_playbook_id: i64,
    /// Whether they do.
    pub playbook_status: PlaybookStatus,
}

impl UpdatePlaybookStatus {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut Fields<'_, '_>| {
            let agent_playbook_id = fields.required("agent_playbook_id", rules::integer(POSITIVE));
            let playbook_status = fields.required("playbook_status", rules::choice);
            Some(Self { agent_playbook_id: agent_playbook_id?, playbook_status: playbook_status? })
        };
        read_body(body, read, |_| Ok(()))
    }
}

/// An aggregation that the caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAggregation {
    /// Of which agent version; blank is the default one.
    pub agent_version: Option<String>,
}

impl RunAggregation {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut Fields<'_, '_>| {
            let agent_version = fields.optional("agent_version", String::new(), rules::text);
            // Accepted for its callers: it selects nothing.
            let playbook_name =
                fields.optional("playbook_name", PLAYBOOK_NAME_DEFAULT.to_owned(), rules::text);
            playbook_name?;
            let agent_version = agent_version?;
            let is_blank = agent_version.trim().is_empty();
            Some(Self { agent_version: (!is_blank).then(|| agent_version.trim().to_owned()) })
        };
        read_body(body, read, |_| Ok(()))
    }
}

/// An aggregation that the caller looks for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitAggregation {
    /// The caller's id: a repeat is the same operation.
    pub request_id: String,
    /// Of which agent version.
    pub agent_version: String,
}

impl SubmitAggregation {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut Fields<'_, '_>| {
            let request_id = fields.required("request_id", word);
            let agent_version = fields.required("agent_version", word);
            Some(Self { request_id: request_id?, agent_version: agent_version? })
        };
        read_body(body, read, |_| Ok(()))
    }
}

/// A text of 1 to [`AGGREGATION_ID_CHARS_MAX`] characters that is not blank.
fn word<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let text = rules::sized(1, AGGREGATION_ID_CHARS_MAX)(value, at, faults)?;
    if text.trim().is_empty() {
        rules::pattern_mismatch(".*\\S.*", value, at, faults);
        return None;
    }
    Some(text)
}

/// Whose changes are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregationChangesQuery {
    /// The name of the playbooks.
    pub playbook_name: String,
    /// Of which agent version.
    pub agent_version: String,
}

impl AggregationChangesQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// [`ValidationErrors`] when a parameter is missing.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        read_query(&query, |fields| {
            let playbook_name = fields.required("playbook_name", rules::text);
            let agent_version = fields.required("agent_version", rules::text);
            Some(Self { playbook_name: playbook_name?, agent_version: agent_version? })
        })
    }
}
