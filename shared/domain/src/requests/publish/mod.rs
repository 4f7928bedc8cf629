//! `POST /api/publish_interaction`.

mod digest;
mod empties;
mod interaction;
pub(super) mod unknown;

use serde_json::Value;

pub use interaction::InteractionInput;

use crate::entities::RetrievalExperimentArm;
use crate::ids::{RequestId, SessionId, UserId};
use crate::validation::{Fields, ValidationErrors, query_object, read_body, read_query, rules};

/// Most interactions of one request.
pub const INTERACTIONS_MAX: usize = 1_000;
/// Most retrieved learnings of one request, over all its interactions.
pub const RETRIEVED_LEARNINGS_MAX: usize = 1_000;
/// Longest agent version, in characters.
pub const AGENT_VERSION_CHARS_MAX: usize = 1_000;
/// Longest name of a retrieval experiment, in characters.
pub const EXPERIMENT_ID_CHARS_MAX: usize = 128;

/// A publish call whose interactions all carry something.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishRequest {
    /// The caller's name for this call; the server makes one otherwise.
    pub request_id: Option<RequestId>,
    /// Whose conversation.
    pub user_id: UserId,
    /// Which conversation.
    pub session_id: SessionId,
    /// What happened, in order; empty rows are dropped.
    pub interactions: Vec<InteractionInput>,
    /// Where the traffic comes from; `""` when not said.
    pub source: String,
    /// As sent; `""` means the default version.
    pub agent_version: String,
    /// The conversation is over: learn from what is there.
    pub session_finished: bool,
    /// Do not aggregate what is learned.
    pub skip_aggregation: bool,
    /// Learn at once.
    pub force_extraction: bool,
    /// Never learn from this.
    pub evaluation_only: bool,
    /// Learn even while learning is stalled.
    pub override_learning_stall: bool,
    /// The experiment and arm that the caller attributes this to.
    pub experiment: Option<(String, RetrievalExperimentArm)>,
    /// What was ignored, in words for the caller.
    pub warnings: Vec<String>,
}

impl PublishRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let raw = read_body(body, Raw::read, |raw| raw.check(body))?;
        let mut warnings = unknown::warnings(body);
        let skipped = raw.empty_rows();
        warnings.extend(empties::warning(&skipped));
        Ok(Self {
            request_id: raw.request_id,
            user_id: raw.user_id,
            session_id: raw.session_id,
            interactions: raw.interactions.into_iter().filter(|row| !row.is_empty()).collect(),
            source: raw.source,
            agent_version: raw.agent_version,
            session_finished: raw.session_finished,
            skip_aggregation: raw.skip_aggregation,
            force_extraction: raw.force_extraction,
            evaluation_only: raw.evaluation_only,
            override_learning_stall: raw.override_learning_stall,
            experiment: raw.experiment_id.zip(raw.experiment_arm),
            warnings,
        })
    }

    /// Hex SHA-256 of everything that is meant, so that the same call sent twice is recognised: without the
    /// request id, without what was ignored, and with absent times as absent.
    #[must_use]
    pub fn payload_hash(&self) -> String {
        digest::payload_hash(self)
    }
}

/// The query of the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishQuery {
    /// Wait until what was published is learned.
    pub wait_for_response: bool,
}

impl PublishQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// [`ValidationErrors`] when the flag is no boolean.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        let flag = |fields: &mut Fields<'_, '_>| fields.optional("wait_for_response", false, rules::boolean);
        Ok(Self { wait_for_response: read_query(&query, flag)? })
    }
}

/// The fields as they stand in the schema.
struct Raw {
    request_id: Option<RequestId>,
    user_id: UserId,
    interactions: Vec<InteractionInput>,
    source: String,
    agent_version: String,
    session_id: SessionId,
    session_finished: bool,
    skip_aggregation: bool,
    force_extraction: bool,
    evaluation_only: bool,
    override_learning_stall: bool,
    experiment_id: Option<String>,
    experiment_arm: Option<RetrievalExperimentArm>,
}

impl Raw {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let request_id = fields.nullable("request_id", rules::identifier(RequestId::new));
        let user_id = fields.required("user_id", rules::identifier(UserId::new));
        let rows = rules::list(1, INTERACTIONS_MAX, InteractionInput::read);
        let interactions = fields.required("interaction_data_list", rows);
        let source = fields.optional("source", String::new(), rules::source_label);
        let agent_version =
            fields.optional("agent_version", String::new(), rules::bounded(AGENT_VERSION_CHARS_MAX));
        let session_id = fields.required("session_id", rules::identifier(SessionId::new));
        let session_finished = fields.optional("session_finished", false, rules::boolean);
        let skip_aggregation = fields.optional("skip_aggregation", false, rules::boolean);
        let force_extraction = fields.optional("force_extraction", false, rules::boolean);
        let evaluation_only = fields.optional("evaluation_only", false, rules::boolean);
        let override_learning_stall = fields.optional("override_learning_stall", false, rules::boolean);
        let experiment_id =
            fields.nullable("retrieval_experiment_id", rules::non_blank_bounded(EXPERIMENT_ID_CHARS_MAX));
        let experiment_arm = fields.nullable("retrieval_experiment_arm", rules::literal);
        Some(Self {
            request_id: request_id?,
            user_id: user_id?,
            interactions: interactions?,
            source: source?,
            agent_version: agent_version?,
            session_id: session_id?,
            session_finished: session_finished?,
            skip_aggregation: skip_aggregation?,
            force_extraction: force_extraction?,
            evaluation_only: evaluation_only?,
            override_learning_stall: override_learning_stall?,
            experiment_id: experiment_id?,
            experiment_arm: experiment_arm?,
        })
    }

    fn empty_rows(&self) -> Vec<usize> {
        let rows = self.interactions.iter().enumerate();
        rows.filter(|(_, row)| row.is_empty()).map(|(index, _)| index).collect()
    }

    /// The rules across fields; the first that is broken is reported.
    fn check(&self, body: &Value) -> Result<(), String> {
        if self.experiment_id.is_some() != self.experiment_arm.is_some() {
            return Err(
                "retrieval_experiment_id and retrieval_experiment_arm must be provided together".into()
            );
        }
        if self.evaluation_only && self.force_extraction {
            return Err("evaluation_only cannot be combined with force_extraction".into());
        }
        for (index, row) in self.interactions.iter().enumerate() {
            row.check(index)?;
        }
        if self.interactions.iter().all(InteractionInput::is_empty) {
            return Err(empties::refusal(&unknown::warnings(body)));
        }
        let learnings: usize = self.interactions.iter().map(|row| row.retrieved_learnings.len()).sum();
        if learnings > RETRIEVED_LEARNINGS_MAX {
            return Err(format!(
                "a publish request may carry at most {RETRIEVED_LEARNINGS_MAX} retrieved_learnings \
                 across all interactions (got {learnings})"
            ));
        }
        Ok(())
    }
}
