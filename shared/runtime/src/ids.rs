//! New identifiers and chance, from the operating system.

use learning::services::Ids;
use sha2::{Digest, Sha256};

/// Random identifiers.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// Random bytes, good enough for secrets.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    for chunk in bytes.chunks_mut(16) {
        // Of a version 4 UUID six bits are fixed: hashing spreads the 122 random ones over all bytes.
        let digest = Sha256::digest(uuid::Uuid::new_v4().as_bytes());
        chunk.copy_from_slice(&digest[..chunk.len()]);
    }
    bytes
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
