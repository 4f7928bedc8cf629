//! Numbers of an organisation that are handed out once: user numbers, playbook ids.

use domain::ids::OrgId;

use crate::Store;
use crate::attributes::{COUNT, ItemReader, number};
use crate::error::StoreError;
use crate::keys;
use crate::transaction::Expression;

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    User,
    UserPlaybook,
    AgentPlaybook,
    EvaluationResult,
    RetrievedLearningResult,
    ShadowVerdict,
}

impl Counter {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::UserPlaybook => "user_playbook",
            Self::AgentPlaybook => "agent_playbook",
            Self::EvaluationResult => "evaluation_result",
            Self::RetrievedLearningResult => "retrieved_learning_result",
            Self::ShadowVerdict => "shadow_verdict",
        }
    }
}

impl Store {
    /// Takes `many` consecutive numbers, the first of which is returned; numbers start at 1, gaps are left
    /// when the taker fails, and none is handed out twice.
    pub(crate) async fn take_numbers(
        &self,
        org: &OrgId,
        counter: Counter,
        many: usize,
    ) -> Result<i64, StoreError> {
        let many = i64::try_from(many).unwrap_or(i64::MAX);
        let expression = Expression::new(format!("ADD {COUNT} :many")).value(":many", number(many));
        let item = self.update_one(&keys::counter(org, counter.name()), expression).await?;
        let last = ItemReader(&item.unwrap_or_default()).number(COUNT)?;
        Ok(last - many + 1)
    }
}
