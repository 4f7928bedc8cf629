//! `POST /api/get_profiles`, `GET /api/get_all_profiles`, `POST /api/add_user_profile`.

use serde_json::Value;

use super::choices::WireStatus;
use super::shared::{StatusFilter, as_count, count, status_filter, tags, user_filter};
use crate::entities::{EMBEDDING_DIMENSIONS, ProfileTimeToLive, Status, UserProfile};
use crate::ids::{ProfileId, UserId};
use crate::time::{EpochSeconds, NEVER_EXPIRES};
use crate::validation::rules::{self, Bounds, Choice};
use crate::validation::{
    Faults, Fields, Path, TimeRange, ValidationErrors, object, query_object, read_body, read_query,
    written_epoch,
};

/// Which profiles of a user to list, the last modified first.
#[derive(Debug, Clone, PartialEq)]
pub struct GetProfiles {
    /// Whose.
    pub user_id: UserId,
    /// Only this one; upper and lower case are equal.
    pub profile_id: Option<String>,
    /// Only those that hold this text, in any case.
    pub query: Option<String>,
    /// Only modified within these times.
    pub time: TimeRange,
    /// Most profiles.
    pub top_k: usize,
    /// Only from this source.
    pub source: Option<String>,
    /// Only with this time to live, as written; an unknown word finds nothing.
    pub profile_time_to_live: Option<String>,
    /// Only with one of these statuses; current ones by default.
    pub status_filter: StatusFilter,
    /// Only with one of these tags.
    pub tags: Option<Vec<String>>,
}

impl GetProfiles {
    /// Profiles when the caller does not say.
    pub const TOP_K: i64 = 30;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.required("user_id", rules::identifier(UserId::new));
                let profile_id = fields.nullable("profile_id", rules::text);
                let query = fields.nullable("query", rules::text);
                let time = TimeRange::read(fields);
                let top_k = count(fields, "top_k", Self::TOP_K, Self::TOP_K);
                let source = fields.nullable("source", rules::source_label);
                let profile_time_to_live = fields.nullable("profile_time_to_live", rules::text);
                let status_filter = status_filter(fields);
                let tags = tags(fields);
                Some(Self {
                    user_id: user_id?,
                    profile_id: profile_id?,
                    query: query?,
                    time: time?,
                    top_k: top_k?,
                    source: source?,
                    profile_time_to_live: profile_time_to_live?,
                    status_filter: status_filter?,
                    tags: tags?,
                })
            },
            |read| read.time.check(),
        )
    }
}

/// Which time of a profile is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileDate {
    /// When it was last stated or edited.
    LastModified,
    /// When it was first written.
    Created,
}

impl Choice for ProfileDate {
    const WORDS: &'static [(&'static str, Self)] =
        &[("last_modified_timestamp", Self::LastModified), ("created_at", Self::Created)];
}

/// Which profiles of all users to list, the last modified first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetAllProfiles {
    /// Most profiles; `None` is all of them.
    pub limit: Option<usize>,
    /// `None` is current; an unknown word is current too.
    pub status: Option<Status>,
    /// Only this one; upper and lower case are equal.
    pub profile_id: Option<String>,
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only those that hold this text, in any case.
    pub query: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only with this time to live, as written.
    pub profile_time_to_live: Option<String>,
    /// Not earlier than this.
    pub start_time: Option<EpochSeconds>,
    /// Not later than this.
    pub end_time: Option<EpochSeconds>,
    /// The time that is compared.
    pub date_field: ProfileDate,
    /// With `profile_id`: whatever its status and all other filters.
    pub include_tombstones: bool,
}

impl GetAllProfiles {
    /// Profiles when the caller does not say.
    pub const LIMIT: i64 = 100;

    /// Reads a query string.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        read_query(&query_object(query), |fields| {
            let limit = fields.optional("limit", Self::LIMIT, rules::integer(Bounds::NONE));
            let status = fields.nullable("status_filter", rules::text);
            let profile_id = fields.nullable("profile_id", rules::text);
            let user_id = fields.nullable("user_id", user_filter);
            let query = fields.nullable("query", rules::text);
            let source = fields.nullable("source", rules::text);
            let profile_time_to_live = fields.nullable("profile_time_to_live", rules::text);
            let start_time = fields.nullable("start_time", rules::integer(Bounds::NONE));
            let end_time = fields.nullable("end_time", rules::integer(Bounds::NONE));
            let date_field = fields.optional("date_field", ProfileDate::LastModified, rules::literal);
            let include_tombstones = fields.optional("include_tombstones", false, rules::boolean);
            let limit = limit?;
            Some(Self {
                limit: (limit >= 0).then(|| as_count(limit)),
                status: match status?.as_deref() {
                    Some("pending") => Some(Status::Pending),
                    Some("archived") => Some(Status::Archived),
                    _ => None,
                },
                profile_id: profile_id?,
                user_id: user_id?.flatten(),
                query: query?,
                source: source?,
                profile_time_to_live: profile_time_to_live?,
                start_time: start_time?,
                end_time: end_time?,
                date_field: date_field?,
                include_tombstones: include_tombstones?,
            })
        })
    }
}

/// Profiles that the caller writes.
#[derive(Debug, Clone, PartialEq)]
pub struct AddUserProfiles {
    /// At least one. `created_at` is 0: the writer fills it.
    pub user_profiles: Vec<UserProfile>,
}

impl AddUserProfiles {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let all = rules::list(1, usize::MAX, read_profile);
        let check =
            |profiles: &Vec<UserProfile>| match profiles.iter().position(|p| p.content.trim().is_empty()) {
                Some(index) => Err(format!("user_profiles[{index}].content is required for embedding")),
                None => Ok(()),
            };
        let user_profiles = read_body(body, |fields| fields.required("user_profiles", all), check)?;
        Ok(Self { user_profiles })
    }
}

fn read_profile<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<UserProfile> {
    object(None, value, at, faults, profile_fields, |_| Ok(()))
}

fn profile_fields(fields: &mut Fields<'_, '_>) -> Option<UserProfile> {
    let profile_id = fields.required("profile_id", rules::identifier(ProfileId::new));
    let user_id = fields.required("user_id", rules::identifier(UserId::new));
    let content = fields.required("content", rules::text);
    let modified = fields.required("last_modified_timestamp", rules::integer(Bounds::NONE));
    let generated_from_request_id = fields.required("generated_from_request_id", rules::text);
    let profile_time_to_live =
        fields.optional("profile_time_to_live", ProfileTimeToLive::Infinity, rules::choice);
    let expires = fields.optional("expiration_timestamp", NEVER_EXPIRES, rules::integer(Bounds::NONE));
    let custom_features = fields.nullable("custom_features", rules::json_object);
    let source = fields.nullable("source", rules::text);
    let status = fields.nullable("status", rules::choice::<WireStatus>);
    let extractor_names = fields.nullable("extractor_names", rules::texts);
    let expanded_terms = fields.nullable("expanded_terms", rules::text);
    let tags = tags(fields);
    let source_interaction_ids = source_interaction_ids(fields);
    let embedding = embedding(fields);
    let source_span = fields.nullable("source_span", rules::text);
    let notes = fields.nullable("notes", rules::text);
    let reader_angle = fields.nullable("reader_angle", rules::text);
    let merged_into = fields.nullable("merged_into", rules::text);
    let superseded_by = fields.nullable("superseded_by", rules::text);
    embedding?;
    Some(UserProfile {
        profile_id: profile_id?,
        user_id: user_id?,
        content: content?,
        last_modified_timestamp: written_epoch(modified?),
        generated_from_request_id: generated_from_request_id?,
        profile_time_to_live: profile_time_to_live?,
        expiration_timestamp: written_epoch(expires?),
        custom_features: custom_features?,
        source: source?,
        status: status?.and_then(|word| word.0),
        extractor_names: extractor_names?,
        expanded_terms: expanded_terms?,
        tags: tags?,
        source_interaction_ids: source_interaction_ids?,
        source_span: source_span?,
        notes: notes?,
        reader_angle: reader_angle?,
        merged_into: merged_into?,
        superseded_by: superseded_by?,
        created_at: 0,
    })
}

/// Reads `source_interaction_ids`.
pub(super) fn source_interaction_ids(fields: &mut Fields<'_, '_>) -> Option<Vec<i64>> {
    fields.optional(
        "source_interaction_ids",
        Vec::new(),
        rules::list(0, usize::MAX, rules::integer(Bounds::NONE)),
    )
}

/// Checks `embedding`, which is computed anew anyway.
pub(super) fn embedding(fields: &mut Fields<'_, '_>) -> Option<()> {
    fn rule<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<()> {
        let length = rules::list(0, usize::MAX, rules::number(Bounds::NONE))(value, at, faults)?.len();
        if length == 0 || length == EMBEDDING_DIMENSIONS {
            return Some(());
        }
        let reason = format!(
            "Embedding must be empty or have exactly {EMBEDDING_DIMENSIONS} dimensions, got {length}"
        );
        faults.add_value_error(at, &reason, value);
        None
    }
    fields.optional("embedding", (), rule)
}
