//! One window, from its interactions to the rows that it changes. Model calls only: nothing is written here.

pub(crate) mod ask;
mod candidates;
mod playbook;
mod profile;
mod replay;
mod review;

pub use replay::{Replay, replay_last_window};

use domain::config::Config;
use domain::entities::Status;
use domain::flags::OrgFlags;
use domain::learning::LearningKind;
use domain::operations::GenerationMode;
use domain::time::EpochMillis;
use std::time::Duration;
use store::{PlaybookRows, ProfileRows, UserKeys};

pub(crate) use ask::render;

use crate::expansion::expanded_terms;
use crate::formatting::Turn;
use crate::gate::{GateDecision, GateInput, decide};
use crate::services::{OrgConfig, Services};
use crate::windows::WindowReason;
use crate::worker::inputs::WindowInputs;
use crate::worker::{FailureCode, WindowFailure};

/// What a window leads to.
#[derive(Debug, Default)]
pub(crate) struct WindowOutput {
    /// `false` when nothing was worth an extraction.
    pub(crate) gate: bool,
    pub(crate) profiles: ProfileRows,
    pub(crate) playbooks: PlaybookRows,
    /// The model that answered.
    pub(crate) model: String,
}

/// Learns one window of one kind, by `deadline_ms` or not at all.
pub(crate) async fn run_window(
    services: &Services,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    inputs: &WindowInputs,
    org: &OrgConfig,
    mode: GenerationMode,
    deadline_ms: EpochMillis,
) -> Result<WindowOutput, WindowFailure> {
    let left = u64::try_from(deadline_ms - services.clock.now_ms()).unwrap_or(0);
    let run = Run { services, keys, inputs, config: &org.config, flags: org.flags, mode, deadline_ms };
    tokio::select! {
        output = learn_in_time(run, kind) => output,
        () = services.clock.sleep(Duration::from_millis(left)) => {
            Err(WindowFailure::window(FailureCode::Timeout, "the window took too long"))
        }
    }
}

async fn learn_in_time(run: Run<'_>, kind: LearningKind) -> Result<WindowOutput, WindowFailure> {
    let (inputs, config) = (run.inputs, run.config);
    let decision = decide(&GateInput {
        auto_run: run.mode == GenerationMode::Regular,
        force_extraction: inputs.window.reason == WindowReason::Force,
        skip_should_run_check: config.skip_should_run_check,
        interactions: &inputs.turns.iter().map(|turn| &turn.interaction).collect::<Vec<_>>(),
    });
    match decision {
        GateDecision::Skip(reason) => {
            tracing::info!(
                event = "generation_gate_evaluated",
                kind = kind.as_str(),
                outcome = reason.as_str()
            );
            return Ok(WindowOutput::default());
        }
        GateDecision::AskModel if !run.gate(kind).await? => {
            tracing::info!(
                event = "generation_gate_evaluated",
                kind = kind.as_str(),
                outcome = "should_skip"
            );
            return Ok(WindowOutput::default());
        }
        GateDecision::AskModel | GateDecision::Run => {}
    }
    match kind {
        LearningKind::Profile => run.learn_profiles().await,
        LearningKind::Playbook => run.learn_playbooks().await,
    }
}

/// One run over one window.
struct Run<'a> {
    services: &'a Services,
    keys: &'a UserKeys<'a>,
    inputs: &'a WindowInputs,
    config: &'a Config,
    flags: OrgFlags,
    mode: GenerationMode,
    /// By when all of it must be done.
    deadline_ms: EpochMillis,
}

impl Run<'_> {
    /// The turns as the prompts show them.
    fn turns(&self) -> Vec<Turn<'_>> {
        self.inputs
            .turns
            .iter()
            .map(|turn| Turn {
                interaction: &turn.interaction,
                session_id: &turn.request.session_id,
                request_created_at: turn.request.created_at,
                is_new: turn.is_new,
            })
            .collect()
    }

    fn agent_context(&self) -> &str {
        self.config.agent_context_prompt.as_deref().unwrap_or("").trim()
    }

    /// More words to find rows by, for those that have none yet, if the organisation wants them.
    async fn expand<R>(
        &self,
        rows: &mut [R],
        text: impl Fn(&R) -> String,
        terms: impl Fn(&mut R) -> &mut Option<String>,
    ) {
        if !self.config.enable_document_expansion {
            return;
        }
        let mut waiting: Vec<&mut R> = Vec::new();
        for row in rows {
            if terms(row).is_none() {
                waiting.push(row);
            }
        }
        let texts: Vec<String> = waiting.iter().map(|row| text(row)).collect();
        let found = expanded_terms(self.services, self.keys.org, &texts, self.deadline_ms).await;
        for (row, found) in waiting.into_iter().zip(found) {
            *terms(row) = found;
        }
    }

    /// The status of the rows that are made, and of the stored ones that they are compared with: a preview neither
    /// sees nor touches what is current.
    fn status(&self) -> Option<Status> {
        (self.mode == GenerationMode::Rerun).then_some(Status::Pending)
    }

    /// The source of the request on whose account the window runs.
    fn source(&self) -> Option<String> {
        Some(self.inputs.window.trigger.source.clone())
    }
}
