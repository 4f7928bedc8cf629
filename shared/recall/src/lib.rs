//! What is remembered, loaded into memory and kept warm: a user's memory, a user's conversation, and the
//! playbooks of all users of an organisation.
//!
//! Every read begins with one small consistent read of a version; what was built from the rows of that version
//! is used as long as it stands. So a search reads its own writes, and a warm one costs a single read.

mod agent_playbooks;
mod conversation;
mod embed;
mod memory;
mod org_playbooks;

use std::hash::{DefaultHasher, Hash, Hasher};

use domain::ids::{OrgId, UserHash};
use search::VersionedCache;
use store::Store;

pub use agent_playbooks::AgentPlaybookSet;
pub use conversation::{Conversation, Turn};
pub use embed::{QueryVector, QueryVectors};
pub use memory::{PlaybookSet, ProfileSet, UserMemory};
pub use org_playbooks::ORG_PLAYBOOKS_AGE_SECONDS_MAX;

/// Bytes of loaded memories that a process keeps.
pub const MEMORY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of loaded conversations that a process keeps.
pub const CONVERSATION_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of loaded agent playbooks that a process keeps.
pub const AGENT_PLAYBOOK_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of loaded playbooks of whole organisations that a process keeps.
pub const ORG_PLAYBOOK_BYTES_MAX: usize = 128 * 1024 * 1024;

type UserKey = (OrgId, UserHash);

/// Loads what is remembered, and keeps it warm within a budget.
#[derive(Debug)]
pub struct Recall {
    store: Store,
    memories: VersionedCache<UserKey, UserMemory>,
    conversations: VersionedCache<UserKey, Conversation>,
    org_playbooks: VersionedCache<OrgId, PlaybookSet>,
    org_loads: org_playbooks::OrgLoads,
    agent_playbooks: VersionedCache<OrgId, AgentPlaybookSet>,
    agent_loads: org_playbooks::OrgLoads,
}

impl Recall {
    /// Nothing loaded yet.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            memories: VersionedCache::new(MEMORY_BYTES_MAX),
            conversations: VersionedCache::new(CONVERSATION_BYTES_MAX),
            org_playbooks: VersionedCache::new(ORG_PLAYBOOK_BYTES_MAX),
            org_loads: org_playbooks::OrgLoads::default(),
            agent_playbooks: VersionedCache::new(AGENT_PLAYBOOK_BYTES_MAX),
            agent_loads: org_playbooks::OrgLoads::default(),
        }
    }
}

/// One number for all that a loaded value depends on.
fn version_of(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
