//! Asking for the verdict.

use std::time::Duration;

use domain::config::Config;
use domain::entities::FailureType;
use domain::ids::OrgId;
use learning::formatting::text::first_chars;
use learning::playbook::tools_text;
use learning::services::Services;
use llm::providers::ModelRole;
use llm::structured::chat_structured_checked;
use llm::{ChatModel, ChatRequest, Message};
use prompts::{PromptBank, Value};
use store::RequestDocument;

use super::error::JudgeError;
use super::images::image_parts;
use super::schema::AgentSuccessEvaluationOutput;
use super::transcript::{SessionTranscript, session_label, session_transcript};

/// The prompt.
pub const PURPOSE: &str = "agent_success_evaluation";
/// What the answer is called towards the provider.
const OUTPUT_NAME: &str = "AgentSuccessEvaluationOutput";
/// Longest failure reason that is kept, in characters.
pub const FAILURE_REASON_CHARS_MAX: usize = 4_000;
/// How long one call may take where the configuration does not say.
const CALL_TIME_MAX: Duration = Duration::from_secs(300);
/// How long a verdict may take, repair and retries included.
const JUDGE_TIME_MAX: Duration = Duration::from_secs(300);
/// The same where other models are asked when the first one fails.
const JUDGE_TIME_WITH_FALLBACKS_MAX: Duration = Duration::from_secs(540);
/// Judging is no place for chance.
pub(crate) const TEMPERATURE: f32 = 0.0;

/// What the judge found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the agent did what was wanted, in the end.
    pub is_success: bool,
    /// What decided the failure; never set on a success.
    pub failure_type: Option<FailureType>,
    /// Why it failed, in the judge's words; `""` when nothing was said.
    pub failure_reason: String,
    /// Whether a human took over or was demanded.
    pub is_escalated: bool,
    /// How often the user rejected, corrected or redirected the agent.
    pub number_of_correction_per_session: i64,
    /// Whether the judge saw the session's beginning and end only, since the whole was too long for it.
    pub is_windowed: bool,
}

/// Judges one user's part in a session. The documents are the requests to be judged, in their order; they belong to
/// one session and hold something to read.
///
/// # Errors
/// [`JudgeError`]: there is no verdict then, and none is made up.
pub async fn judge_session(
    services: &Services,
    org: &OrgId,
    config: &Config,
    documents: &[RequestDocument],
) -> Result<Judgement, JudgeError> {
    let model = services.orgs.chat(org, ModelRole::Evaluation).await?;
    let shown = session_transcript(documents);
    let Some(first) = documents.first().filter(|_| !shown.text.is_empty()) else {
        return Err(JudgeError::Unusable("the session holds nothing to judge".to_owned()));
    };
    let mut message = Message::user(session_prompt(config, &shown)?);
    message.parts.extend(image_parts(&services.store, documents).await?);
    let mut request = ChatRequest::new(PURPOSE, vec![message]);
    request.temperature = Some(TEMPERATURE);
    request.timeout = generation_timeout(config);
    request.deadline = Some(services.clock.now_ms().saturating_add(millis(time_max(model.as_ref()))));
    let output = ask_for_verdict(model.as_ref(), &request, first.request.session_id.as_str()).await?;
    Ok(judgement(output, &shown))
}

/// Asks, and reads the answer; one repair.
pub(super) async fn ask_for_verdict(
    model: &dyn ChatModel,
    request: &ChatRequest,
    session: &str,
) -> Result<AgentSuccessEvaluationOutput, JudgeError> {
    let label = session_label(session);
    let check = |output: &AgentSuccessEvaluationOutput| output.check(&[session, &label]);
    Ok(chat_structured_checked(model, request, OUTPUT_NAME, check).await?)
}

fn time_max(model: &dyn ChatModel) -> Duration {
    if model.has_fallbacks() { JUDGE_TIME_WITH_FALLBACKS_MAX } else { JUDGE_TIME_MAX }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// How long one call may take.
pub(crate) fn generation_timeout(config: &Config) -> Duration {
    let configured = config.llm_config.as_ref().and_then(|llm| llm.generation_timeout_seconds);
    configured.and_then(|seconds| u64::try_from(seconds).ok()).map_or(CALL_TIME_MAX, Duration::from_secs)
}

/// The question.
pub(super) fn session_prompt(config: &Config, shown: &SessionTranscript) -> Result<String, JudgeError> {
    let success = config.agent_success_config.clone().unwrap_or_default();
    let tools = config.tool_can_use.as_deref().unwrap_or(&[]);
    let tools =
        tools_text(tools.iter().map(|tool| (tool.tool_name.as_str(), tool.tool_description.as_str())));
    render(
        "agent_success_evaluation",
        &[
            ("agent_context_prompt", config.agent_context_prompt.as_deref().unwrap_or("").trim()),
            ("success_definition_prompt", success.success_definition_prompt.trim()),
            ("tool_can_use", &tools),
            ("interactions", &shown.text),
        ],
    )
}

/// Renders a prompt.
pub(crate) fn render(id: &str, variables: &[(&str, &str)]) -> Result<String, JudgeError> {
    let variables: Vec<_> = variables.iter().map(|(name, text)| (*name, Value::from(*text))).collect();
    let rendered = PromptBank::builtin().render(id, &variables, None);
    rendered.map(|rendered| rendered.text).map_err(|error| JudgeError::Unusable(error.to_string()))
}

pub(super) fn judgement(output: AgentSuccessEvaluationOutput, shown: &SessionTranscript) -> Judgement {
    let reason = output.failure_reason.unwrap_or_default();
    Judgement {
        is_success: output.is_success,
        failure_type: output.failure_type,
        failure_reason: first_chars(reason.trim(), FAILURE_REASON_CHARS_MAX).to_owned(),
        is_escalated: output.is_escalated,
        number_of_correction_per_session: i64::try_from(output.number_of_correction_per_session)
            .unwrap_or(i64::MAX),
        is_windowed: shown.is_windowed,
    }
}
