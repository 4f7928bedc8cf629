//! Everything that is kept: one DynamoDB table and one S3 bucket.
//!
//! *Architecture invariants:* table names, key prefixes and attribute names occur only in this crate; no
//! function reads or writes without an [`OrgId`](domain::ids::OrgId), with two exceptions: the one that finds the
//! organisation of an API key, and what belongs to the deployment itself (`site.rs`: its variables, and the
//! invitations by which organisations are created); reads that decide anything are consistent.

mod access;
mod agent_playbooks;
mod aggregation_changes;
mod aggregation_commit;
mod aggregation_inbox;
mod aggregation_operations;
mod aggregations;
mod api_keys;
mod attributes;
mod cluster_results;
mod configs;
mod counters;
mod cursors;
mod due;
mod edits;
mod error;
mod evaluations;
mod experiments;
mod finalize;
mod flipping;
mod flips;
mod generation;
mod grades;
mod heads;
mod keys;
mod learning;
mod leases;
mod listing;
mod lookups;
mod memory;
mod objects;
mod operation_users;
mod operations;
mod outbox;
mod outcome_lists;
mod outcomes;
mod parking;
mod profile_changes;
mod profiles;
mod publish;
mod publish_items;
mod regeneration;
mod regeneration_lanes;
mod requests;
mod retrieved_learning;
mod retrieved_learning_lists;
mod retry;
mod rewriting;
mod rows;
mod session_index;
mod session_parts;
mod session_timers;
mod sessions;
mod shadow_jobs;
mod shadow_verdicts;
mod site;
mod stalls;
mod tagging;
mod transaction;
mod turn_vectors;
mod turns;
mod usage;
mod user_playbooks;
mod version_marks;
mod version_operations;
mod visible;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use domain::time::Clock;

pub use agent_playbooks::AgentPlaybookRow;
pub use aggregation_changes::{AgentPlaybookSnapshot, AgentPlaybookUpdate, AggregationChange, RunMode};
pub use aggregation_commit::{AggregationCommit, AggregationCommitError, FINGERPRINT_BYTES_INLINE_MAX};
pub use aggregation_inbox::{AggregationInputs, InboxMark};
pub use aggregation_operations::{
    AggregationOperation, AggregationOperationStatus, AggregationResult, OPERATIONS_PER_RUN_MAX, Submitted,
};
pub use aggregations::{AggregationRecord, AggregationState, ClusterRecord, ClusterRecords};
pub use api_keys::{ApiKeyRecord, NewApiKey, OrgApiKey, Organisation};
pub use configs::{CONFIG_VERSIONS_KEPT, ConfigConflict, PastConfig, StoredConfig};
pub use cursors::{Cursor, CursorName, WindowReceipt};
pub use due::{DUE_SHARDS, DueAggregation, DueEntry, DueOperation, DueUser};
pub use edits::{Deleted, EffectsOf};
pub use error::StoreError;
pub use evaluations::{EvaluationCommit, EvaluationCommitError};
pub use experiments::AttributedSession;
pub use finalize::{FinalizeError, Finalized};
pub use flipping::UserFlip;
pub use flips::RowScope;
pub use generation::{GenerationCommit, GenerationCommitError};
pub use grades::{DueGrade, GRADE_STALE_SECONDS, Grade, GradeOrder, GradeOutcome};
pub use heads::{FinishHead, Head};
pub use keys::{AgentKeys, Key, Listing, UserKeys, VersionMark};
pub use learning::{CommitError, LearningCommit, PlaybookRows, ProfileRows};
pub use leases::{LEASE_MS, Lease, LeaseError, MemoryVersion};
pub use listing::{Page, TimeEntry};
pub use lookups::RequestReceipt;
pub use memory::{DirectWriteError, EFFECTS_MAX, ROW_BYTES_MAX, ReplaceError};
pub use objects::Objects;
pub use operation_users::{NextUsers, OperationUser, Outcomes, UserStart};
pub use operations::{
    Claim, NewOperation, OPERATION_REVIVE_SECONDS, OPERATION_STALE_SECONDS, Operation, OperationEnd,
};
pub use outbox::{Effect, FollowUp, OUTBOX_LEFT_OVER_SECONDS, OutboxEntry};
pub use outcome_lists::OutcomeFilter;
pub use outcomes::{OutcomeCommit, OutcomeCommitError};
pub use parking::{PUT_BACK_PER_LOOK_MAX, TendedStall};
pub use profile_changes::ProfileChange;
pub use profiles::ProfileRow;
pub use publish::{Admission, NewRequest, PublishError, Published};
pub use regeneration::{
    NewRegeneration, REGENERATION_LANES_MAX, RegenerationCandidate, RegenerationJob, RequestTrace,
};
pub use regeneration_lanes::{DueLane, Lane, WaitingCandidate};
pub use requests::{
    DOCUMENT_BYTES_INLINE_MAX, INTERACTION_BYTES_INLINE_MAX, POSITIONS_PER_USER_NUMBER, RequestDocument,
    interaction_id, split_interaction_id,
};
pub use retrieved_learning::{
    ROWS_PER_TRANSACTION, RetrievedLearningCommit, RetrievedLearningCommitError, RetrievedLearningRecord,
};
pub use retrieved_learning_lists::RetrievedLearningFilter;
pub use retry::{ATTEMPTS_MAX, Retries};
pub use rows::StoredVector;
pub use session_index::{SESSION_BYTES_KEPT_MAX, SessionEntry, SessionIndex};
pub use session_parts::{
    SESSION_USERS_CHECKED_MAX, SESSION_USERS_MAX, SessionParts, SessionPartsError, StoredSessionOutcome,
};
pub use session_timers::{
    DueSession, EvaluationWanted, NextLook, SWEEP_GRACE_SECONDS, SessionHeld, SessionTaken, SessionTimer,
};
pub use sessions::SessionRecord;
pub use shadow_jobs::{DueShadow, ShadowTurn};
pub use shadow_verdicts::{ShadowCommit, ShadowCommitError};
pub use site::{Invitation, Redeemed, SiteVar};
pub use stalls::{NewStall, STALL_MESSAGE_CHARS_MAX, STALL_PROBE_SECONDS, Stall};
pub use tagging::{TaggedRows, TaggingProgress};
pub use turn_vectors::{TurnVectorProgress, TurnVectors, VECTORS_PER_ITEM_MAX};
pub use turns::StoredTurn;
pub use usage::UsageTotals;
pub use user_playbooks::UserPlaybookRow;
pub use version_operations::{
    DueVersions, VERSION_RUNNER_SILENT_SECONDS, VersionCounts, VersionOperation, VersionProgress,
    VersionUsers,
};
pub use visible::MemoryRows;

/// The table and the bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    dynamo: aws_sdk_dynamodb::Client,
    table: String,
    objects: Objects,
    retries: Retries,
    clock: Arc<dyn Clock>,
    /// See [`Store::void_earlier_leases`]; shared by all clones.
    void_leases_until_ms: Arc<AtomicI64>,
}

impl Store {
    /// Uses `table` and the bucket behind `objects`; `retries` says how to wait for other writers.
    #[must_use]
    pub fn new(
        dynamo: aws_sdk_dynamodb::Client,
        table: String,
        objects: Objects,
        retries: Retries,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { dynamo, table, objects, retries, clock, void_leases_until_ms: Arc::default() }
    }

    /// The bucket.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The clock by which rows are stamped.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
