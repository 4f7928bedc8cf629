//! Asking both judges about the learnings of a session, some at a time.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use domain::config::Config;
use domain::entities::{LearningImpact, PlaybookDiagnosis};
use domain::time::EpochMillis;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use llm::structured::chat_structured_checked;
use llm::{ChatError, ChatModel, ChatRequest, Message};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::prompt::{Lines, is_shown_whole, learnings_json};
use super::resolve::Learning;
use super::schema::{ImpactAnswer, RelevanceAnswer, check_refs, kept_diagnosis, kept_reason};
use super::snapshot::{Candidate, Snapshot};
use crate::judge::{JudgeError, TEMPERATURE, generation_timeout, render};

/// Learnings of one question.
pub const CHUNK_LEARNINGS: usize = 25;
/// Questions under way at once.
const QUESTIONS_AT_ONCE: usize = 8;
/// The prompts.
const RELEVANCE: &str = "retrieved_learning_relevance";
const IMPACT: &str = "retrieved_learning_impact";

/// What the judges said of one learning; at least one of them said something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) relevance: Option<(bool, String)>,
    pub(crate) impact: Option<(LearningImpact, String, Option<PlaybookDiagnosis>)>,
    /// Whether the judge of impact saw the whole session and the whole learning.
    pub(crate) is_evidence_complete: bool,
}

/// What came of all questions.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    /// By reference.
    pub(crate) by_ref: HashMap<String, Verdict>,
    pub(crate) failed_relevance: usize,
    pub(crate) failed_impact: usize,
}

/// What a question needs.
pub(crate) struct Judges<'a> {
    pub(crate) model: &'a dyn ChatModel,
    pub(crate) config: &'a Config,
    pub(crate) deadline_ms: EpochMillis,
}

/// One answer to one question.
enum Answered {
    Relevance(Option<RelevanceAnswer>),
    Impact(Option<ImpactAnswer>),
}

/// A question about some learnings.
struct Chunk<'a> {
    asked: &'a [(Candidate, Learning)],
    refs: Vec<String>,
    transcript: String,
    is_whole: bool,
    learnings: String,
}

impl Judges<'_> {
    /// Asks about all of them. What fails is counted, and costs no other verdict.
    pub(crate) async fn judge(&self, snapshot: &Snapshot, asked: &[(Candidate, Learning)]) -> Verdicts {
        let lines = Lines::of(&snapshot.interactions);
        let chunks: Vec<Chunk<'_>> =
            asked.chunks(CHUNK_LEARNINGS).map(|asked| Chunk::of(asked, &lines)).collect();
        // Boxed: the questions are of two types.
        let mut questions: Vec<BoxFuture<'_, (usize, Answered)>> = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            questions
                .push(Box::pin(async move { (number, Answered::Relevance(self.relevance(chunk).await)) }));
            questions.push(Box::pin(async move { (number, Answered::Impact(self.impact(chunk).await)) }));
        }
        let answers: Vec<(usize, Answered)> =
            stream::iter(questions).buffered(QUESTIONS_AT_ONCE).collect().await;
        let known: BTreeSet<i64> = snapshot.interactions.iter().map(|one| one.interaction_id).collect();
        let mut verdicts = Verdicts::default();
        for (number, answer) in answers {
            verdicts.take(&chunks[number], answer, &known);
        }
        verdicts
    }

    async fn relevance(&self, chunk: &Chunk<'_>) -> Option<RelevanceAnswer> {
        let variables =
            [("interactions", chunk.transcript.as_str()), ("learnings", chunk.learnings.as_str())];
        let check = |answer: &RelevanceAnswer| {
            check_refs(&chunk.refs, answer.verdicts.iter().map(|verdict| verdict.learning_ref.as_str()))
        };
        self.ask(RELEVANCE, render("retrieved_learning_relevance", &variables), check).await
    }

    async fn impact(&self, chunk: &Chunk<'_>) -> Option<ImpactAnswer> {
        let success = self.config.agent_success_config.clone().unwrap_or_default();
        let variables = [
            ("success_definition_prompt", success.success_definition_prompt.trim()),
            ("interactions", chunk.transcript.as_str()),
            ("learnings", chunk.learnings.as_str()),
        ];
        let check = |answer: &ImpactAnswer| {
            let refs = answer.verdicts.iter().map(|verdict| verdict.learning_ref.as_str());
            check_refs(&chunk.refs, refs)?;
            answer.check_diagnoses()
        };
        self.ask(IMPACT, render("retrieved_learning_impact", &variables), check).await
    }

    /// The answer, or `None` when there is no usable one.
    async fn ask<T, C>(
        &self,
        purpose: &'static str,
        prompt: Result<String, JudgeError>,
        check: C,
    ) -> Option<T>
    where
        T: JsonSchema + DeserializeOwned + Send,
        C: Fn(&T) -> Result<(), String> + Send + Sync,
    {
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(error) => {
                tracing::error!(event = "retrieved_learning_prompt_unusable", purpose, %error);
                return None;
            }
        };
        let mut request = ChatRequest::new(purpose, vec![Message::user(prompt)]);
        request.temperature = Some(TEMPERATURE);
        request.timeout = generation_timeout(self.config).min(CALL_TIME_MAX);
        request.deadline = Some(self.deadline_ms);
        let answer: Result<T, ChatError> =
            chat_structured_checked(self.model, &request, purpose, check).await;
        // Logs what went wrong; here it costs one question only.
        answer.map_err(JudgeError::from).ok()
    }
}

/// How long one question may take.
const CALL_TIME_MAX: Duration = Duration::from_secs(300);

impl<'a> Chunk<'a> {
    fn of(asked: &'a [(Candidate, Learning)], lines: &Lines) -> Self {
        let targets: Vec<i64> = asked.iter().map(|(candidate, _)| candidate.interaction_id).collect();
        let (transcript, is_whole) = lines.around(&targets);
        let refs = asked.iter().map(|(candidate, _)| candidate.reference()).collect();
        Self { asked, refs, transcript, is_whole, learnings: learnings_json(asked) }
    }
}

impl Verdicts {
    fn take(&mut self, chunk: &Chunk<'_>, answer: Answered, known: &BTreeSet<i64>) {
        match answer {
            Answered::Relevance(None) => self.failed_relevance += 1,
            Answered::Impact(None) => self.failed_impact += 1,
            Answered::Relevance(Some(answer)) => {
                for verdict in answer.verdicts {
                    let reason = kept_reason(&verdict.relevance_reason);
                    self.by_ref.entry(verdict.learning_ref).or_default().relevance =
                        Some((verdict.is_relevant, reason));
                }
            }
            Answered::Impact(Some(answer)) => {
                for verdict in answer.verdicts {
                    let place = chunk.refs.iter().position(|one| *one == verdict.learning_ref);
                    let Some((candidate, learning)) = place.and_then(|place| chunk.asked.get(place)) else {
                        continue;
                    };
                    let diagnosis =
                        kept_diagnosis(candidate.kind, verdict.diagnosis, |id| known.contains(&id));
                    let entry = self.by_ref.entry(verdict.learning_ref).or_default();
                    entry.is_evidence_complete = chunk.is_whole && is_shown_whole(learning);
                    entry.impact = Some((verdict.impact, kept_reason(&verdict.impact_reason), diagnosis));
                }
            }
        }
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.failed_relevance + self.failed_impact > 0
    }
}
