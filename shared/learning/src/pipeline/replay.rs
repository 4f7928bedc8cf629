//! The last window of a user once more, to see where its time goes. Nothing is written: no cursor, no row, no id.

use std::time::Duration;

use domain::learning::LearningKind;
use domain::operations::GenerationMode;
use domain::time::Clock;
use store::UserKeys;

use super::Run;
use crate::services::Services;
use crate::worker::inputs::last_window;
use crate::worker::{EXTRACTION_MS_MAX, FailureCode, WindowFailure};

/// Where the time of a replayed window went. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Interactions of the window: those that would be new, and those before them.
    pub interactions: (usize, usize),
    /// Reading configuration and window.
    pub read_ms: i64,
    /// Making the gate's prompt of the window, and its length in bytes.
    pub render: Option<(i64, usize)>,
    /// Asking the gate, and what it decided. The extraction follows whatever that was.
    pub gate: Option<(i64, bool)>,
    /// Extraction and comparison with what is stored, and how many rows they propose to write.
    pub extraction: Option<(i64, usize)>,
    /// All of it.
    pub total_ms: i64,
    /// What ended it early, as a window's failure is recorded: code and detail.
    pub failure: Option<String>,
}

/// Replays the last window of a user; `None` when no stored interaction counts for this kind.
///
/// # Errors
/// [`WindowFailure`] when there is no window to be had: the store failed, or the configuration is not at hand.
pub async fn replay_last_window(
    services: &Services,
    keys: &UserKeys<'_>,
    kind: LearningKind,
) -> Result<Option<Replay>, WindowFailure> {
    let started = services.clock.now_ms();
    let org = services.orgs.config(keys.org).await?;
    let (window, stride) = (org.config.effective_window(kind), org.config.effective_stride(kind));
    let Some(inputs) = last_window(&services.store, keys, kind, window, stride).await? else {
        return Ok(None);
    };
    let mut replay = Replay {
        interactions: (inputs.window.new.len(), inputs.window.context.len()),
        read_ms: services.clock.now_ms() - started,
        render: None,
        gate: None,
        extraction: None,
        total_ms: 0,
        failure: None,
    };
    let deadline_ms = services.clock.now_ms() + EXTRACTION_MS_MAX;
    let mode = GenerationMode::Regular;
    let run =
        Run { services, keys, inputs: &inputs, config: &org.config, flags: org.flags, mode, deadline_ms };
    let longest = Duration::from_millis(EXTRACTION_MS_MAX.unsigned_abs());
    let ended = tokio::select! {
        ended = run.replay(kind, &mut replay) => ended,
        () = services.clock.sleep(longest) => {
            Err(WindowFailure::window(FailureCode::Timeout, "the window took too long"))
        }
    };
    replay.failure = ended.err().map(|failure| failure.to_string());
    replay.total_ms = services.clock.now_ms() - started;
    Ok(Some(replay))
}

impl Run<'_> {
    async fn replay(&self, kind: LearningKind, replay: &mut Replay) -> Result<(), WindowFailure> {
        let mut watch = Watch::start(self.services.clock.as_ref());
        let (_, prompt) = self.gate_prompt(kind)?;
        replay.render = Some((watch.lap(), prompt.len()));
        let decision = self.gate(kind).await?;
        replay.gate = Some((watch.lap(), decision));
        let proposed = match kind {
            LearningKind::Profile => self.propose_profiles().await?.writes(),
            LearningKind::Playbook => self.propose_playbooks().await?.writes(),
        };
        replay.extraction = Some((watch.lap(), proposed));
        Ok(())
    }
}

/// Milliseconds since the last look.
struct Watch<'a> {
    clock: &'a dyn Clock,
    since: i64,
}

impl<'a> Watch<'a> {
    fn start(clock: &'a dyn Clock) -> Self {
        Self { clock, since: clock.now_ms() }
    }

    fn lap(&mut self) -> i64 {
        let now = self.clock.now_ms();
        now - std::mem::replace(&mut self.since, now)
    }
}
