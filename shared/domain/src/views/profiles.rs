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

/// A profile as the log of changes shows it: nulls are sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedProfileView {
    /// See [`ProfileView::profile_id`].
    pub profile_id: ProfileId,
    /// See [`ProfileView::user_id`].
    pub user_id: UserId,
    /// See [`ProfileView::content`].
    pub content: String,
    /// See [`ProfileView::last_modified_timestamp`].
    pub last_modified_timestamp: EpochSeconds,
    /// See [`ProfileView::generated_from_request_id`].
    pub generated_from_request_id: String,
    /// See [`ProfileView::profile_time_to_live`].
    pub profile_time_to_live: ProfileTimeToLive,
    /// See [`ProfileView::expiration_timestamp`].
    pub expiration_timestamp: EpochSeconds,
    /// See [`ProfileView::custom_features`].
    pub custom_features: Option<Map<String, Value>>,
    /// See [`ProfileView::source`].
    pub source: String,
    /// See [`ProfileView::status`].
    pub status: Option<Status>,
    /// See [`ProfileView::extractor_names`].
    pub extractor_names: Option<Vec<String>>,
    /// See [`ProfileView::source_span`].
    pub source_span: Option<String>,
    /// See [`ProfileView::source_interaction_ids`].
    pub source_interaction_ids: Vec<i64>,
    /// See [`ProfileView::tags`].
    pub tags: Vec<String>,
}

impl From<UserProfile> for LoggedProfileView {
    fn from(profile: UserProfile) -> Self {
        let view = ProfileView::from(profile);
        Self {
            profile_id: view.profile_id,
            user_id: view.user_id,
            content: view.content,
            last_modified_timestamp: view.last_modified_timestamp,
            generated_from_request_id: view.generated_from_request_id,
            profile_time_to_live: view.profile_time_to_live,
            expiration_timestamp: view.expiration_timestamp,
            custom_features: view.custom_features,
            source: view.source,
            status: view.status,
            extractor_names: view.extractor_names,
            source_span: view.source_span,
            source_interaction_ids: view.source_interaction_ids,
            tags: view.tags,
        }
    }
}

/// What one step of learning, or one direct write, changed in a user's profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileChangeView {
    /// Historical; always 0.
    pub id: i64,
    /// Whose profiles.
    pub user_id: UserId,
    /// The request whose learning changed them, or that the caller named.
    pub request_id: String,
    /// When.
    pub created_at: EpochSeconds,
    /// Rows that came to be, as they were then.
    pub added_profiles: Vec<LoggedProfileView>,
    /// Rows that were merged, superseded or forgotten.
    pub removed_profiles: Vec<LoggedProfileView>,
}

/// `GET /api/profile_change_log`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileChangesAnswer {
    /// Always true.
    pub success: bool,
    /// The changes, the newest first.
    pub profile_change_logs: Vec<ProfileChangeView>,
}
