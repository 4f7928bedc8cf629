//! Profiles.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::entities::{ProfileTimeToLive, Status, UserProfile};
use crate::ids::{ProfileId, UserId};
use crate::time::EpochSeconds;

/// A profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileView {
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
    pub profile_time_to_live: ProfileTimeToLive,
    /// When it stops being true.
    pub expiration_timestamp: EpochSeconds,
    /// Free extra data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_features: Option<Map<String, Value>>,
    /// The source of the request; an unknown one reads as the empty label.
    pub source: String,
    /// Absent for the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Historical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extractor_names: Option<Vec<String>>,
    /// The words that say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_span: Option<String>,
    /// The turns that it was learned from.
    pub source_interaction_ids: Vec<i64>,
    /// Its tags; untagged reads as none.
    pub tags: Vec<String>,
    /// How well it fits a query, where the caller asked for that; not part of the recorded contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl From<UserProfile> for ProfileView {
    fn from(profile: UserProfile) -> Self {
        Self {
            profile_id: profile.profile_id,
            user_id: profile.user_id,
            content: profile.content,
            last_modified_timestamp: profile.last_modified_timestamp,
            generated_from_request_id: profile.generated_from_request_id,
            profile_time_to_live: profile.profile_time_to_live,
            expiration_timestamp: profile.expiration_timestamp,
            custom_features: profile.custom_features,
            source: profile.source.unwrap_or_default(),
            status: profile.status,
            extractor_names: profile.extractor_names,
            source_span: profile.source_span,
            source_interaction_ids: profile.source_interaction_ids,
            tags: profile.tags.unwrap_or_default(),
            score: None,
        }
    }
}
