//! The partitions of the index `by_time`.

use domain::ids::{OrgId, hash_hex};

use super::VERSION_HASH_CHARS;

/// What is listed by time across users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Requests, by when the server received them.
    Requests,
    /// Requests, by the latest time of their interactions.
    Interactions,
    /// Profiles, by last modification.
    Profiles,
    /// User playbooks, by creation.
    UserPlaybooks,
    /// Profile changes, by when they were made.
    ProfileChanges,
    /// Verdicts on sessions, by when the session began.
    Evaluations,
    /// Outcomes of sessions, by when they occurred.
    Outcomes,
    /// Sessions with verdicts on the learnings that they were given, by when the session began.
    LearningSessions,
    /// Verdicts on learnings, by when the interaction happened to which they were attached.
    LearningVerdicts,
}

impl Listing {
    /// The partition of the index `by_time`. One shard for now; more can only be added.
    pub(crate) fn partition(self, org: &OrgId) -> String {
        let kind = match self {
            Self::Requests => "R",
            Self::Interactions => "I",
            Self::Profiles => "P",
            Self::UserPlaybooks => "B",
            Self::ProfileChanges => "PCL",
            Self::Evaluations => "E",
            Self::Outcomes => "SO",
            Self::LearningSessions => "RLS",
            Self::LearningVerdicts => "RL",
        };
        format!("O#{org}#{kind}#0")
    }
}

/// The partition of the index `by_time` that lists verdicts on shadow answers under one version of the judge's
/// prompt, by when they were judged: numbers are never made of more than one version.
pub(crate) fn shadow_verdicts_partition(org: &OrgId, version: &str) -> String {
    format!("O#{org}#SV-{}#0", &hash_hex(version)[..VERSION_HASH_CHARS])
}
