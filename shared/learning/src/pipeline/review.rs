//! The reviewer between extraction and consolidation, for organisations that want one.

use domain::entities::UserPlaybook;

use super::Run;
use super::profile::problems;
use crate::formatting::Transcript;
use crate::review::{ReviewAnswer, judge, prompt, screen};
use crate::worker::{FailureCode, WindowFailure};

/// Stored rules that the reviewer sees, the newest ones.
const OTHER_RULES_MAX: usize = 20;

impl Run<'_> {
    /// The new rules that a reviewer lets pass. A decision that is missing or does not hold fails the window: a rule
    /// that was not reviewed is not stored.
    pub(super) async fn review(
        &self,
        new: Vec<UserPlaybook>,
        shown: &Transcript,
    ) -> Result<Vec<UserPlaybook>, WindowFailure> {
        let extractor = self.config.user_playbook_extractor_config.as_ref();
        if new.is_empty() || !extractor.is_some_and(|extractor| extractor.candidate_review_enabled) {
            return Ok(new);
        }
        let others = self.other_rules().await?;
        let text = prompt::review_prompt(self.config, &shown.text, &new, &others)?;
        let check = |answer: &ReviewAnswer| {
            let verdicts = (0..new.len()).map(|number| judge(&answer.decisions, number, &shown.evidence));
            problems(verdicts.filter_map(Result::err).collect())
        };
        let answer: ReviewAnswer = self.ask(prompt::PURPOSE, text, check).await?;
        let verdicts = (0..new.len()).map(|number| judge(&answer.decisions, number, &shown.evidence));
        let verdicts = verdicts.collect::<Result<Vec<_>, _>>();
        let verdicts =
            verdicts.map_err(|detail| WindowFailure::window(FailureCode::AnswerMalformed, detail))?;
        let many = new.len();
        let kept: Vec<UserPlaybook> =
            new.into_iter().zip(&verdicts).filter_map(|(row, verdict)| screen(row, verdict)).collect();
        tracing::info!(
            event = "playbook_candidate_review_complete",
            reviewed = many,
            rejected = many - kept.len(),
        );
        Ok(kept)
    }

    /// The user's current rules for this agent, newest first.
    async fn other_rules(&self) -> Result<Vec<UserPlaybook>, WindowFailure> {
        let agent_version = &self.inputs.window.trigger.agent_version;
        let stored = self.services.store.user_playbooks(self.keys).await?;
        let mut others: Vec<UserPlaybook> = stored.into_iter().map(|row| row.playbook).collect();
        others.retain(|row| row.status.is_none() && row.agent_version == *agent_version);
        others.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.user_playbook_id)));
        others.truncate(OTHER_RULES_MAX);
        Ok(others)
    }
}
