//! `POST /api/search`.

use serde_json::Value;

use super::{bounded_count, flag, mode, threshold};
use crate::entities::PlaybookStatus;
use crate::ids::UserId;
use crate::requests::choices::{SearchMode, SearchedEntity};
use crate::requests::shared::{SEARCH_ID_CHARS_MAX, searched_user, tags};
use crate::validation::rules::{self, POSITIVE};
use crate::validation::{Faults, Fields, Path, ValidationErrors, object, read_body};

/// One turn of the conversation that a query stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationTurn {
    /// Who spoke.
    pub role: String,
    /// What was said.
    pub content: String,
}

impl ConversationTurn {
    fn read<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        object(
            None,
            value,
            at,
            faults,
            |fields| {
                let role = fields.required("role", rules::text);
                let content = fields.required("content", rules::text);
                Some(Self { role: role?, content: content? })
            },
            |_| Ok(()),
        )
    }
}

/// `POST /api/search`: everything at once.
#[derive(Debug, Clone, PartialEq)]
pub struct UnifiedSearch {
    /// What to look for.
    pub query: String,
    /// Most results of each kind.
    pub top_k: usize,
    /// Only more similar than this, 0 to 1; the model's own threshold otherwise.
    pub threshold: Option<f64>,
    /// Only for this agent version.
    pub agent_version: Option<String>,
    /// Only of this name.
    pub playbook_name: Option<String>,
    /// Whose; without a user no profiles are searched.
    pub user_id: Option<UserId>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
    /// What to look through; everything by default.
    pub entity_types: Option<Vec<SearchedEntity>>,
    /// Agent playbooks with one of these approvals; approved and pending by default.
    pub agent_playbook_status_filter: Option<Vec<PlaybookStatus>>,
    /// The conversation so far.
    pub conversation_history: Option<Vec<ConversationTurn>>,
    /// Rewrite the query first.
    pub enable_reformulation: bool,
    /// How to rank.
    pub search_mode: SearchMode,
    /// The request on whose behalf is searched.
    pub request_id: Option<String>,
    /// The session on whose behalf is searched: what it was given before is left out.
    pub session_id: Option<String>,
    /// The interaction on whose behalf is searched.
    pub interaction_id: Option<i64>,
}

impl UnifiedSearch {
    /// Results of each kind when the caller does not say.
    pub const TOP_K: i64 = 5;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, Self::read, |_| Ok(()))
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let query = fields.required("query", rules::non_blank);
        let top_k = bounded_count(fields, Self::TOP_K);
        let threshold = threshold(fields);
        let agent_version = fields.nullable("agent_version", rules::text);
        let playbook_name = fields.nullable("playbook_name", rules::text);
        let user_id = fields.nullable("user_id", searched_user);
        let source = fields.nullable("source", rules::source_label);
        let tags = tags(fields);
        let entities = rules::list(0, usize::MAX, rules::literal::<SearchedEntity>);
        let entity_types = fields.nullable("entity_types", entities);
        let approvals = rules::list(0, usize::MAX, rules::choice::<PlaybookStatus>);
        let agent_playbook_status_filter = fields.nullable("agent_playbook_status_filter", approvals);
        let turns = rules::list(0, usize::MAX, ConversationTurn::read);
        let conversation_history = fields.nullable("conversation_history", turns);
        let enable_reformulation = flag(fields, "enable_reformulation");
        let agent_answer = flag(fields, "enable_agent_answer");
        let search_mode = mode(fields);
        let request_id = fields.nullable("request_id", rules::bounded(SEARCH_ID_CHARS_MAX));
        let session_id = fields.nullable("session_id", rules::bounded(SEARCH_ID_CHARS_MAX));
        let interaction_id = fields.nullable("interaction_id", rules::integer(POSITIVE));
        // Accepted for its callers; it has no effect on the answer.
        agent_answer?;
        Some(Self {
            query: query?,
            top_k: top_k?,
            threshold: threshold?,
            agent_version: agent_version?,
            playbook_name: playbook_name?,
            user_id: user_id?.flatten(),
            source: source?,
            tags: tags?,
            entity_types: entity_types?,
            agent_playbook_status_filter: agent_playbook_status_filter?,
            conversation_history: conversation_history?,
            enable_reformulation: enable_reformulation?,
            search_mode: search_mode?,
            request_id: request_id?,
            session_id: session_id?,
            interaction_id: interaction_id?,
        })
    }
}
