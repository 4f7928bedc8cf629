//! The configuration of an organisation: its schema with defaults, how callers change it, what old documents
//! become, and its secrets.
//!
//! Two spellings exist. *Stored* ([`Config::to_stored`]) keeps `null` for a window or stride that nobody set;
//! *wire* ([`Config::to_wire`]) has the values in force. Secrets are in both: take them out with
//! [`Config::take_secrets`] before storing, and hide them with [`Config::masked`] before showing.

#[macro_use]
mod define;
mod change;
mod evaluation;
mod experiments;
mod extractors;
mod migrate;
mod operations;
mod optimizer;
mod pending_calls;
mod providers;
mod schema;
mod secrets;
mod storage;
mod windows;

pub use change::{Change, ConfigFault};
pub use evaluation::{AgentSuccessConfig, SHADOW_JUDGE_VERSION, SHADOW_JUDGE_VERSIONS};
pub(crate) use experiments::{EXPERIMENT_ID_CHARS_MAX, HOLDOUT};
pub use experiments::{ExperimentFault, RetrievalExperiment, RetrievalExperimentRecord};
pub use extractors::{
    Aggregation, Deduplication, DeduplicationStrategy, PlaybookExtractor, ProfileExtractor,
};
pub use operations::{
    ExpiryReclamation, GovernanceRetention, LineageGc, LlmConfig, Reflection, RetrievalFloor, ToolUse,
};
pub use optimizer::PlaybookOptimizer;
pub use pending_calls::{PendingToolCalls, ToolOverride};
pub use providers::{ApiKeys, AzureOpenAi, CustomEndpoint, DashScope, OpenAi, ProviderKey};
pub use schema::Config;
pub use secrets::SecretString;
pub use storage::StorageConfig;
pub use windows::{BATCH_WINDOW, DEFAULT_STRIDE, DEFAULT_WINDOW, ExtractionPreset};
