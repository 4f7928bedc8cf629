//! A model whose answers are known: from each window one profile and one playbook that name every interaction
//! that is new in it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::ids::OrgId;
use domain::time::Clock;
use learning::services::{OrgConfig, OrgServices, OrgServicesError};
use llm::embedding::EmbedError;
use llm::providers::ModelRole;
use llm::testing::{answer, tool_answer};
use llm::{ChatError, ChatModel, ChatRequest, ChatResponse, EmbeddingModel, EmbeddingPurpose};
use runtime::Orgs;
use serde_json::json;
use store::StoredVector;
use tokio::sync::Notify;

use super::judging::JudgeLog;

/// What the model does with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It fails as an overloaded provider does.
    Fail,
    /// The code around it panics.
    Panic,
    /// It thinks until [`Script::release`].
    Hold,
}

/// What the models of a test do, and what they were asked. Outlives the processes.
#[derive(Debug, Default)]
pub(crate) struct Script {
    moods: Mutex<Vec<(String, Mood)>>,
    asked: Mutex<Vec<String>>,
    holding: Notify,
    released: Notify,
    /// What the judges of sessions did.
    pub(crate) judges: JudgeLog,
}

impl Script {
    /// From now on questions whose text holds `needle` meet this mood.
    pub(crate) fn on(&self, needle: &str, mood: Mood) {
        self.moods.lock().unwrap().push((needle.to_owned(), mood));
    }

    /// From now on every question is answered.
    pub(crate) fn calm(&self) {
        self.moods.lock().unwrap().clear();
    }

    /// Completes once a question is held.
    pub(crate) async fn held(&self) {
        self.holding.notified().await;
    }

    /// Lets the questions that are held be answered, and holds no more.
    pub(crate) fn release(&self) {
        self.calm();
        self.released.notify_waiters();
    }

    /// How often the prompt `purpose` was asked.
    pub(crate) fn asked(&self, purpose: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == purpose).count()
    }

    fn mood(&self, text: &str) -> Option<Mood> {
        let moods = self.moods.lock().unwrap();
        moods.iter().find(|(needle, _)| text.contains(needle)).map(|(_, mood)| *mood)
    }
}

/// The settings of the process, with the scripted model in place of its own.
pub(crate) struct ScriptedOrgs {
    pub(crate) orgs: Arc<Orgs>,
    pub(crate) script: Arc<Script>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl OrgServices for ScriptedOrgs {
    async fn config(&self, org: &OrgId) -> Result<OrgConfig, OrgServicesError> {
        OrgServices::config(self.orgs.as_ref(), org).await
    }

    async fn chat(&self, _: &OrgId, _: ModelRole) -> Result<Arc<dyn ChatModel>, OrgServicesError> {
        let clock = Arc::clone(&self.clock);
        Ok(Arc::new(ScriptedChat { script: Arc::clone(&self.script), clock }))
    }

    async fn chat_named(
        &self,
        org: &OrgId,
        role: ModelRole,
        _: &str,
    ) -> Result<Arc<dyn ChatModel>, OrgServicesError> {
        self.chat(org, role).await
    }

    async fn embedding(&self, _: &OrgId) -> Result<Arc<dyn EmbeddingModel>, OrgServicesError> {
        Ok(Arc::new(SameVector))
    }

    async fn stored_vectors(
        &self,
        _: &OrgId,
        texts: &[String],
    ) -> Result<Vec<Option<StoredVector>>, OrgServicesError> {
        Ok(vec![None; texts.len()])
    }
}

struct ScriptedChat {
    script: Arc<Script>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl ChatModel for ScriptedChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let text: String = request.messages.iter().map(|message| message.text()).collect();
        self.script.asked.lock().unwrap().push(request.purpose.to_owned());
        match self.script.mood(&text) {
            None => {}
            Some(Mood::Fail) => {
                return Err(ChatError::Overloaded { retry_after: None, detail: "scripted".to_owned() });
            }
            Some(Mood::Panic) => panic!("scripted panic of the model"),
            Some(Mood::Hold) => {
                let released = self.script.released.notified();
                self.script.holding.notify_one();
                released.await;
            }
        }
        if request.purpose == "agent_success_evaluation" {
            self.script.judges.think(&text, || self.clock.now()).await;
        }
        Ok(respond(request.purpose, &text))
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn model_name(&self) -> &'static str {
        "scripted-model"
    }
}

fn respond(purpose: &str, text: &str) -> ChatResponse {
    match purpose {
        "profile_update_main" => {
            let (labels, marks) = new_turns(text);
            let profile = json!({
                "reasoning": null, "content": format!("Said {}", marks.join(" ")), "time_to_live": "infinity",
                "source_span": null, "evidence_refs": labels, "notes": null,
            });
            finish(&json!({ "profiles": [profile] }))
        }
        "playbook_extraction_main" => {
            let (labels, marks) = new_turns(text);
            let playbook = json!({
                "rationale": "It was said.", "evidence_kind": "correction",
                "trigger": format!("When {} comes up", marks[0]),
                "content": format!("Heed {}", marks.join(" ")),
                "evidence_refs": labels, "blocking_issue": null, "notes": null,
            });
            finish(&json!({ "playbooks": [playbook] }))
        }
        "playbook_aggregation" => {
            let rows = text.lines().filter(|line| line.starts_with("[ROW-"));
            let rows: Vec<&str> = rows.filter_map(|row| row.split('"').nth(1)).collect();
            let playbook = json!({
                "rationale": "They say so.", "trigger": null, "content": format!("All: {}", rows.join(" ")),
                "blocking_issue": null,
            });
            answer(&json!({ "playbook": playbook }).to_string())
        }
        "profile_deduplication" => {
            answer(&json!({ "duplicate_groups": [], "unique_ids": ["NEW-0"], "deletions": [] }).to_string())
        }
        "playbook_consolidation" => answer(
            &json!({ "decisions": [{ "kind": "independent", "reason": "new", "new_id": "NEW-0" }] })
                .to_string(),
        ),
        "memory_reflection" => answer(&revisions(text).to_string()),
        "agent_success_evaluation" => {
            answer(&json!({ "is_success": true, "number_of_correction_per_session": 0 }).to_string())
        }
        "retrieved_learning_relevance" => {
            answer(&verdicts(text, &json!({ "is_relevant": true })).to_string())
        }
        "retrieved_learning_impact" => answer(&verdicts(text, &json!({ "impact": "positive" })).to_string()),
        "tagging" => answer(&json!({ "tags": ["tagged"] }).to_string()),
        _ => answer("true"),
    }
}

/// The same verdict on every learning.
fn verdicts(text: &str, verdict: &serde_json::Value) -> serde_json::Value {
    let refs =
        text.lines().filter_map(|line| line.trim().strip_prefix("\"learning_ref\": \"")?.split('"').next());
    let verdicts = refs.map(|reference| {
        let mut verdict = verdict.clone();
        verdict["learning_ref"] = json!(reference);
        verdict
    });
    json!({ "verdicts": verdicts.collect::<Vec<_>>() })
}

/// Every cited fact is revised.
fn revisions(text: &str) -> serde_json::Value {
    let ids =
        text.lines().filter_map(|line| line.trim().strip_prefix("\"target_id\": \"")?.split('"').next());
    let decisions = ids.map(
        |id| json!({ "target_kind": "profile", "target_id": id, "new_content": format!("Revised {id}") }),
    );
    json!({ "decisions": decisions.collect::<Vec<_>>() })
}

fn finish(arguments: &serde_json::Value) -> ChatResponse {
    tool_answer(&[("finish_extraction", &arguments.to_string())])
}

/// Labels and marks of the turns of a transcript that are not context.
fn new_turns(text: &str) -> (Vec<&str>, Vec<&str>) {
    let new = text.lines().filter(|line| line.starts_with("[t")).filter_map(|line| {
        let (label, rest) = line[1..].split_once(']')?;
        let (head, said) = rest.split_once("```")?;
        (!head.contains("earlier")).then_some((label, said.trim_end_matches("```")))
    });
    new.unzip()
}

/// An embedder to which all texts are alike, so that all stored rows are candidates for comparison; but texts of
/// different topics (`topic-<n> …`) have nothing in common.
struct SameVector;

/// Topics that are told apart, and all that is none.
const TOPICS: usize = 16;

fn topic_vector(text: &str) -> Vec<f32> {
    let number = text.strip_prefix("topic-").and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let mut vector = vec![0.0; TOPICS];
    vector[number.unwrap_or(0) % TOPICS] = 1.0;
    vector
}

#[async_trait]
impl EmbeddingModel for SameVector {
    async fn embed(&self, texts: &[String], _: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| topic_vector(text)).collect())
    }

    fn model_name(&self) -> &'static str {
        "same"
    }

    fn dimensions(&self) -> usize {
        TOPICS
    }

    fn is_local(&self) -> bool {
        true
    }
}
