//! Keys of verdicts and of what belongs to them.

use domain::entities::EvaluationResult;
use domain::ids::{OrgId, SessionId, hash_hex};

use super::{Key, UserKeys, padded};

/// Sort keys of sessions of experiments begin so.
pub(crate) const EXPERIMENT_SESSION_PREFIX: &str = "X#";
/// Sort keys of verdicts on sessions begin so.
pub(crate) const EVALUATION_PREFIX: &str = "E#";
/// Sort keys of verdicts that others replaced begin so.
pub(crate) const PAST_EVALUATION_PREFIX: &str = "EH#";
/// Hex digits that stand for the evaluation and the agent version: 160 bits.
const EVALUATION_HASH_CHARS: usize = 40;
impl UserKeys<'_> {
    /// The verdict in force.
    pub(crate) fn evaluation(&self, result: &EvaluationResult) -> Key {
        let which = [result.evaluation_name.as_str(), result.agent_version.as_str()].join("\0");
        let session = self.evaluations_of(&result.session_id.hash());
        Key::new(self.partition(), format!("{session}{}", &hash_hex(&which)[..EVALUATION_HASH_CHARS]))
    }

    /// A session of an experiment.
    pub(crate) fn experiment_session(&self, experiment_id: &str, session: &SessionId) -> Key {
        let experiment = hash_hex(experiment_id);
        Key::new(self.partition(), format!("{EXPERIMENT_SESSION_PREFIX}{experiment}#{}", session.hash()))
    }

    /// Sort keys of the verdicts on one session, by its hash, begin so.
    pub(crate) fn evaluations_of(&self, session: &str) -> String {
        format!("{EVALUATION_PREFIX}{session}#")
    }

    pub(crate) fn past_evaluation(&self, result: &EvaluationResult) -> Key {
        let (session, id) = (result.session_id.hash(), padded(result.result_id));
        Key::new(self.partition(), format!("{PAST_EVALUATION_PREFIX}{session}#{id}"))
    }
}

/// The partition of the index `by_time` that lists the sessions of an experiment. One shard for now; more can only be
/// added.
pub(crate) fn experiment_partition(org: &OrgId, experiment_id: &str) -> String {
    format!("O#{org}#X#{}#0", hash_hex(experiment_id))
}
