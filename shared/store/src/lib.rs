//! Everything that is kept: one DynamoDB table and one S3 bucket.
//!
//! *Architecture invariants:* table names, key prefixes and attribute names occur only in this crate; no
//! function reads or writes without an [`OrgId`](domain::ids::OrgId), except the one that finds the
//! organisation of an API key; reads that decide anything are consistent.

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
mod error;
mod heads;
mod keys;
mod learning;
mod leases;
mod listing;
mod lookups;
mod memory;
mod objects;
mod outbox;
mod profile_changes;
mod profiles;
mod publish;
mod requests;
mod retry;
mod rows;
mod sessions;
mod transaction;
mod turn_vectors;
mod usage;
mod user_playbooks;

use std::sync::Arc;

use domain::time::Clock;

pub use agent_playbooks::AgentPlaybookRow;
pub use aggregation_changes::{AgentPlaybookSnapshot, AgentPlaybookUpdate, AggregationChange, RunMode};
pub use aggregation_commit::{AggregationCommit, AggregationCommitError, FINGERPRINT_BYTES_INLINE_MAX};
pub use aggregation_inbox::{AggregationInputs, InboxMark};
pub use aggregation_operations::{
    AggregationOperation, AggregationOperationStatus, AggregationResult, OPERATIONS_PER_RUN_MAX, Submitted,
};
pub use aggregations::{AggregationRecord, AggregationState, ClusterRecord, ClusterRecords};
pub use api_keys::{ApiKeyRecord, NewApiKey, Organisation};
pub use configs::{ConfigConflict, StoredConfig};
pub use cursors::{Cursor, WindowReceipt};
pub use due::{DUE_SHARDS, DueAggregation, DueEntry, DueUser};
pub use error::StoreError;
pub use heads::{FinishHead, Head};
pub use keys::{AgentKeys, Key, Listing, UserKeys};
pub use learning::{CommitError, LearningCommit, PlaybookRows, ProfileRows};
pub use leases::{LEASE_MS, Lease, LeaseError, MemoryVersion};
pub use listing::{Page, TimeEntry};
pub use lookups::RequestReceipt;
pub use memory::{DirectWriteError, EFFECTS_MAX, ROW_BYTES_MAX};
pub use objects::Objects;
pub use outbox::{Effect, FollowUp, OUTBOX_LEFT_OVER_SECONDS, OutboxEntry};
pub use profile_changes::ProfileChange;
pub use profiles::ProfileRow;
pub use publish::{Admission, NewRequest, PublishError, Published};
pub use requests::{
    DOCUMENT_BYTES_INLINE_MAX, INTERACTION_BYTES_INLINE_MAX, POSITIONS_PER_USER_NUMBER, RequestDocument,
    interaction_id, split_interaction_id,
};
pub use retry::{ATTEMPTS_MAX, Retries};
pub use rows::StoredVector;
pub use sessions::SessionRecord;
pub use turn_vectors::{TurnVectorProgress, TurnVectors, VECTORS_PER_ITEM_MAX};
pub use usage::UsageTotals;
pub use user_playbooks::UserPlaybookRow;

/// The table and the bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    dynamo: aws_sdk_dynamodb::Client,
    table: String,
    objects: Objects,
    retries: Retries,
    clock: Arc<dyn Clock>,
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
        Self { dynamo, table, objects, retries, clock }
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
