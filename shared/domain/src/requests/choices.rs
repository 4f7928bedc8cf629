//! The enumerations of the wire, word by word in the order of the contract, which error texts repeat.

use serde::{Deserialize, Serialize};

use crate::entities::{
    BlockingIssueKind, PlaybookStatus, ProfileTimeToLive, RetrievalExperimentArm, SessionOutcomeKind, Status,
    UserActionType,
};
use crate::validation::rules::Choice;

/// How a search ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// By meaning.
    Vector,
    /// By words.
    Fts,
    /// By both.
    #[default]
    Hybrid,
}

/// What a unified search may look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchedEntity {
    /// Profiles.
    Profiles,
    /// User playbooks.
    UserPlaybooks,
    /// Agent playbooks.
    AgentPlaybooks,
}

/// A lifecycle status as it is written in requests, where the word `None` is the current version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireStatus(pub Option<Status>);

impl Choice for WireStatus {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("None", Self(None)),
        ("archived", Self(Some(Status::Archived))),
        ("pending", Self(Some(Status::Pending))),
        ("archive_in_progress", Self(Some(Status::ArchiveInProgress))),
        ("merged", Self(Some(Status::Merged))),
        ("superseded", Self(Some(Status::Superseded))),
        ("expired", Self(Some(Status::Expired))),
    ];
}

impl Choice for UserActionType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("click", Self::Click), ("scroll", Self::Scroll), ("type", Self::Type), ("none", Self::None)];
}

impl Choice for ProfileTimeToLive {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("one_day", Self::OneDay),
        ("one_week", Self::OneWeek),
        ("one_month", Self::OneMonth),
        ("one_quarter", Self::OneQuarter),
        ("one_year", Self::OneYear),
        ("infinity", Self::Infinity),
    ];
}

impl Choice for BlockingIssueKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("missing_tool", Self::MissingTool),
        ("permission_denied", Self::PermissionDenied),
        ("external_dependency", Self::ExternalDependency),
        ("policy_restriction", Self::PolicyRestriction),
    ];
}

impl Choice for PlaybookStatus {
    const WORDS: &'static [(&'static str, Self)] =
        &[("pending", Self::Pending), ("approved", Self::Approved), ("rejected", Self::Rejected)];
}

impl Choice for RetrievalExperimentArm {
    const WORDS: &'static [(&'static str, Self)] =
        &[("treatment", Self::Treatment), ("holdout", Self::Holdout)];
}

impl Choice for SessionOutcomeKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("success", Self::Success), ("failure", Self::Failure), ("unknown", Self::Unknown)];
}

impl Choice for SearchMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("vector", Self::Vector), ("fts", Self::Fts), ("hybrid", Self::Hybrid)];
}

impl Choice for SearchedEntity {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("profiles", Self::Profiles),
        ("user_playbooks", Self::UserPlaybooks),
        ("agent_playbooks", Self::AgentPlaybooks),
    ];
}
