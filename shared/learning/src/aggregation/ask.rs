//! Asking a model about clusters, several at a time; what it said is kept until it is committed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::entities::UserPlaybook;
use domain::ids::hash_hex;
use futures::stream::{self, StreamExt};
use llm::providers::ModelRole;
use llm::structured::chat_structured_checked;
use llm::{ChatModel, ChatRequest, Message};
use serde::{Deserialize, Serialize};
use store::{AgentPlaybookRow, StoreError, UserPlaybookRow};

use super::answer::{AggregationAnswer, Lesson};
use super::changes::Changes;
use super::cluster::Cluster;
use super::inputs::unnamed_users;
use super::plan::{Outcome, lasting, rejected, screened};
use super::prompt::{members_text, playbooks_text};
use super::round::{Round, RoundError};
use super::settings::AggregationSettings;
use crate::pipeline::render;
use crate::worker::WindowFailure;

/// Model calls of one aggregation at a time.
const CALLS_AT_ONCE_MAX: usize = 8;
/// Time that one cluster may take with its repair, in milliseconds.
const CLUSTER_MS_MAX: i64 = 240_000;
/// Calls that fail one after the other by the provider's fault, before the rest is left for later.
const FAILURES_IN_A_ROW_MAX: usize = 8;
const PURPOSE: &str = "playbook_aggregation";

/// What was said of a cluster, as it is kept until it is committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Lesson(Lesson),
    Nothing,
}

/// All that is known of the clusters after asking.
pub(super) struct Answers {
    pub(super) outcomes: BTreeMap<usize, Outcome>,
    /// Why the last failed cluster failed.
    pub(super) error: Option<String>,
    /// Whether time ran out before all were asked.
    pub(super) out_of_time: bool,
}

/// What became of one cluster.
enum Asked {
    Known(Outcome),
    Failed(String),
    OutOfTime,
}

/// What every cluster of a run is asked with.
pub(super) struct Question<'a> {
    pub(super) settings: &'a AggregationSettings,
    pub(super) clusters: &'a [Cluster],
    pub(super) changes: &'a Changes,
    pub(super) rows: &'a [UserPlaybookRow],
    pub(super) existing: &'a [AgentPlaybookRow],
    /// Tells answers that were asked for on demand from others.
    pub(super) scope: &'a str,
}

impl Round<'_> {
    /// Asks about every cluster that changed.
    pub(super) async fn ask_all(&self, question: &Question<'_>) -> Result<Answers, RoundError> {
        let mut answers = Answers { outcomes: BTreeMap::new(), error: None, out_of_time: false };
        if question.changes.changed.is_empty() {
            return Ok(answers);
        }
        let model = match self.services.orgs.chat(self.keys.org, ModelRole::Generation).await {
            Ok(model) => model,
            Err(error) => {
                let failure = WindowFailure::from(error);
                if let WindowFailure::Store(error) = failure {
                    return Err(error.into());
                }
                answers.error = Some(code_of(&failure));
                let failed = question.changes.changed.iter().map(|place| (*place, Outcome::Failed));
                answers.outcomes = failed.collect();
                return Ok(answers);
            }
        };
        let failures = AtomicUsize::new(0);
        let (model, failures) = (model.as_ref(), &failures);
        let places = question.changes.changed.iter().copied();
        let calls = places.map(|place| async move {
            Ok::<_, StoreError>((place, self.ask_once(question, place, model, failures).await?))
        });
        let mut calls = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE_MAX);
        while let Some(asked) = calls.next().await {
            let (place, asked) = asked?;
            let outcome = match asked {
                Asked::Known(outcome) => outcome,
                Asked::Failed(error) => {
                    answers.error = Some(error);
                    Outcome::Failed
                }
                Asked::OutOfTime => {
                    answers.out_of_time = true;
                    continue;
                }
            };
            let cluster = &question.clusters[place];
            let outcome = screened(outcome, cluster, question.existing, question.changes);
            answers.outcomes.insert(place, outcome);
        }
        Ok(answers)
    }

    /// Asks about one cluster unless that was done before.
    async fn ask_once(
        &self,
        question: &Question<'_>,
        place: usize,
        model: &dyn ChatModel,
        failures: &AtomicUsize,
    ) -> Result<Asked, StoreError> {
        let store = &self.services.store;
        let cluster = &question.clusters[place];
        let name =
            hash_hex(&format!("{}\0{}\0{}", question.scope, cluster.fingerprint, cluster.content_hash));
        if let Some(said) = store.cluster_result::<Said>(self.keys, &name).await? {
            return Ok(Asked::Known(outcome(said)));
        }
        if self.services.clock.now_ms() >= self.stop_at_ms {
            return Ok(Asked::OutOfTime);
        }
        if failures.load(Ordering::Relaxed) >= FAILURES_IN_A_ROW_MAX {
            return Ok(Asked::Failed("provider_unavailable".to_owned()));
        }
        match self.ask(question, cluster, model).await {
            Ok(answer) => {
                failures.store(0, Ordering::Relaxed);
                let said = answer.lesson().map_or(Said::Nothing, Said::Lesson);
                store.keep_cluster_result(self.keys, &name, &said).await?;
                Ok(Asked::Known(outcome(said)))
            }
            Err(failure) => {
                if !failure.is_unusable_answer() {
                    failures.fetch_add(1, Ordering::Relaxed);
                }
                tracing::warn!(
                    event = "aggregation_cluster_failed",
                    org = self.keys.org.as_str(),
                    fingerprint = cluster.fingerprint,
                    code = code_of(&failure),
                );
                Ok(Asked::Failed(code_of(&failure)))
            }
        }
    }

    async fn ask(
        &self,
        question: &Question<'_>,
        cluster: &Cluster,
        model: &dyn ChatModel,
    ) -> Result<AggregationAnswer, WindowFailure> {
        let members: Vec<&UserPlaybook> = question
            .rows
            .iter()
            .map(|row| &row.playbook)
            .filter(|playbook| cluster.ids.binary_search(&playbook.user_playbook_id).is_ok())
            .collect();
        let lasting = lasting(question.existing, question.changes);
        let existing = playbooks_text(lasting.iter().map(|row| row.content.as_str()), &members);
        let rejected = rejected(question.existing);
        let rejected = playbooks_text(rejected.iter().map(|row| row.playbook.content.as_str()), &members);
        let prompt = render(
            "playbook_aggregation",
            &[
                ("user_playbooks", &members_text(&members, question.settings.direction_overlap)),
                ("existing_approved_playbooks", &existing),
                ("rejected_playbooks", &rejected),
            ],
        )?;
        let users = unnamed_users(&members);
        let mut request = ChatRequest::new(PURPOSE, vec![Message::user(prompt)]);
        request.deadline = Some(self.services.clock.now_ms() + CLUSTER_MS_MAX);
        let check = |answer: &AggregationAnswer| answer.check(&users);
        Ok(chat_structured_checked(model, &request, PURPOSE, check).await?)
    }
}

fn outcome(said: Said) -> Outcome {
    match said {
        Said::Lesson(lesson) => Outcome::Lesson(lesson),
        Said::Nothing => Outcome::Covered,
    }
}

/// What is shown of a failure; the detail is in the log of the call.
fn code_of(failure: &WindowFailure) -> String {
    match failure {
        WindowFailure::Window { code, .. } => code.as_str().to_owned(),
        other => other.to_string(),
    }
}
