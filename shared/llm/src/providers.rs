//! The known providers, as data: where they are, what speaks to them, which models they give each role.

use crate::types::ToolChoice;

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// Amazon Bedrock Converse.
    Bedrock,
}

/// How far a provider of the OpenAI format goes in holding an answer to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaMode {
    /// `response_format` of type `json_schema`.
    Strict,
    /// `response_format` of type `json_object`; the schema travels in the instructions.
    Object,
}

/// What a provider of the OpenAI format can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Abilities {
    /// How the schema of an answer is asked for.
    pub schema: SchemaMode,
    /// Whether `tool_choice` may force a call.
    pub forces_tools: bool,
    /// Whether `seed` is understood.
    pub seed: bool,
}

impl Abilities {
    /// Of OpenAI itself, and what is assumed of custom endpoints.
    pub const FULL: Self = Self { schema: SchemaMode::Strict, forces_tools: true, seed: true };
    /// Strict schemas, but no seed.
    pub const NO_SEED: Self = Self { seed: false, ..Self::FULL };
    /// JSON without a schema.
    pub const OBJECT: Self = Self { schema: SchemaMode::Object, forces_tools: true, seed: false };
    /// JSON without a schema, and tools only as the model likes.
    pub const LEAST: Self = Self { forces_tools: false, ..Self::OBJECT };

    /// The choice as this provider understands it.
    pub(crate) fn tool_choice(self, asked: &ToolChoice) -> &ToolChoice {
        match asked {
            ToolChoice::Required | ToolChoice::Tool(_) if !self.forces_tools => &ToolChoice::Auto,
            other => other,
        }
    }
}

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModelRole {
    /// Extraction, consolidation, aggregation.
    Generation,
    /// Session evaluation.
    Evaluation,
    /// The gate before extraction.
    ShouldRun,
    /// Query reformulation before a search.
    PreRetrieval,
    /// Vectors.
    Embedding,
    /// The extraction agent's tool loop.
    ExtractionAgent,
}

impl ModelRole {
    /// The word in configuration and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generation => "generation",
            Self::Evaluation => "evaluation",
            Self::ShouldRun => "should_run",
            Self::PreRetrieval => "pre_retrieval",
            Self::Embedding => "embedding",
            Self::ExtractionAgent => "extraction_agent",
        }
    }
}

/// A provider that is found by its key.
#[derive(Debug, Clone, Copy)]
pub struct Provider {
    /// Name in configuration; also the prefix of its model names.
    pub name: &'static str,
    /// The variable that holds its key.
    pub key_variable: &'static str,
    /// Where it is.
    pub base_url: &'static str,
    /// What it speaks.
    pub format: WireFormat,
    /// What it can do.
    pub abilities: Abilities,
    generation: &'static str,
    evaluation: &'static str,
    small: &'static str,
    embedding: Option<&'static str>,
}

impl Provider {
    /// The model for a role; `None` when the provider has none.
    #[must_use]
    pub fn model(&self, role: ModelRole) -> Option<&'static str> {
        match role {
            ModelRole::Generation | ModelRole::ExtractionAgent => Some(self.generation),
            ModelRole::Evaluation => Some(self.evaluation),
            ModelRole::ShouldRun | ModelRole::PreRetrieval => Some(self.small),
            ModelRole::Embedding => self.embedding,
        }
    }
}

const fn provider(
    name: &'static str,
    key_variable: &'static str,
    base_url: &'static str,
    abilities: Abilities,
    [generation, evaluation, small]: [&'static str; 3],
) -> Provider {
    Provider {
        name,
        key_variable,
        base_url,
        format: WireFormat::OpenAi,
        abilities,
        generation,
        evaluation,
        small,
        embedding: None,
    }
}

/// The known providers in the order in which they are tried.
pub const PROVIDERS: [Provider; 10] = [
    Provider {
        format: WireFormat::Anthropic,
        ..provider(
            "anthropic",
            "ANTHROPIC_API_KEY",
            "https://api.anthropic.com/v1",
            Abilities::NO_SEED,
            ["claude-sonnet-4-6", "claude-sonnet-4-6", "claude-haiku-4-5-20251001"],
        )
    },
    Provider {
        format: WireFormat::Gemini,
        embedding: Some("gemini/gemini-embedding-001"),
        ..provider(
            "gemini",
            "GEMINI_API_KEY",
            "https://generativelanguage.googleapis.com/v1beta",
            Abilities::FULL,
            ["gemini/gemini-3-flash-preview"; 3],
        )
    },
    provider(
        "openrouter",
        "OPENROUTER_API_KEY",
        "https://openrouter.ai/api/v1",
        Abilities::FULL,
        ["openrouter/google/gemini-3-flash-preview"; 3],
    ),
    provider(
        "deepseek",
        "DEEPSEEK_API_KEY",
        "https://api.deepseek.com/v1",
        Abilities::OBJECT,
        ["deepseek/deepseek-chat"; 3],
    ),
    provider(
        "minimax",
        "MINIMAX_API_KEY",
        "https://api.minimax.io/v1",
        Abilities::LEAST,
        ["minimax/MiniMax-M3"; 3],
    ),
    provider(
        "dashscope",
        "DASHSCOPE_API_KEY",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        Abilities::OBJECT,
        ["dashscope/qwen-plus", "dashscope/qwen-plus", "dashscope/qwen-turbo"],
    ),
    provider("xai", "XAI_API_KEY", "https://api.x.ai/v1", Abilities::NO_SEED, ["xai/grok-3-mini"; 3]),
    provider(
        "moonshot",
        "MOONSHOT_API_KEY",
        "https://api.moonshot.ai/v1",
        Abilities::LEAST,
        ["moonshot/moonshot-v1-8k"; 3],
    ),
    provider("zai", "ZAI_API_KEY", "https://api.z.ai/api/paas/v4", Abilities::LEAST, ["zai/glm-5.1"; 3]),
    Provider {
        embedding: Some("text-embedding-3-small"),
        ..provider(
            "openai",
            "OPENAI_API_KEY",
            "https://api.openai.com/v1",
            Abilities::FULL,
            ["gpt-5.5", "gpt-5.4-mini", "gpt-5-nano"],
        )
    },
];

/// The known provider of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}
