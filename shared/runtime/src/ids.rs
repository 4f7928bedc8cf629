//! New identifiers and chance, from the operating system.

use learning::services::Ids;

/// Random identifiers.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// A number in `[0, 1)`; for jitter, not for secrets.
#[must_use]
pub fn random_share() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The upper 48 bits of a version 4 UUID are all random.
    #[expect(clippy::cast_precision_loss, reason = "48 bits fit a double exactly")]
    let share = (high >> 16) as f64 / (1_u64 << 48) as f64;
    share
}
