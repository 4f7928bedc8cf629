//! Models in the OpenAI format that do as the conversation says: `fact: …` is a profile, `rule: …` a playbook,
//! `forget: …` a wish to forget.

use std::collections::BTreeMap;

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

/// Variables that make `server` the model provider of a deployment.
pub(crate) fn provider(server: &ModelServer) -> BTreeMap<String, String> {
    let variables = [
        ("RETROSPECT_LLM_BASE_URL", server.base_url()),
        ("RETROSPECT_LLM_API_KEY", "sk-operator".to_owned()),
        ("RETROSPECT_LLM_MODEL", "scripted-model".to_owned()),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A server whose model learns what is marked.
pub(crate) async fn attentive_model() -> ModelServer {
    let server = ModelServer::start().await;
    server.otherwise(Scripted::with(attentive));
    server
}

/// What a request is for, by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Gate,
    Profiles,
    Playbooks,
    Deduplication,
    Consolidation,
    Reflection,
    Tagging,
    Expansion,
    Review,
    Aggregation,
    Judge,
    Comparison,
}

/// What a request is for.
pub(crate) fn purpose(request: &ReceivedRequest) -> Purpose {
    let tool = &request.body["tools"][0]["function"]["parameters"]["properties"];
    if tool.get("profiles").is_some() {
        return Purpose::Profiles;
    }
    if tool.get("playbooks").is_some() {
        return Purpose::Playbooks;
    }
    match request.body["response_format"]["json_schema"]["name"].as_str() {
        Some("profile_deduplication") => Purpose::Deduplication,
        Some("playbook_consolidation") => Purpose::Consolidation,
        Some("playbook_aggregation") => Purpose::Aggregation,
        Some("memory_reflection") => Purpose::Reflection,
        Some("tagging") => Purpose::Tagging,
        Some("AgentSuccessEvaluationOutput") => Purpose::Judge,
        Some("shadow_comparison" | "ShadowComparisonOutput") => Purpose::Comparison,
        Some("playbook_candidate_review") => Purpose::Review,
        _ if request.prompt().contains("<text_to_expand>") => Purpose::Expansion,
        _ => Purpose::Gate,
    }
}

/// How often the model was asked for this.
pub(crate) fn asked(server: &ModelServer, wanted: Purpose) -> usize {
    server.requests().iter().filter(|request| purpose(request) == wanted).count()
}

/// The answer of a model that pays attention.
pub(crate) fn attentive(request: &ReceivedRequest) -> Scripted {
    let prompt = request.prompt();
    match purpose(request) {
        Purpose::Gate => Scripted::text("true"),
        Purpose::Profiles => finish("profiles", profiles(&prompt)),
        Purpose::Playbooks => finish("playbooks", playbooks(&prompt)),
        Purpose::Deduplication => Scripted::json(&deduplication(&prompt)),
        Purpose::Consolidation => Scripted::json(&consolidation(&prompt)),
        Purpose::Reflection => Scripted::json(&json!({ "decisions": [] })),
        Purpose::Tagging => Scripted::json(&json!({ "tags": ["tagged"] })),
        Purpose::Review => Scripted::json(&json!({ "decisions": [{
            "reason": "shown", "candidate_id": "CANDIDATE-0", "decision": "accept",
            "reason_code": "grounded_useful", "evidence_refs": ["t1"],
            "content": null, "trigger": null, "rationale": null,
        }] })),
        Purpose::Expansion => Scripted::text("{}"),
        Purpose::Judge => Scripted::json(&verdict(&prompt)),
        Purpose::Comparison => Scripted::json(&comparison(&prompt)),
        Purpose::Aggregation => Scripted::json(&aggregation(&prompt)),
    }
}

/// A session fails whose user says so: `bad: …`.
fn verdict(prompt: &str) -> Value {
    let complaints = prompt.split("```bad: ").skip(1).filter_map(|rest| rest.split("```").next());
    let complaints: Vec<&str> = complaints.collect();
    json!({
        "is_success": complaints.is_empty(),
        "failure_type": complaints.first().map(|_| "wrong_answer"),
        "failure_reason": complaints.first(),
        "is_escalated": prompt.contains("human please"),
        "number_of_correction_per_session": complaints.len(),
    })
}

/// The better of two answers is the one that says that it is good.
fn comparison(prompt: &str) -> Value {
    let is_good = |block: &str| {
        let answer = prompt.split(&format!("<{block}>\n")).nth(1).and_then(|rest| rest.split("\n</").next());
        answer.is_some_and(|answer| answer.contains("good"))
    };
    let better = match (is_good("first_response"), is_good("second_response")) {
        (true, false) => "1",
        (false, true) => "2",
        _ => "tie",
    };
    json!({ "better_request": better, "is_significantly_better": better != "tie", "comparison_reason": "It is good." })
}

/// The call that ends an extraction.
pub(crate) fn finish(list: &str, drafts: Vec<Value>) -> Scripted {
    Scripted::tool("finish_extraction", json!({ list: drafts }))
}

fn profiles(prompt: &str) -> Vec<Value> {
    let facts = marked(prompt, "fact: ").into_iter();
    let wishes = marked(prompt, "forget: ").into_iter();
    let wishes = wishes.map(|(label, what)| (label, format!("Requested removal of {what}")));
    let draft = |(label, content): (String, String)| {
        json!({
            "reasoning": "The user says so.",
            "content": content,
            "time_to_live": "infinity",
            "source_span": null,
            "evidence_refs": [label],
            "notes": null,
        })
    };
    facts.chain(wishes).map(draft).collect()
}

fn playbooks(prompt: &str) -> Vec<Value> {
    let draft = |(label, content): (String, String)| {
        json!({
            "rationale": "The user corrected the agent.",
            "evidence_kind": "correction",
            "trigger": format!("When it comes to {content}"),
            "content": content,
            "evidence_refs": [label],
            "blocking_issue": null,
            "notes": null,
        })
    };
    marked(prompt, "rule: ").into_iter().map(draft).collect()
}

/// Labels of the new turns that hold the mark, with what follows it.
fn marked(prompt: &str, mark: &str) -> Vec<(String, String)> {
    let lines = prompt.lines().filter(|line| line.starts_with("[t") && !line.contains("(earlier"));
    lines
        .filter_map(|line| {
            let label = line[1..].split(']').next()?.to_owned();
            let said = line.split_once(mark)?.1.trim_end_matches('`');
            Some((label, said.to_owned()))
        })
        .collect()
}

/// Rows of a comparison: the content behind `[NEW-<n>]` or `[EXISTING-<n>]`, in their order.
fn rows(prompt: &str, kind: &str) -> Vec<String> {
    let rows = prompt.lines().filter(|line| line.starts_with(&format!("[{kind}-")));
    rows.map(|line| line.split_once("Content: ").map(|(_, rest)| rest.to_owned()).unwrap_or_default())
        .collect()
}

fn deduplication(prompt: &str) -> Value {
    let existing = rows(prompt, "EXISTING");
    let (mut unique, mut deletions) = (Vec::new(), Vec::new());
    for (n, row) in rows(prompt, "NEW").iter().enumerate() {
        let Some(wish) = row.strip_prefix("\"Requested removal of ") else {
            unique.push(format!("NEW-{n}"));
            continue;
        };
        let what = wish.split('"').next().unwrap_or_default();
        let concerned = existing.iter().enumerate().filter(|(_, row)| row.contains(what));
        let ids: Vec<String> = concerned.map(|(n, _)| format!("EXISTING-{n}")).collect();
        deletions.push(json!({ "reasoning": "asked", "new_id": format!("NEW-{n}"), "existing_ids": ids }));
    }
    json!({ "duplicate_groups": [], "unique_ids": unique, "deletions": deletions })
}

/// Contents of the playbooks that are to become one, in the order in which they are shown.
pub(crate) fn members(prompt: &str) -> Vec<String> {
    let rows = prompt.lines().filter(|line| line.starts_with("[ROW-"));
    let content = |row: &str| row.split_once("Content: \"").unwrap().1.split('"').next().unwrap().to_owned();
    rows.map(content).collect()
}

/// What the members share: all but their last words.
fn aggregation(prompt: &str) -> Value {
    let shared = members(prompt)[0].rsplit_once(' ').unwrap().0.to_owned();
    let count = members(prompt).len();
    json!({ "playbook": {
        "rationale": format!("{count} say so."), "trigger": null, "content": shared, "blocking_issue": null,
    } })
}

fn consolidation(prompt: &str) -> Value {
    let ids = 0..rows(prompt, "NEW").len();
    let decisions =
        ids.map(|n| json!({ "kind": "independent", "new_id": format!("NEW-{n}"), "reason": "new" }));
    json!({ "decisions": decisions.collect::<Vec<_>>() })
}
