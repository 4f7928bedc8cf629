//! Profiles.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ProfileTimeToLive, Status};
use crate::ids::{ProfileId, UserId};
use crate::time::{EpochSeconds, NEVER_EXPIRES};

/// A fact about a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserProfile {
    /// Unique in the organisation.
    pub profile_id: ProfileId,
    /// About whom.
    pub user_id: UserId,
    /// The fact.
    pub content: String,
    /// When it was last stated or edited.
    pub last_modified_timestamp: EpochSeconds,
    /// The request whose learning produced it.
    pub generated_from_request_id: String,
    /// How long it stays true.
    #[serde(default)]
    pub profile_time_to_live: ProfileTimeToLive,
    /// When it stops being true.
    #[serde(default = "never")]
    pub expiration_timestamp: EpochSeconds,
    /// Free extra data.
    #[serde(default)]
    pub custom_features: Option<Map<String, Value>>,
    /// The source of the request.
    #[serde(default)]
    pub source: Option<String>,
    /// `None` is current.
    #[serde(default)]
    pub status: Option<Status>,
    /// Historical; new rows hold `None`.
    #[serde(default)]
    pub extractor_names: Option<Vec<String>>,
    /// More words to find it by.
    #[serde(default)]
    pub expanded_terms: Option<String>,
    /// `None`: not tagged yet.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The turns that it was learned from.
    #[serde(default)]
    pub source_interaction_ids: Vec<i64>,
    /// The words of those turns that say it.
    #[serde(default)]
    pub source_span: Option<String>,
    /// Confidence and caveats.
    #[serde(default)]
    pub notes: Option<String>,
    /// From whose point of view.
    #[serde(default)]
    pub reader_angle: Option<String>,
    /// The row that took this one in.
    #[serde(default)]
    pub merged_into: Option<String>,
    /// The row that replaced this one.
    #[serde(default)]
    pub superseded_by: Option<String>,
    /// When the row was first written.
    #[serde(default)]
    pub created_at: EpochSeconds,
}

fn never() -> EpochSeconds {
    NEVER_EXPIRES
}

impl UserProfile {
    /// The text that is embedded: the fact, and its extra data if there is any.
    #[must_use]
    pub fn embedding_text(&self) -> String {
        match &self.custom_features {
            Some(features) if !features.is_empty() => {
                format!("{}\n{}", self.content, Value::Object(features.clone()))
            }
            _ => self.content.clone(),
        }
    }
}
