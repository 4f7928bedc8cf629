//! Where the time of an extraction goes: the last window of a user, or prompts that were captured, once more against
//! the configured model. Nothing is written. Calls cost what they cost, and are not added to the organisation's usage.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ids::{OrgId, UserHash, UserId};
use domain::learning::LearningKind;
use learning::services::Services;
use learning::{Replay, replay_last_window};
use llm::meter::{UsageRecord, UsageSink};
use llm::providers::ModelRole;
use runtime::App;
use store::UserKeys;

use super::AdminError;
use super::captured::{self, Captured};
use super::commands::{ReplayedKind, ReproduceTimeout, TimeoutMode};

/// Longest file of captured prompts, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Notes every try of every call.
#[derive(Default)]
struct Calls(Mutex<Vec<UsageRecord>>);

impl UsageSink for Calls {
    fn record(&self, record: UsageRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

impl Calls {
    fn take(&self) -> Vec<UsageRecord> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Replays, and prints where the time went.
pub(super) async fn run(app: &App, options: &ReproduceTimeout) -> Result<String, AdminError> {
    let org: OrgId = options.org.parse()?;
    let calls = Arc::new(Calls::default());
    app.usage.watch(calls.clone());
    match options.mode {
        TimeoutMode::Storage => {
            let user = options.user.as_deref().ok_or("--mode storage needs --user")?;
            stored(&app.services, &org, user, options.kind, &calls).await
        }
        TimeoutMode::Log => {
            let file = options.file.as_deref().ok_or("--mode log needs --file")?;
            logged(&app.services, &org, file, &calls).await
        }
    }
}

async fn stored(
    services: &Services,
    org: &OrgId,
    user: &str,
    kind: ReplayedKind,
    calls: &Calls,
) -> Result<String, AdminError> {
    let user = UserHash::of(&UserId::new(user)?);
    let kind = match kind {
        ReplayedKind::Profile => LearningKind::Profile,
        ReplayedKind::Playbook => LearningKind::Playbook,
    };
    let keys = UserKeys { org, user: &user };
    match replay_last_window(services, &keys, kind).await? {
        Some(replay) => Ok(report(&replay, &calls.take())),
        None => Err(format!("the user has no stored interaction that counts for {}s", kind.as_str()).into()),
    }
}

fn report(replay: &Replay, calls: &[UsageRecord]) -> String {
    let (new, before) = replay.interactions;
    let mut printed = format!("window       {new} new interactions, {before} before them\n");
    let mut line = |name: &str, ms: i64, more: &str| {
        printed.push_str(format!("{name:12} {ms:>9} ms  {more}").trim_end());
        printed.push('\n');
    };
    line("read", replay.read_ms, "");
    if let Some((ms, bytes)) = replay.render {
        line("render", ms, &format!("{bytes} bytes of the gate's prompt"));
    }
    if let Some((ms, decision)) = replay.gate {
        line("gate", ms, if decision { "extract" } else { "nothing to extract (extracted all the same)" });
    }
    if let Some((ms, rows)) = replay.extraction {
        line("extraction", ms, &format!("{rows} rows would change"));
    }
    for call in calls {
        line("  call", i64::try_from(call.duration_ms).unwrap_or(i64::MAX), &call_text(call));
    }
    let in_calls: u64 = calls.iter().map(|call| call.duration_ms).sum();
    let besides = replay.total_ms.saturating_sub(i64::try_from(in_calls).unwrap_or(i64::MAX)).max(0);
    line("besides", besides, "reading, rendering, checking, waiting between tries");
    line("total", replay.total_ms, "");
    match &replay.failure {
        Some(failure) => printed.push_str(&format!("failed       {failure}\n")),
        None => printed.push_str("done         nothing was written\n"),
    }
    printed
}

fn call_text(call: &UsageRecord) -> String {
    let UsageRecord { purpose, model, provider, input_tokens, output_tokens, outcome, .. } = call;
    format!("{purpose}  {model} ({provider})  {input_tokens} tokens in, {output_tokens} out  {outcome}")
}

async fn logged(services: &Services, org: &OrgId, file: &Path, calls: &Calls) -> Result<String, AdminError> {
    let (prompts, others) = captured::read(&contents(file)?)?;
    let mut printed = format!("{} prompts; {others} other lines\n", prompts.len());
    let mut total = 0;
    for prompt in &prompts {
        let started = services.clock.now_ms();
        let role = role(prompt);
        let answer = services.orgs.chat(org, role).await?.chat(&prompt.request).await;
        let took = services.clock.now_ms() - started;
        total += took;
        let purpose = prompt.purpose.as_deref().unwrap_or("-");
        let outcome = match &answer {
            Ok(answer) => format!(
                "{}  {} tokens in, {} out  {:?}",
                answer.model, answer.usage.input_tokens, answer.usage.output_tokens, answer.finish
            ),
            Err(error) => format!("failed: {}", error.class()),
        };
        printed.push_str(&format!("line {:<7} {took:>9} ms  {purpose}  {outcome}\n", prompt.line));
        let tries = calls.take();
        if tries.len() > 1 {
            for call in &tries {
                printed.push_str(&format!("  try        {:>9} ms  {}\n", call.duration_ms, call_text(call)));
            }
        }
    }
    printed.push_str(&format!("total        {total:>9} ms\n"));
    Ok(printed)
}

/// The model that such a prompt goes to.
fn role(prompt: &Captured) -> ModelRole {
    let is_gate = prompt.purpose.as_deref().is_some_and(|purpose| purpose.contains("_should_generate"));
    if is_gate { ModelRole::ShouldRun } else { ModelRole::Generation }
}

fn contents(file: &Path) -> Result<String, AdminError> {
    let failed = |error| format!("{}: {error}", file.display());
    if std::fs::metadata(file).map_err(failed)?.len() > FILE_BYTES_MAX {
        return Err(format!("{} is larger than {FILE_BYTES_MAX} bytes", file.display()).into());
    }
    Ok(std::fs::read_to_string(file).map_err(failed)?)
}
