//! Outcomes of sessions: the encodings and digests by which a report is recognised, and by which a session is.

mod encoding;
mod float_text;
mod metadata;
mod trajectory;

pub use encoding::{CANONICAL_DEPTH_MAX, CANONICAL_INTEGER_LIMIT, CanonicalFault, Floats, canonical};
pub use float_text::float_text;
pub use metadata::{METADATA_BYTES_MAX, Metadata};
pub use trajectory::{TrajectoryFault, TrajectoryHasher, stored_time_text};

use crate::ids::hash_hex;

/// How far the time of an outcome may lie ahead of the server's, in seconds.
pub const OUTCOME_FUTURE_SECONDS_MAX: i64 = 86_400;
/// Longest label of an outcome, in characters, with the white space around it.
pub const OUTCOME_LABEL_CHARS_MAX: usize = 128;

/// Hex SHA-256 of the rules under which an outcome was taken, which are the server's own: what an outcome may say,
/// that the first one stands, and for which traffic.
///
/// # Errors
/// Never for a source: a text can always be encoded.
pub fn contract_digest(source: &str) -> Result<String, CanonicalFault> {
    let contract = serde_json::json!({
        "allowed_values": ["failure", "success", "unknown"],
        "finalization_rule": "first_write",
        "schema_version": 1,
        "source": source,
    });
    Ok(hash_hex(&canonical(&contract, Floats::Refused)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_of_a_source_has_the_digest_that_others_compute() {
        for (source, digest) in [
            ("", "ae9349b56a2cddbeb2d6279f121d17ea3a461706aa592f00d5974cdd70075d24"),
            ("support.chat", "e6b96e776ad287fd3fe678cad20c1f5fb0d7e806bd088b93216c80976291d40f"),
            ("api", "a2a236f159eae9f59df97d5a286569c954de502375c7d138dde3e983a1312b47"),
            ("golden", "be5b4206ba8e03de898e77e2112df5f080a773979241e94886756c0a8d6bf386"),
        ] {
            assert_eq!(contract_digest(source).unwrap(), digest, "{source}");
        }
    }
}
