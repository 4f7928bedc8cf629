//! Asking models: prompts rendered, the gate, and the extraction loop.

use std::sync::Arc;

use domain::learning::LearningKind;
use domain::time::EpochMillis;
use llm::providers::ModelRole;
use llm::structured::chat_structured_checked;
use llm::tool_loop::{FinishTool, NoTools, STEPS_MAX, ToolLoopError, run_tool_loop};
use llm::types::Part;
use llm::{ChatModel, ChatRequest, Message};
use prompts::{PromptBank, Value};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Run;
use crate::formatting::transcript;
use crate::gate::parse_gate_answer;
use crate::images::image_source;
use crate::playbook::{comparisons, has_expert_content, tools_text};
use crate::worker::{FailureCode, WindowFailure};

/// The tool by which an extraction ends.
const FINISH_TOOL: &str = "finish_extraction";

/// Renders a prompt. A failure is a fault of the configuration: retrying cannot mend it.
pub(crate) fn render(id: &str, variables: &[(&str, &str)]) -> Result<String, WindowFailure> {
    let variables: Vec<_> = variables.iter().map(|(name, text)| (*name, Value::from(*text))).collect();
    PromptBank::builtin()
        .render(id, &variables, None)
        .map(|rendered| rendered.text)
        .map_err(|error| WindowFailure::window(FailureCode::Configuration, error.to_string()))
}

impl Run<'_> {
    async fn model(&self, role: ModelRole) -> Result<Arc<dyn ChatModel>, WindowFailure> {
        Ok(self.services.orgs.chat(self.keys.org, role).await?)
    }

    /// Asks a cheap model whether the window is worth an extraction. An answer that is neither yes nor no is
    /// asked for once more, and then taken for yes: a wrong yes costs a call, a wrong no a memory.
    pub(super) async fn gate(&self, kind: LearningKind) -> Result<bool, WindowFailure> {
        let (purpose, text) = self.gate_prompt(kind)?;
        let model = self.model(ModelRole::ShouldRun).await?;
        let mut request = ChatRequest::new(purpose, vec![Message::user(text)]);
        request.deadline = Some(self.deadline_ms);
        let (service, extractor) = match kind {
            LearningKind::Profile => (kind.as_str(), "profile_extractor_config"),
            LearningKind::Playbook => (kind.as_str(), "user_playbook_extractor_config"),
        };
        let (identifier, asked) = (self.keys.user.as_str(), model.model_name());
        tracing::info!(
            event = "consolidated_should_run_start",
            service,
            identifier,
            model = asked,
            extractor
        );
        let started = self.services.clock.now_ms();
        let decided = self.ask_gate(model.as_ref(), &request, kind).await;
        tracing::info!(
            event = "consolidated_should_run_end",
            service,
            identifier,
            model = asked,
            extractor,
            elapsed_seconds = self.seconds_since(started),
            decision = match &decided {
                Ok(true) => "should_run",
                Ok(false) => "should_skip",
                Err(_) => "failed",
            },
        );
        decided
    }

    async fn ask_gate(
        &self,
        model: &dyn ChatModel,
        request: &ChatRequest,
        kind: LearningKind,
    ) -> Result<bool, WindowFailure> {
        for _ in 0..2 {
            let answer = model.chat(request).await?;
            if let Some(decision) = answer.text.as_deref().and_then(parse_gate_answer) {
                return Ok(decision);
            }
        }
        tracing::warn!(event = "gate_answer_unreadable", kind = kind.as_str());
        Ok(true)
    }

    /// For the log.
    pub(super) fn seconds_since(&self, started_ms: EpochMillis) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a duration for people to read")]
        let seconds = self.services.clock.now_ms().saturating_sub(started_ms) as f64 / 1000.0;
        seconds
    }

    pub(super) fn gate_prompt(&self, kind: LearningKind) -> Result<(&'static str, String), WindowFailure> {
        let turns = self.turns();
        let interactions = transcript(&turns).text;
        let context = self.agent_context();
        match kind {
            LearningKind::Profile => {
                let extractor = self.config.profile_extractor_config.clone().unwrap_or_default();
                let definition = extractor.extraction_definition_prompt.trim();
                let wanted = match extractor.should_extract_profile_prompt_override.as_deref().map(str::trim)
                {
                    Some(condition) if !condition.is_empty() => {
                        format!("definition: {definition}; condition: {condition}")
                    }
                    _ => format!("definition: {definition}"),
                };
                let variables = [
                    ("agent_context_prompt", context),
                    ("should_extract_profile_prompt", &wanted),
                    ("new_interactions", &interactions),
                ];
                Ok(("profile_should_generate", render("profile_should_generate", &variables)?))
            }
            LearningKind::Playbook if self.is_expert() => {
                let pairs = comparisons(&turns).text;
                let variables = [("agent_context_prompt", context), ("comparison_pairs", &pairs)];
                Ok((
                    "playbook_should_generate_expert",
                    render("playbook_should_generate_expert", &variables)?,
                ))
            }
            LearningKind::Playbook => {
                let extractor = self.config.user_playbook_extractor_config.clone().unwrap_or_default();
                let tools = self.tools();
                let variables = [
                    ("agent_context_prompt", context),
                    ("extraction_definition_prompt", extractor.extraction_definition_prompt.trim()),
                    ("new_interactions", &interactions),
                    ("tool_can_use", &tools),
                ];
                Ok(("playbook_should_generate", render("playbook_should_generate", &variables)?))
            }
        }
    }

    /// Whether an expert answered in any turn of the window.
    pub(super) fn is_expert(&self) -> bool {
        self.inputs.turns.iter().any(|turn| has_expert_content(&turn.interaction))
    }

    /// The agent's tools, one a line.
    pub(super) fn tools(&self) -> String {
        let tools = self.config.tool_can_use.as_deref().unwrap_or(&[]);
        tools_text(tools.iter().map(|tool| (tool.tool_name.as_str(), tool.tool_description.as_str())))
    }

    /// Runs the extraction loop; returns the answer and the model's name.
    pub(super) async fn extract<T>(
        &self,
        purpose: &'static str,
        system: String,
        user: String,
    ) -> Result<(T, String), WindowFailure>
    where
        T: JsonSchema + DeserializeOwned,
    {
        let model = self.model(ModelRole::ExtractionAgent).await?;
        let mut message = Message::user(user);
        message.parts.extend(self.image().await?);
        let mut request = ChatRequest::new(purpose, vec![Message::system(system), message]);
        request.deadline = Some(self.deadline_ms);
        let finish = FinishTool {
            name: FINISH_TOOL.to_owned(),
            description: "Hands in what was found, all of it in one call.".to_owned(),
        };
        tracing::info!(event = "extraction_agent_started", purpose, model = model.model_name());
        let started = self.services.clock.now_ms();
        let finished =
            run_tool_loop(model.as_ref(), &request, &finish, &NoTools, STEPS_MAX, |_: &T| Ok(())).await;
        let elapsed_seconds = self.seconds_since(started);
        match &finished {
            Ok(finished) => tracing::info!(
                event = "extraction_agent_finished",
                purpose,
                steps = finished.steps,
                // Extraction asks nobody yet.
                pending_tool_calls = 0,
                elapsed_seconds,
            ),
            Err(error) => tracing::warn!(
                event = "extraction_agent_failed",
                purpose,
                finished_reason = error.finished_reason(),
                has_output = false,
                elapsed_seconds,
            ),
        }
        match finished {
            Ok(finished) => Ok((finished.value, model.model_name().to_owned())),
            Err(ToolLoopError::Model(error)) => Err(error.into()),
            Err(error @ (ToolLoopError::NoToolCall | ToolLoopError::MaxSteps { .. })) => {
                Err(WindowFailure::window(FailureCode::AnswerMalformed, error.to_string()))
            }
        }
    }

    /// Asks for one structured answer.
    pub(super) async fn ask<T, C>(
        &self,
        purpose: &'static str,
        prompt: String,
        check: C,
    ) -> Result<T, WindowFailure>
    where
        T: JsonSchema + DeserializeOwned,
        C: Fn(&T) -> Result<(), String>,
    {
        let model = self.model(ModelRole::Generation).await?;
        let mut request = ChatRequest::new(purpose, vec![Message::user(prompt)]);
        request.deadline = Some(self.deadline_ms);
        Ok(chat_structured_checked(model.as_ref(), &request, purpose, check).await?)
    }

    /// The image of the last interaction, if it has one.
    async fn image(&self) -> Result<Option<Part>, WindowFailure> {
        let Some(last) = self.inputs.turns.last() else { return Ok(None) };
        Ok(image_source(&self.services.store, &last.interaction).await?.map(Part::Image))
    }
}
