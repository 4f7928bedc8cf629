//! Keys of the verdicts on the learnings that sessions were given; all in the user's partition.

use domain::entities::RetrievedLearningResult;
use domain::ids::hash_hex;

use super::{EVALUATION_HASH_CHARS, Key, UserKeys, padded};

/// Sort keys of states of the judgement of retrieved learnings begin so.
pub(crate) const RETRIEVED_STATE_PREFIX: &str = "RLSTATE#";
/// Sort keys of verdicts on retrieved learnings begin so.
pub(crate) const RETRIEVED_ROW_PREFIX: &str = "RL#";

impl UserKeys<'_> {
    /// How far the judgement of the learnings of a session is; by the hash of its id.
    pub(crate) fn retrieved_state(&self, session: &str) -> Key {
        Key::new(self.partition(), format!("{RETRIEVED_STATE_PREFIX}{session}"))
    }

    /// Sort keys of the verdicts of one attempt begin so.
    pub(crate) fn retrieved_rows_of(session: &str, generation: i64) -> String {
        format!("{}{}#", Self::retrieved_rows(session), padded(generation))
    }

    /// Sort keys of the verdicts on the learnings of one session begin so.
    pub(crate) fn retrieved_rows(session: &str) -> String {
        format!("{RETRIEVED_ROW_PREFIX}{session}#")
    }

    /// A verdict on a learning: one for each interaction, kind and id within an attempt.
    pub(crate) fn retrieved_row(&self, session: &str, generation: i64, row: &RetrievedLearningResult) -> Key {
        let which =
            format!("{}\0{}\0{}", row.interaction_id.unwrap_or_default(), row.kind.as_str(), row.learning_id);
        let name = &hash_hex(&which)[..EVALUATION_HASH_CHARS];
        Key::new(self.partition(), format!("{}{name}", Self::retrieved_rows_of(session, generation)))
    }
}
