//! What came of an experiment: its sessions, read from the index, and the verdicts on them.

use std::collections::{HashMap, HashSet};

use domain::config::{Config, RetrievalExperimentRecord};
use domain::entities::{EvaluationResult, RetrievalExperimentArm};
use domain::experiments::assigned_arm;
use domain::ids::OrgId;
use domain::time::EpochSeconds;
use domain::views::{ExperimentResultsAnswer, ExperimentView};
use store::{AttributedSession, Store, StoreError};

use super::statistics::{ArmSession, arm_metrics, lift};

/// Why there are no results.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentResultsError {
    /// The organisation never ran it.
    #[error("Retrieval experiment not found")]
    Unknown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The results of an experiment as they are at `now`.
///
/// # Errors
/// [`ExperimentResultsError`].
pub async fn experiment_results(
    store: &Store,
    org: &OrgId,
    config: &Config,
    experiment_id: &str,
    now: EpochSeconds,
) -> Result<ExperimentResultsAnswer, ExperimentResultsError> {
    let record = config.experiment(experiment_id).ok_or(ExperimentResultsError::Unknown)?;
    let sessions = store.experiment_sessions(org, experiment_id).await?;
    let until = record.ended_at.unwrap_or(now);
    let verdicts = store.evaluations_between(org, record.started_at, until, None).await?;
    let tokens = store.output_tokens(org, &sessions).await?;
    let mut latest = LatestVerdicts::of(&verdicts);
    let mut arms = [Vec::new(), Vec::new()];
    for (session, tokens) in sessions.iter().zip(tokens) {
        let user_id = &session.user_id;
        let arm = assigned_arm(org, &record.experiment_id, user_id, record.holdout_percentage);
        arms[usize::from(arm == RetrievalExperimentArm::Holdout)].push(ArmSession {
            user: user_id.clone(),
            verdict: latest.take(session),
            output_tokens: tokens,
        });
    }
    let [treatment, holdout] = arms;
    Ok(answer(record, &treatment, &holdout, verdicts.len(), latest.unattributed(&verdicts)))
}

fn answer(
    record: &RetrievalExperimentRecord,
    treatment: &[ArmSession],
    holdout: &[ArmSession],
    verdicts: usize,
    unattributed: usize,
) -> ExperimentResultsAnswer {
    let lift = lift(treatment, holdout);
    #[expect(clippy::cast_precision_loss, reason = "counts of verdicts are far below 2^53")]
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    ExperimentResultsAnswer {
        experiment: ExperimentView::from(record),
        treatment: arm_metrics(RetrievalExperimentArm::Treatment, treatment),
        holdout: arm_metrics(RetrievalExperimentArm::Holdout, holdout),
        success_rate_lift_percentage_points: lift.percentage_points,
        relative_success_lift: lift.relative,
        confidence_interval_95_percentage_points: lift.interval,
        evaluated_session_coverage: (verdicts > 0).then(|| share(verdicts - unattributed, verdicts)),
        unattributed_evaluated_session_count: unattributed,
    }
}

/// The last verdict on each session of a user: a session that several agent versions took part in has several.
struct LatestVerdicts<'a> {
    by_session: HashMap<(&'a str, &'a str), &'a EvaluationResult>,
    attributed: HashSet<(&'a str, &'a str)>,
}

impl<'a> LatestVerdicts<'a> {
    fn of(verdicts: &'a [EvaluationResult]) -> Self {
        let mut by_session: HashMap<_, &EvaluationResult> = HashMap::new();
        for verdict in verdicts {
            let session = (verdict.user_id.as_str(), verdict.session_id.as_str());
            let known = by_session.entry(session).or_insert(verdict);
            if known.result_id < verdict.result_id {
                *known = verdict;
            }
        }
        Self { by_session, attributed: HashSet::new() }
    }

    fn take(&mut self, session: &'a AttributedSession) -> Option<EvaluationResult> {
        let key = (session.user_id.as_str(), session.session_id.as_str());
        let verdict = self.by_session.remove(&key)?;
        self.attributed.insert(key);
        Some(verdict.clone())
    }

    /// How many verdicts are on sessions that were not taken.
    fn unattributed(&self, verdicts: &[EvaluationResult]) -> usize {
        let is_other = |verdict: &&EvaluationResult| {
            let session = (verdict.user_id.as_str(), verdict.session_id.as_str());
            !self.attributed.contains(&session)
        };
        verdicts.iter().filter(is_other).count()
    }
}
