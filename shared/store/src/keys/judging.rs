//! Keys of verdicts and of what belongs to them.

use domain::entities::EvaluationResult;
use domain::ids::{OrgId, SessionId, hash_hex};

use super::{Key, UserKeys, org_item, padded};

/// Sort keys of sessions of experiments begin so.
pub(crate) const EXPERIMENT_SESSION_PREFIX: &str = "X#";
/// Sort keys of verdicts on sessions begin so.
pub(crate) const EVALUATION_PREFIX: &str = "E#";
/// Sort keys of verdicts that others replaced begin so.
pub(crate) const PAST_EVALUATION_PREFIX: &str = "EH#";
/// Hex digits that stand for the evaluation and the agent version: 160 bits.
pub(super) const EVALUATION_HASH_CHARS: usize = 40;
/// Sort keys of requests whose shadow answers wait for the judge begin so.
pub(crate) const SHADOW_JOB_PREFIX: &str = "SJ#";
/// Sort keys of what the judge found of turns with shadow answers begin so.
pub(crate) const SHADOW_TURN_PREFIX: &str = "SV#";
/// Hex digits that stand for a version of the judge's prompt: 80 bits.
pub(crate) const VERSION_HASH_CHARS: usize = 20;

impl UserKeys<'_> {
    /// The requests with shadow answers that wait for the judge, by the position of the first interaction.
    pub(crate) fn shadow_job(&self, first_position: i64) -> Key {
        Key::new(self.partition(), format!("{SHADOW_JOB_PREFIX}{}", padded(first_position)))
    }

    /// What the judge found of a turn under one version of its prompt.
    pub(crate) fn shadow_turn(&self, interaction_id: i64, version: &str) -> Key {
        let version = &hash_hex(version)[..VERSION_HASH_CHARS];
        Key::new(self.partition(), format!("{SHADOW_TURN_PREFIX}{interaction_id}#{version}"))
    }

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

/// The regeneration of verdicts that an organisation has under way, of which there is one at a time.
pub(crate) fn regeneration_in_progress(org: &OrgId) -> Key {
    org_item(org, "REGENERATION")
}

/// Between the organisation and the id of a regeneration job.
pub(crate) const REGENERATION_PARTITION: &str = "#RG#";

/// What belongs to a regeneration job. The id is ours, or else a caller's guess: it stands in the key as a hash.
pub(crate) fn regeneration_partition(org: &OrgId, job_id: &str) -> String {
    format!("O#{org}{REGENERATION_PARTITION}{}", hash_hex(job_id))
}

/// A regeneration job itself.
pub(crate) fn regeneration_job(org: &OrgId, job_id: &str) -> Key {
    Key::new(regeneration_partition(org, job_id), "JOB")
}

/// Sort keys of the lanes of a job begin so.
pub(crate) const LANE_PREFIX: &str = "L#";

/// A lane of a job: one session is judged in it at a time.
pub(crate) fn regeneration_lane(org: &OrgId, job_id: &str, lane: u32) -> Key {
    Key::new(regeneration_partition(org, job_id), format!("{LANE_PREFIX}{}", padded(lane.into())))
}

/// Sort keys of the sessions that wait in a lane begin so.
pub(crate) fn waiting_in_lane(lane: u32) -> String {
    format!("W#{}#", padded(lane.into()))
}

/// Sort keys of sessions that were judged in vain begin so.
pub(crate) const REGENERATION_FAILED_PREFIX: &str = "F#";
/// Sort keys of sessions that were judged begin so.
pub(crate) const REGENERATION_DONE_PREFIX: &str = "D#";

/// A session of a job, among those that wait, were judged, or were judged in vain.
pub(crate) fn regeneration_candidate(org: &OrgId, job_id: &str, prefix: &str, number: i64) -> Key {
    Key::new(regeneration_partition(org, job_id), format!("{prefix}{}", padded(number)))
}

/// A verdict that a caller asked for, by the hash of what it is asked of.
pub(crate) fn grade(org: &OrgId, grade_id: &str) -> Key {
    org_item(org, &format!("{GRADE_PREFIX}{grade_id}"))
}

/// Sort keys of verdicts that callers asked for begin so.
pub(crate) const GRADE_PREFIX: &str = "GRADE#";
