//! The numbers of an experiment, from its sessions and their verdicts.

use std::collections::{BTreeMap, BTreeSet};

use domain::entities::{EvaluationResult, RetrievalExperimentArm};
use domain::ids::UserId;
use domain::views::ArmMetrics;

/// Half the width of a 95 % interval, in standard errors.
const STANDARD_ERRORS_95: f64 = 1.96;

/// A session of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArmSession {
    /// Whose.
    pub(super) user: UserId,
    /// The verdict, if there is one.
    pub(super) verdict: Option<EvaluationResult>,
    /// Tokens that others than the user wrote, where all are known.
    pub(super) output_tokens: Option<i64>,
}

/// The numbers of one arm.
pub(super) fn arm_metrics(arm: RetrievalExperimentArm, sessions: &[ArmSession]) -> ArmMetrics {
    let verdicts: Vec<&EvaluationResult> = verdicts(sessions).map(|(_, verdict)| verdict).collect();
    let turns = verdicts.iter().filter_map(|verdict| verdict.user_turns_to_resolution);
    let tokens = sessions.iter().filter_map(|session| session.output_tokens);
    ArmMetrics {
        arm,
        assigned_user_count: users(sessions.iter().map(|session| &session.user)),
        published_session_count: sessions.len(),
        evaluated_user_count: users(self::verdicts(sessions).map(|(user, _)| user)),
        evaluated_session_count: verdicts.len(),
        success_rate: mean(verdicts.iter().map(|verdict| i64::from(verdict.is_success))),
        average_corrections: mean(verdicts.iter().map(|verdict| verdict.number_of_correction_per_session)),
        average_turns_to_resolution: mean(turns),
        escalation_rate: mean(verdicts.iter().map(|verdict| i64::from(verdict.is_escalated))),
        output_token_session_count: tokens.clone().count(),
        average_output_tokens: mean(tokens),
    }
}

/// By how many percentage points more sessions succeeded in one arm than in the other: the difference, its relation
/// to the other arm's rate, and where it lies with 95 % confidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lift {
    pub(super) percentage_points: Option<f64>,
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<[f64; 2]>,
}

/// The lift of the treated sessions over the held-out ones. A user's sessions are alike, so that users, not sessions,
/// are what was drawn: the variance is clustered by user.
pub(super) fn lift(treatment: &[ArmSession], holdout: &[ArmSession]) -> Lift {
    let rate = |sessions| mean(verdicts(sessions).map(|(_, verdict)| i64::from(verdict.is_success)));
    let (Some(treated), Some(held_out)) = (rate(treatment), rate(holdout)) else { return Lift::default() };
    let points = 100.0 * (treated - held_out);
    let interval = success_variance(treatment).zip(success_variance(holdout)).map(|(one, other)| {
        let half = STANDARD_ERRORS_95 * (one + other).sqrt() * 100.0;
        [(points - half).max(-100.0), (points + half).min(100.0)]
    });
    Lift {
        percentage_points: Some(points),
        relative: (held_out > 0.0).then(|| (treated - held_out) / held_out),
        interval,
    }
}

/// The variance of the success rate, clustered by user; `None` with fewer than two users.
fn success_variance(sessions: &[ArmSession]) -> Option<f64> {
    let rate = mean(verdicts(sessions).map(|(_, verdict)| i64::from(verdict.is_success)))?;
    let mut by_user: BTreeMap<&str, f64> = BTreeMap::new();
    let mut many = 0;
    for (user, verdict) in verdicts(sessions) {
        *by_user.entry(user.as_str()).or_default() += f64::from(u8::from(verdict.is_success)) - rate;
        many += 1;
    }
    if by_user.len() < 2 {
        return None;
    }
    let (users, sessions) = (count(by_user.len()), count(many));
    let squares: f64 = by_user.values().map(|sum| sum * sum).sum();
    Some(users / (users - 1.0) * squares / (sessions * sessions))
}

fn verdicts(sessions: &[ArmSession]) -> impl Iterator<Item = (&UserId, &EvaluationResult)> {
    sessions.iter().filter_map(|session| Some((&session.user, session.verdict.as_ref()?)))
}

fn users<'a>(users: impl Iterator<Item = &'a UserId>) -> usize {
    users.map(UserId::as_str).collect::<BTreeSet<_>>().len()
}

fn mean(values: impl Iterator<Item = i64>) -> Option<f64> {
    let (mut sum, mut many) = (0.0, 0);
    for value in values {
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens and turns are far below 2^53")]
        let value = value as f64;
        sum += value;
        many += 1;
    }
    (many > 0).then(|| sum / count(many))
}

#[expect(clippy::cast_precision_loss, reason = "counts of sessions are far below 2^53")]
fn count(many: usize) -> f64 {
    many as f64
}

#[cfg(test)]
mod tests {
    use domain::entities::AGENT_SUCCESS;
    use domain::ids::{RequestId, SessionId};

    use super::*;

    fn session(user: &str, is_success: Option<bool>) -> ArmSession {
        let verdict = is_success.map(|is_success| EvaluationResult {
            result_id: 1,
            user_id: UserId::new(user).unwrap(),
            session_id: SessionId::new("s").unwrap(),
            agent_version: "v1".to_owned(),
            evaluation_name: AGENT_SUCCESS.to_owned(),
            is_success,
            failure_type: None,
            failure_reason: String::new(),
            created_at: 0,
            number_of_correction_per_session: if is_success { 0 } else { 3 },
            user_turns_to_resolution: is_success.then_some(2),
            is_escalated: !is_success,
            tags: None,
            trajectory_through_request_id: RequestId::new("r").unwrap(),
            trajectory_interaction_count: 2,
            judged_at: 0,
            is_windowed: false,
        });
        ArmSession { user: UserId::new(user).unwrap(), verdict, output_tokens: None }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn an_arm_without_sessions_has_counts_and_no_rates() {
        let metrics = arm_metrics(RetrievalExperimentArm::Holdout, &[]);
        assert_eq!((metrics.published_session_count, metrics.success_rate), (0, None));
        assert_eq!(lift(&[], &[session("a", Some(true))]), Lift::default());
    }

    #[test]
    fn an_arms_numbers_count_users_sessions_and_those_with_a_verdict() {
        let mut sessions = vec![session("a", Some(true)), session("a", Some(false)), session("b", None)];
        sessions[0].output_tokens = Some(10);
        sessions[2].output_tokens = Some(20);
        let metrics = arm_metrics(RetrievalExperimentArm::Treatment, &sessions);
        assert_eq!((metrics.assigned_user_count, metrics.published_session_count), (2, 3));
        assert_eq!((metrics.evaluated_user_count, metrics.evaluated_session_count), (1, 2));
        assert_eq!(metrics.success_rate, Some(0.5));
        assert_eq!(metrics.average_corrections, Some(1.5));
        assert_eq!(metrics.average_turns_to_resolution, Some(2.0));
        assert_eq!(metrics.escalation_rate, Some(0.5));
        assert_eq!((metrics.average_output_tokens, metrics.output_token_session_count), (Some(15.0), 2));
    }

    #[test]
    fn sessions_of_one_user_count_as_one_draw() {
        // Treated: a succeeds twice, b fails once; the rate is 2/3. Deviations by user: a 2/3, b -2/3.
        let treatment = [session("a", Some(true)), session("a", Some(true)), session("b", Some(false))];
        let variance = success_variance(&treatment).unwrap();
        assert!(close(variance, 2.0 * (8.0 / 9.0) / 9.0), "{variance}");
        // Held out: c fails, d succeeds.
        let holdout = [session("c", Some(false)), session("d", Some(true))];
        let other = success_variance(&holdout).unwrap();
        assert!(close(other, 2.0 * 0.5 / 4.0), "{other}");
        let lift = lift(&treatment, &holdout);
        assert!(close(lift.percentage_points.unwrap(), 100.0 / 6.0));
        assert!(close(lift.relative.unwrap(), 1.0 / 3.0));
        let half = 196.0 * (variance + other).sqrt();
        assert_eq!(
            lift.interval,
            Some([(100.0 / 6.0 - half).max(-100.0), (100.0_f64 / 6.0 + half).min(100.0)])
        );
    }

    #[test]
    fn one_user_in_an_arm_gives_a_lift_without_an_interval_and_no_success_without_a_relation() {
        let lift = lift(&[session("a", Some(true))], &[session("b", Some(false))]);
        assert_eq!(lift, Lift { percentage_points: Some(100.0), relative: None, interval: None });
    }
}
