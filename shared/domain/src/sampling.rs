//! Which sessions are judged: a pure function of who they belong to, so that a session is always or never among them.

use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::ids::{OrgId, SessionId, UserId};

/// Which judges a session is to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JudgesWanted {
    /// The one of the session as a whole.
    pub agent_success: bool,
    /// Those of the learnings that it was given.
    pub retrieved_learning: bool,
}

impl JudgesWanted {
    /// Whether there is none.
    #[must_use]
    pub fn is_none(self) -> bool {
        !self.agent_success && !self.retrieved_learning
    }
}

/// A number in `[0, 1)` that belongs to a session of a user.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "the division is defined on the rounded numbers")]
pub fn session_fraction(org: &OrgId, user: &UserId, session: &SessionId) -> f64 {
    let key = [org.as_str(), user.as_str(), session.as_str()].join("\0");
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let mut high = [0; 8];
    high.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(high) as f64 / 2.0_f64.powi(64)
}

fn admits(rate: f64, fraction: f64) -> bool {
    rate >= 1.0 || (rate > 0.0 && fraction < rate)
}

impl Config {
    /// Which judges a session is to see, as far as one of its requests decides.
    #[must_use]
    pub fn judges_wanted(
        &self,
        org: &OrgId,
        user: &UserId,
        session: &SessionId,
        evaluation_only: bool,
    ) -> JudgesWanted {
        let Some(config) = &self.agent_success_config else { return JudgesWanted::default() };
        let fraction = session_fraction(org, user, session);
        let of_all = config.sampling_rate;
        let rate = config.evaluation_only_sampling_rate.filter(|_| evaluation_only).unwrap_or(of_all);
        JudgesWanted {
            agent_success: admits(rate, fraction),
            retrieved_learning: admits(config.retrieved_learning_sampling_rate.unwrap_or(of_all), fraction),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::AgentSuccessConfig;

    use super::*;

    fn ids(user: &str, session: &str) -> (OrgId, UserId, SessionId) {
        let org = "self-host-org".parse().unwrap();
        (org, UserId::new(user).unwrap(), SessionId::new(session).unwrap())
    }

    fn wanted(config: AgentSuccessConfig, evaluation_only: bool) -> JudgesWanted {
        let config = Config { agent_success_config: Some(config), ..Config::default() };
        let (org, user, session) = ids("u2", "s1");
        config.judges_wanted(&org, &user, &session, evaluation_only)
    }

    #[test]
    fn fractions_are_those_of_the_contract() {
        for (user, session, fraction) in [
            ("u1", "s1", 0.354_611_790_636_457_7_f64),
            ("u2", "s1", 0.065_409_849_949_544),
            ("u1", "s2", 0.101_453_738_041_078_14),
        ] {
            let (org, user, session) = ids(user, session);
            assert!((session_fraction(&org, &user, &session) - fraction).abs() < 1e-15);
        }
    }

    #[test]
    fn the_default_judges_one_session_in_twenty_and_none_without_a_configuration() {
        let (org, user, session) = ids("u2", "s1");
        assert!(Config::default().judges_wanted(&org, &user, &session, false).is_none());
        let off = Config { agent_success_config: None, ..Config::default() };
        assert!(off.judges_wanted(&org, &user, &session, false).is_none());
    }

    #[test]
    fn rates_of_zero_and_one_are_none_and_all_and_others_decide_by_the_fraction() {
        // The fraction of this session is 0.0654.
        let at = |sampling_rate| AgentSuccessConfig { sampling_rate, ..AgentSuccessConfig::default() };
        let both = |agent_success| JudgesWanted { agent_success, retrieved_learning: agent_success };
        for (rate, expected) in [(0.0, false), (0.065, false), (0.066, true), (1.0, true)] {
            assert_eq!(wanted(at(rate), false), both(expected), "{rate}");
        }
    }

    #[test]
    fn requests_for_evaluation_only_and_retrieved_learnings_may_have_rates_of_their_own() {
        let config = || AgentSuccessConfig {
            sampling_rate: 0.0,
            evaluation_only_sampling_rate: Some(1.0),
            retrieved_learning_sampling_rate: Some(0.5),
            ..AgentSuccessConfig::default()
        };
        assert_eq!(wanted(config(), false), JudgesWanted { agent_success: false, retrieved_learning: true });
        assert_eq!(wanted(config(), true), JudgesWanted { agent_success: true, retrieved_learning: true });
    }
}
