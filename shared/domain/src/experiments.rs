//! Retrieval experiments: which arm a user is in, a pure function that clients compute too.

use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::entities::RetrievalExperimentArm;
use crate::ids::{OrgId, UserId};

/// Names the rule, so that another rule can never be taken for this one.
const ASSIGNMENT_RULE: &str = "retrieval-ab:v1";

/// The arm of a user.
#[must_use]
pub fn assigned_arm(
    org: &OrgId,
    experiment_id: &str,
    user: &UserId,
    holdout_percentage: f64,
) -> RetrievalExperimentArm {
    if share(org, experiment_id, user) < holdout_percentage / 100.0 {
        RetrievalExperimentArm::Holdout
    } else {
        RetrievalExperimentArm::Treatment
    }
}

/// A number in `[0, 1)`: the digest as a 256-bit integer over 2²⁵⁶, correctly rounded.
fn share(org: &OrgId, experiment_id: &str, user: &UserId) -> f64 {
    let key = [ASSIGNMENT_RULE, org.as_str(), experiment_id, user.as_str()].join("\0");
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let mut high = [0; 16];
    high.copy_from_slice(&digest[..16]);
    let high = u128::from_be_bytes(high);
    let rest_is_zero = digest[16..].iter().all(|byte| *byte == 0);
    // 64 significant bits, the last of which also stands for everything below: it makes the one rounding that
    // follows, to 53 bits, the right one.
    let shift = high.leading_zeros().min(64);
    let shifted = high << shift;
    let top = u64::try_from(shifted >> 64).unwrap_or(0);
    let sticky = u64::from((shifted << 64) != 0 || !rest_is_zero);
    let exponent = 64 + i32::try_from(shift).unwrap_or(64);
    #[expect(clippy::cast_precision_loss, reason = "this is the rounding")]
    let rounded = (top | sticky) as f64;
    rounded * 2.0_f64.powi(-exponent)
}

impl Config {
    /// Checks what a caller says of the experiment that a request belongs to.
    ///
    /// # Errors
    /// The message for the caller.
    pub fn check_attribution(
        &self,
        org: &OrgId,
        user: &UserId,
        experiment_id: &str,
        arm: RetrievalExperimentArm,
    ) -> Result<(), &'static str> {
        let active =
            self.retrieval_experiment_config.iter().map(|e| (&e.experiment_id, e.holdout_percentage));
        let past = self.retrieval_experiment_history.iter().map(|e| (&e.experiment_id, e.holdout_percentage));
        let known = active.chain(past).find(|(id, _)| id.as_str() == experiment_id);
        let (_, percentage) = known.ok_or("retrieval experiment does not exist for this organization")?;
        if assigned_arm(org, experiment_id, user, percentage) == arm {
            Ok(())
        } else {
            Err("retrieval experiment arm does not match the user assignment")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RetrievalExperimentArm::{Holdout, Treatment};

    #[test]
    fn users_are_assigned_as_clients_assign_them() {
        let vectors = [
            ("default", "exp-1", "user-1", 0.925_968_631_871_084_9, Treatment, Treatment),
            ("default", "exp-1", "user-2", 0.068_432_750_621_827_66, Holdout, Holdout),
            ("default", "exp-1", "user-3", 0.330_425_217_462_125_66, Holdout, Treatment),
            ("default", "exp-1", "user-4", 0.673_961_166_455_873, Treatment, Treatment),
            ("org-42", "holdout-2026-06", "ünï", 0.224_682_125_359_003_98, Holdout, Treatment),
        ];
        for (org, experiment, user, expected, at_50, at_20) in vectors {
            let org = org.parse().unwrap();
            let user = UserId::new(user).unwrap();
            assert_eq!(share(&org, experiment, &user).to_bits(), f64::to_bits(expected), "{user}");
            assert_eq!(assigned_arm(&org, experiment, &user, 50.0), at_50, "{user}");
            assert_eq!(assigned_arm(&org, experiment, &user, 20.0), at_20, "{user}");
        }
    }
}
