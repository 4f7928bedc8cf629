//! Asking a reviewer about stored playbooks, some at a time, within a deadline.

use std::time::Duration;

use domain::config::Config;
use domain::entities::UserPlaybook;
use domain::ids::OrgId;
use domain::time::EpochMillis;
use futures::stream::{self, StreamExt};
use llm::providers::ModelRole;
use llm::structured::chat_structured_checked;
use llm::{ChatModel, ChatRequest, Message};
use store::{StoreError, UserPlaybookRow};

use super::evidence::{Unavailable, cited_turns};
use super::judge::{Verdict, judge};
use super::prompt::{PURPOSE, review_prompt};
use super::schema::ReviewAnswer;
use crate::formatting::Transcript;
use crate::services::{OrgServicesError, Services};
use crate::worker::WindowFailure;

/// Reviews under way at once.
const REVIEWS_AT_ONCE: usize = 8;
/// Other rules of the same user that the reviewer sees, the newest ones.
const OTHER_RULES_MAX: usize = 20;
/// Why a row was not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The turns are not at hand.
    Evidence(Unavailable),
    /// There was no time left for it.
    OutOfTime,
    /// The reviewer failed; the code is that of `learning_status`.
    Reviewer(&'static str),
}

/// A row and what the review says of it.
#[derive(Debug, Clone)]
pub struct Reviewed {
    /// The row as it was read.
    pub row: UserPlaybookRow,
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, SkipReason>,
}

/// Reviews rows, each by itself, until `deadline_ms`. `others` are rules that the agent has besides; a row sees those
/// of its own user.
///
/// # Errors
/// [`OrgServicesError`] when the configuration, the model or the store is not at hand.
pub async fn review_playbooks(
    services: &Services,
    org: &OrgId,
    rows: Vec<UserPlaybookRow>,
    others: &[UserPlaybook],
    deadline_ms: EpochMillis,
) -> Result<Vec<Reviewed>, OrgServicesError> {
    let config = services.orgs.config(org).await?.config;
    let model = services.orgs.chat(org, ModelRole::Generation).await?;
    let review = Review { services, org, config: &config, model: model.as_ref(), others, deadline_ms };
    let reviews = stream::iter(rows.into_iter().map(|row| review.one(row)));
    let reviewed: Vec<Result<Reviewed, StoreError>> = reviews.buffered(REVIEWS_AT_ONCE).collect().await;
    Ok(reviewed.into_iter().collect::<Result<Vec<_>, _>>()?)
}

struct Review<'a> {
    services: &'a Services,
    org: &'a OrgId,
    config: &'a Config,
    model: &'a dyn ChatModel,
    others: &'a [UserPlaybook],
    deadline_ms: EpochMillis,
}

impl Review<'_> {
    async fn one(&self, row: UserPlaybookRow) -> Result<Reviewed, StoreError> {
        let verdict = self.verdict(&row.playbook).await?;
        Ok(Reviewed { row, verdict })
    }

    async fn verdict(&self, playbook: &UserPlaybook) -> Result<Result<Verdict, SkipReason>, StoreError> {
        let shown = match cited_turns(&self.services.store, self.org, playbook).await? {
            Ok(shown) => shown,
            Err(unavailable) => return Ok(Err(SkipReason::Evidence(unavailable))),
        };
        if self.services.clock.now_ms() >= self.deadline_ms {
            return Ok(Err(SkipReason::OutOfTime));
        }
        let left = u64::try_from(self.deadline_ms - self.services.clock.now_ms()).unwrap_or(0);
        let answer = tokio::select! {
            answer = self.ask(playbook, &shown) => answer,
            () = self.services.clock.sleep(Duration::from_millis(left)) => return Ok(Err(SkipReason::OutOfTime)),
        };
        match answer {
            Ok(verdict) => Ok(Ok(verdict)),
            Err(WindowFailure::Store(error)) => Err(error),
            Err(failure) => {
                tracing::warn!(event = "playbook_review_failed", %failure);
                let is_late = self.services.clock.now_ms() >= self.deadline_ms;
                let code = if let WindowFailure::Window { code, .. } = &failure { code.as_str() } else { "" };
                Ok(Err(if is_late { SkipReason::OutOfTime } else { SkipReason::Reviewer(code) }))
            }
        }
    }

    async fn ask(&self, playbook: &UserPlaybook, shown: &Transcript) -> Result<Verdict, WindowFailure> {
        let candidate = std::slice::from_ref(playbook);
        let prompt = review_prompt(self.config, &shown.text, candidate, &self.others_of(playbook))?;
        let mut request = ChatRequest::new(PURPOSE, vec![Message::user(prompt)]);
        request.deadline = Some(self.deadline_ms);
        let check = |answer: &ReviewAnswer| judge(&answer.decisions, 0, &shown.evidence).map(drop);
        let answer = chat_structured_checked(self.model, &request, PURPOSE, check).await?;
        judge(&answer.decisions, 0, &shown.evidence)
            .map_err(|detail| WindowFailure::window(crate::worker::FailureCode::AnswerMalformed, detail))
    }

    fn others_of(&self, playbook: &UserPlaybook) -> Vec<UserPlaybook> {
        let is_other = |other: &&UserPlaybook| {
            other.user_id == playbook.user_id
                && other.agent_version == playbook.agent_version
                && other.user_playbook_id != playbook.user_playbook_id
                && other.status.is_none()
        };
        let mut others: Vec<UserPlaybook> = self.others.iter().filter(is_other).cloned().collect();
        others.sort_by_key(|other| std::cmp::Reverse((other.created_at, other.user_playbook_id)));
        others.truncate(OTHER_RULES_MAX);
        others
    }
}
