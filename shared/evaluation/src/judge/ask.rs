//! Asking the judge.

use domain::config::Config;
use domain::ids::OrgId;
use domain::time::EpochMillis;
use learning::images::image_part;
use learning::services::{OrgServicesError, Services};
use llm::providers::ModelRole;
use llm::structured::chat_structured;
use llm::types::Part;
use llm::{ChatError, ChatRequest, Message};
use prompts::{PromptBank, Value};
use store::{RequestDocument, StoreError};

use super::answer::{AgentSuccessEvaluationOutput, Judgement};
use super::transcript::session_text;

/// The prompt, and what the call is for.
const PURPOSE: &str = "agent_success_evaluation";
/// Longest a judge may take, retries included, in milliseconds.
const JUDGE_MS: i64 = 300_000;
/// Images that are shown, the last ones of the session.
const IMAGES_MAX: usize = 10;

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Model or storage did not answer: worth another try.
    #[error("the judge is not available: {0}")]
    Unavailable(String),
    /// The model gave no usable answer, or the configuration is wrong: another try would be no better.
    #[error("the judge gave no verdict: {0}")]
    Unusable(String),
}

impl From<StoreError> for JudgeError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<ChatError> for JudgeError {
    fn from(error: ChatError) -> Self {
        let text = format!("{error}: {}", error.detail());
        if error.is_retryable() { Self::Unavailable(text) } else { Self::Unusable(text) }
    }
}

impl From<OrgServicesError> for JudgeError {
    fn from(error: OrgServicesError) -> Self {
        match error {
            OrgServicesError::Store(error) => error.into(),
            OrgServicesError::Configuration(why) => Self::Unusable(why),
        }
    }
}

/// Judges a session by its requests, which stand in their order; `None` when there is nothing in them to be read.
///
/// # Errors
/// [`JudgeError`]; a verdict is never made up.
pub async fn judge_session(
    services: &Services,
    org: &OrgId,
    config: &Config,
    documents: &[RequestDocument],
    deadline_ms: EpochMillis,
) -> Result<Option<Judgement>, JudgeError> {
    let shown = session_text(documents);
    if shown.text.is_empty() {
        return Ok(None);
    }
    let definition = config.agent_success_config.clone().unwrap_or_default().success_definition_prompt;
    let tools = config.tool_can_use.as_deref().unwrap_or(&[]);
    let tools: Vec<String> =
        tools.iter().map(|tool| format!("{}: {}", tool.tool_name, tool.tool_description)).collect();
    let variables = [
        ("agent_context_prompt", config.agent_context_prompt.as_deref().unwrap_or("").trim()),
        ("success_definition_prompt", definition.trim()),
        ("tool_can_use", &tools.join("\n")),
        ("interactions", &shown.text),
    ]
    .map(|(name, text)| (name, Value::from(text)));
    let prompt = PromptBank::builtin().render(PURPOSE, &variables, None);
    let prompt = prompt.map_err(|error| JudgeError::Unusable(error.to_string()))?.text;
    let mut message = Message::user(prompt);
    message.parts.extend(images(services, documents).await?);
    let mut request = ChatRequest::new(PURPOSE, vec![message]);
    request.deadline = Some(deadline_ms.min(services.clock.now_ms() + JUDGE_MS));
    let model = services.orgs.chat(org, ModelRole::Evaluation).await?;
    let answer: AgentSuccessEvaluationOutput = chat_structured(model.as_ref(), &request, PURPOSE).await?;
    Ok(Some(Judgement::of(answer, shown.is_windowed)))
}

async fn images(services: &Services, documents: &[RequestDocument]) -> Result<Vec<Part>, StoreError> {
    let interactions = documents.iter().rev().flat_map(|document| document.interactions.iter().rev());
    let mut found = Vec::new();
    for interaction in interactions {
        if found.len() == IMAGES_MAX {
            break;
        }
        found.extend(image_part(&services.store, interaction).await?);
    }
    found.reverse();
    Ok(found)
}
