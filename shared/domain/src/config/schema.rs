//! The whole configuration.

use serde_json::Value;

use super::evaluation::{AgentSuccessConfig, SHADOW_JUDGE_VERSION, shadow_judge_version};
use super::experiments::{RetrievalExperiment, RetrievalExperimentRecord};
use super::extractors::{Aggregation, PlaybookExtractor, ProfileExtractor};
use super::migrate;
use super::operations::{
    ExpiryReclamation, GovernanceRetention, LineageGc, LlmConfig, Reflection, RetrievalFloor, ToolUse,
};
use super::optimizer::PlaybookOptimizer;
use super::pending_calls::PendingToolCalls;
use super::providers::ApiKeys;
use super::storage::StorageConfig;
use super::windows::ExtractionPreset;
use crate::validation::rules::{self, Bounds, POSITIVE};
use crate::validation::{Faults, Path, ValidationErrors};

record! {
    /// The configuration of an organisation.
    Config "Config" {
        /// Where rows are kept.
        storage_config: Option<StorageConfig> = required(rules::nullable(StorageConfig::read)),
        /// What became of the last look at the store: 0 unknown, 1 incomplete, 2 failed, 3 succeeded.
        storage_config_test: Option<i64> = nullable_or(Some(0), storage_test),
        /// What the agent does, for prompts.
        agent_context_prompt: Option<String> = nullable(rules::text),
        /// The tools that the agent has, for prompts.
        tool_can_use: Option<Vec<ToolUse>> = nullable(rules::list(0, usize::MAX, ToolUse::read)),
        /// Profiles; `None`: none are learned.
        profile_extractor_config: Option<ProfileExtractor> =
            nullable_or(Some(ProfileExtractor::default()), ProfileExtractor::read),
        /// User playbooks; `None`: none are learned.
        user_playbook_extractor_config: Option<PlaybookExtractor> =
            nullable_or(Some(PlaybookExtractor::default()), PlaybookExtractor::read),
        /// Evaluation; `None`: off.
        agent_success_config: Option<AgentSuccessConfig> =
            nullable_or(Some(AgentSuccessConfig::default()), AgentSuccessConfig::read),
        /// A window and stride by name.
        extraction_preset: Option<ExtractionPreset> = nullable(rules::choice),
        /// Interactions of a window, if set; see [`Config::window`].
        window_size: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Interactions between windows, if set; see [`Config::stride`].
        stride_size: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Seconds of silence after which less than a stride is learned from; 0 never.
        extraction_idle_timeout_seconds: i64 = optional(21_600, rules::integer(Bounds::<i64>::from(0))),
        /// Keys of model providers.
        api_key_config: Option<ApiKeys> = nullable(ApiKeys::read),
        /// The models to use.
        llm_config: Option<LlmConfig> = nullable(LlmConfig::read),
        /// The revision of memories that the agent cites.
        reflection_config: Reflection = optional(Reflection::default(), Reflection::read),
        /// The retrieval experiment that runs.
        retrieval_experiment_config: Option<RetrievalExperiment> = nullable(RetrievalExperiment::read),
        /// All retrieval experiments.
        retrieval_experiment_history: Vec<RetrievalExperimentRecord> =
            optional(Vec::new(), rules::list(0, usize::MAX, RetrievalExperimentRecord::read)),
        /// The worst score that a search still gives out.
        retrieval_floor: RetrievalFloor = optional(RetrievalFloor::default(), RetrievalFloor::read),
        /// The optimiser of playbooks.
        playbook_optimizer_config: PlaybookOptimizer =
            optional(PlaybookOptimizer::default(), PlaybookOptimizer::read),
        /// The removal of rows that were replaced.
        lineage_gc: LineageGc = optional(LineageGc::default(), LineageGc::read),
        /// The removal of profiles whose time ran out.
        expiry_reclamation: ExpiryReclamation =
            optional(ExpiryReclamation::default(), ExpiryReclamation::read),
        /// The removal of audit events.
        governance_retention: GovernanceRetention =
            optional(GovernanceRetention::default(), GovernanceRetention::read),
        /// Questions that extraction may ask people.
        pending_tool_call_config: PendingToolCalls =
            optional(PendingToolCalls::default(), PendingToolCalls::read),
        /// Learn without asking first whether it is worth it.
        skip_should_run_check: bool = optional(false, rules::boolean),
        /// Find rows by synonyms too.
        enable_document_expansion: bool = optional(false, rules::boolean),
        /// Compare the agent's answers with those of its shadow.
        shadow_mode_enabled: bool = optional(false, rules::boolean),
        /// Most sessions of each group that a regeneration judges.
        eval_sample_n_per_stratum: i64 = optional(200, rules::integer(POSITIVE)),
        /// Judgements at once.
        eval_concurrency_limit: i64 = optional(10, rules::integer(POSITIVE)),
        /// The version of the prompt that compares with the shadow.
        shadow_comparison_judge_prompt_version: String =
            optional(SHADOW_JUDGE_VERSION.to_owned(), shadow_judge_version),
    }
    forbids others;
    check Config::check_windows;
}

fn storage_test<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<i64> {
    let number = rules::integer(Bounds::NONE)(value, at, &mut Faults::default());
    let known = number.filter(|number| (0..=3).contains(number));
    if known.is_none() {
        let expected = "0, 1, 2 or 3";
        let ctx = Some(serde_json::json!({ "expected": expected }));
        faults.add("enum", at, format!("Input should be {expected}"), value, ctx);
    }
    known
}

impl Default for Config {
    fn default() -> Self {
        Self {
            storage_config: Some(StorageConfig::default()),
            storage_config_test: Some(0),
            agent_context_prompt: None,
            tool_can_use: None,
            profile_extractor_config: Some(ProfileExtractor::default()),
            user_playbook_extractor_config: Some(PlaybookExtractor::default()),
            agent_success_config: Some(AgentSuccessConfig::default()),
            extraction_preset: None,
            window_size: None,
            stride_size: None,
            extraction_idle_timeout_seconds: 21_600,
            api_key_config: None,
            llm_config: None,
            reflection_config: Reflection::default(),
            retrieval_experiment_config: None,
            retrieval_experiment_history: Vec::new(),
            retrieval_floor: RetrievalFloor::default(),
            playbook_optimizer_config: PlaybookOptimizer::default(),
            lineage_gc: LineageGc::default(),
            expiry_reclamation: ExpiryReclamation::default(),
            governance_retention: GovernanceRetention::default(),
            pending_tool_call_config: PendingToolCalls::default(),
            skip_should_run_check: false,
            enable_document_expansion: false,
            shadow_mode_enabled: false,
            eval_sample_n_per_stratum: 200,
            eval_concurrency_limit: 10,
            shadow_comparison_judge_prompt_version: SHADOW_JUDGE_VERSION.to_owned(),
        }
    }
}

impl Config {
    /// Reads a complete document that callers or [`Config::load`] brought into today's form.
    pub(super) fn read_document(document: &Value) -> Result<Self, ValidationErrors> {
        let mut faults = Faults::default();
        let read = Self::read(document, Path::ROOT, &mut faults);
        faults.finish(read)
    }

    /// Reads a stored document: old names become new ones, and members that nobody knows are dropped.
    ///
    /// # Errors
    /// [`ValidationErrors`] when it is corrupt. Never fall back to defaults then: the next write would
    /// destroy the settings.
    pub fn load(document: &Value) -> Result<Self, ValidationErrors> {
        let mut document = document.clone();
        if let Value::Object(map) = &mut document {
            migrate::rename(map);
            migrate::strip_nulls(map);
            migrate::drop_unknown(map);
            migrate::unpin_unknown_judge(map);
        }
        Self::read_document(&document)
    }

    /// The document to store. Contains the secrets, unless they were taken out.
    #[must_use]
    pub fn to_stored(&self) -> Value {
        // Texts, numbers, lists and maps with text keys: serialising them cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Clients of the recorded contract do not know settings of ours, and need not as long as nobody set them.
    fn hide_own_defaults(&self, document: &mut Value) {
        let extractor = self.user_playbook_extractor_config.as_ref();
        let is_default = extractor.is_none_or(|extractor| {
            extractor.aggregation_config.min_distinct_users == Aggregation::default().min_distinct_users
        });
        let aggregation = document.pointer_mut("/user_playbook_extractor_config/aggregation_config");
        if let Some(Value::Object(members)) = aggregation.filter(|_| is_default) {
            members.shift_remove("min_distinct_users");
        }
        if self.reflection_config == Reflection::default()
            && let Value::Object(members) = document
        {
            members.shift_remove("reflection_config");
        }
    }

    /// The document to show, with the window and stride in force. Contains the secrets, unless masked.
    #[must_use]
    pub fn to_wire(&self) -> Value {
        let mut document = self.to_stored();
        document["window_size"] = self.window().into();
        document["stride_size"] = self.stride().into();
        self.hide_own_defaults(&mut document);
        document
    }
}
