//! `POST /api/get_user_playbooks`, `POST /api/add_user_playbook`.

use serde_json::Value;

use super::choices::WireStatus;
use super::profiles::{embedding, source_interaction_ids};
use super::shared::{StatusFilter, count, status_filter, tags, user_filter};
use crate::entities::{BlockingIssue, UserPlaybook};
use crate::ids::UserId;
use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds, POSITIVE};
use crate::validation::{
    Faults, Fields, Path, TimeRange, ValidationErrors, object, read_body, written_epoch,
};

/// Most user playbooks of one call.
pub const USER_PLAYBOOKS_MAX: usize = 1_000;

/// Which user playbooks to list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GetUserPlaybooks {
    /// Most playbooks.
    pub limit: usize,
    /// Only this one.
    pub user_playbook_id: Option<i64>,
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only from this request.
    pub request_id: Option<String>,
    /// Only those that hold this text, in any case.
    pub query: Option<String>,
    /// Only of this name.
    pub playbook_name: Option<String>,
    /// Only for this agent version.
    pub agent_version: Option<String>,
    /// Only written within these times.
    pub time: TimeRange,
    /// Only with one of these statuses; all but tombstones by default.
    pub status_filter: StatusFilter,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
}

impl GetUserPlaybooks {
    /// Playbooks when the caller does not say.
    pub const LIMIT: i64 = 100;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let limit = count(fields, "limit", Self::LIMIT, Self::LIMIT);
                let user_playbook_id = fields.nullable("user_playbook_id", rules::integer(POSITIVE));
                let user_id = fields.nullable("user_id", user_filter);
                let request_id = fields.nullable("request_id", rules::text);
                let query = fields.nullable("query", rules::text);
                let playbook_name = fields.nullable("playbook_name", rules::text);
                let agent_version = fields.nullable("agent_version", rules::text);
                let time = TimeRange::read(fields);
                let status_filter = status_filter(fields);
                let tags = tags(fields);
                Some(Self {
                    limit: limit?,
                    user_playbook_id: user_playbook_id?,
                    user_id: user_id?.flatten(),
                    request_id: request_id?,
                    query: query?,
                    playbook_name: playbook_name?,
                    agent_version: agent_version?,
                    time: time?,
                    status_filter: status_filter?,
                    tags: tags?,
                })
            },
            |read| read.time.check(),
        )
    }
}

/// User playbooks that the caller writes.
#[derive(Debug, Clone, PartialEq)]
pub struct AddUserPlaybooks {
    /// One to [`USER_PLAYBOOKS_MAX`], each with its time if the caller gave one. Ids are given on insert,
    /// whatever the caller sent.
    pub user_playbooks: Vec<(UserPlaybook, Option<EpochSeconds>)>,
}

impl AddUserPlaybooks {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let all = rules::list(1, USER_PLAYBOOKS_MAX, read_playbook);
        let user_playbooks =
            read_body(body, |fields| fields.required("user_playbooks", all), |all| check(all))?;
        Ok(Self { user_playbooks })
    }
}

fn check(playbooks: &[Written]) -> Result<(), String> {
    let blank = |text: &str| text.trim().is_empty();
    let nothing = |row: &UserPlaybook| blank(&row.content) && row.trigger.as_deref().is_none_or(blank);
    match playbooks.iter().position(|(row, _)| nothing(row)) {
        Some(index) => {
            Err(format!("user_playbooks[{index}]: at least one of content or trigger must be provided"))
        }
        None => Ok(()),
    }
}

type Written = (UserPlaybook, Option<EpochSeconds>);

fn read_playbook<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Written> {
    object(None, value, at, faults, playbook_fields, |_| Ok(()))
}

pub(super) fn read_issue<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<BlockingIssue> {
    object(
        None,
        value,
        at,
        faults,
        |fields| {
            let kind = fields.required("kind", rules::choice);
            let details = fields.required("details", rules::text);
            Some(BlockingIssue { kind: kind?, details: details? })
        },
        |_| Ok(()),
    )
}

fn playbook_fields(fields: &mut Fields<'_, '_>) -> Option<Written> {
    let any = rules::integer(Bounds::NONE);
    let id = fields.optional("user_playbook_id", 0, &any);
    let user_id = fields.nullable("user_id", user_filter);
    let agent_version = fields.required("agent_version", rules::text);
    let request_id = fields.required("request_id", rules::text);
    let playbook_name = fields.optional("playbook_name", String::new(), rules::text);
    let created_at = match fields.raw("created_at") {
        Some(_) => fields.required("created_at", &any).map(|at| Some(written_epoch(at))),
        None => Some(None),
    };
    let content = fields.optional("content", String::new(), rules::text);
    let trigger = fields.nullable("trigger", rules::text);
    let rationale = fields.nullable("rationale", rules::text);
    let blocking_issue = fields.nullable("blocking_issue", read_issue);
    let status = fields.nullable("status", rules::choice::<WireStatus>);
    let source = fields.nullable("source", rules::text);
    let source_interaction_ids = source_interaction_ids(fields);
    let expanded_terms = fields.nullable("expanded_terms", rules::text);
    let tags = tags(fields);
    let embedding = embedding(fields);
    let source_span = fields.nullable("source_span", rules::text);
    let notes = fields.nullable("notes", rules::text);
    let reader_angle = fields.nullable("reader_angle", rules::text);
    let merged_into = fields.nullable("merged_into", &any);
    let superseded_by = fields.nullable("superseded_by", &any);
    id?;
    embedding?;
    let playbook = UserPlaybook {
        user_playbook_id: 0,
        user_id: user_id?.flatten(),
        agent_version: agent_version?,
        request_id: request_id?,
        playbook_name: playbook_name?,
        created_at: 0,
        content: content?,
        trigger: trigger?,
        rationale: rationale?,
        blocking_issue: blocking_issue?,
        status: status?.and_then(|word| word.0),
        source: source?,
        source_interaction_ids: source_interaction_ids?,
        expanded_terms: expanded_terms?,
        tags: tags?,
        source_span: source_span?,
        notes: notes?,
        reader_angle: reader_angle?,
        merged_into: merged_into?,
        superseded_by: superseded_by?,
    };
    Some((playbook, created_at?))
}
