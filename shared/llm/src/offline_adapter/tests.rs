//! Answers to prompts as the pipeline renders them; `fixtures/` holds them, rendered once from the prompt bank.

use serde_json::json;

use super::*;
use crate::tool_loop::{FinishTool, NoTools, run_tool_loop};
use crate::types::{Message, ToolSpec};

mod memory;
mod requests;

const FACTS: &str = include_str!("fixtures/facts.txt");
const RULES: &str = include_str!("fixtures/rules.txt");

fn request(purpose: &'static str, prompt: &str) -> ChatRequest {
    ChatRequest::new(purpose, vec![Message::system("You study conversations."), Message::user(prompt)])
}

/// A request as the tool loop sends it.
fn extraction(purpose: &'static str, prompt: &str) -> ChatRequest {
    let tool = ToolSpec {
        name: FINISH_TOOL.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let tool_choice = ToolChoice::Tool(FINISH_TOOL.to_owned());
    ChatRequest { tools: vec![tool], tool_choice, ..request(purpose, prompt) }
}

async fn ask(request: &ChatRequest) -> ChatResponse {
    OfflineChat::new().chat(request).await.unwrap()
}

async fn word(purpose: &'static str, prompt: &str) -> String {
    let answer = ask(&request(purpose, prompt)).await;
    assert_eq!(answer.finish, FinishReason::Stop);
    answer.text.unwrap()
}

async fn text(purpose: &'static str, prompt: &str) -> Value {
    serde_json::from_str(&word(purpose, prompt).await).unwrap()
}

async fn extracted(purpose: &'static str, prompt: &str, list: &str) -> Vec<Value> {
    let answer = ask(&extraction(purpose, prompt)).await;
    assert_eq!((answer.finish, answer.text, answer.tool_calls.len()), (FinishReason::ToolCalls, None, 1));
    let arguments: Value = serde_json::from_str(&answer.tool_calls[0].arguments).unwrap();
    arguments[list].as_array().unwrap().clone()
}

fn field<'a>(entries: &'a [Value], name: &str) -> Vec<&'a str> {
    entries.iter().map(|entry| entry[name].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn facts_are_read_from_new_turns_in_the_users_own_words() {
    let profiles = extracted("profile_update_main", FACTS, "profiles").await;
    let contents = field(&profiles, "content");
    let holds = |words: &str| contents.iter().any(|content| content.contains(words));
    for words in ["peanuts", "Turin", "2025-06-17", "大阪", "コーヒー", "Requested removal of"] {
        assert!(holds(words), "{words}: {contents:#?}");
    }
    for words in ["welder", "opera", "Buy"] {
        assert!(!holds(words), "{words}: {contents:#?}");
    }
}

#[tokio::test]
async fn each_fact_names_its_turn_and_quotes_it() {
    let profiles = extracted("profile_update_main", FACTS, "profiles").await;
    for profile in &profiles {
        let label = profile["evidence_refs"][0].as_str().unwrap();
        assert!(["t3", "t5", "t6", "t7", "t8"].contains(&label), "{profile}");
        assert!(FACTS.contains(profile["source_span"].as_str().unwrap()), "{profile}");
        let keys: Vec<&str> = profile.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["reasoning", "content", "time_to_live", "source_span", "evidence_refs", "notes"]);
    }
    let removal =
        profiles.iter().find(|profile| profile["content"].as_str().unwrap().starts_with("Requested"));
    assert_eq!(removal.unwrap()["time_to_live"], "one_day");
}

#[tokio::test]
async fn what_only_earlier_turns_say_is_neither_asked_for_nor_extracted() {
    let facts = include_str!("fixtures/nothing_new.txt");
    assert_eq!(extracted("profile_update_main", facts, "profiles").await, Vec::<Value>::new());
    let rules = include_str!("fixtures/nothing_new_rules.txt");
    assert_eq!(extracted("playbook_extraction_main", rules, "playbooks").await, Vec::<Value>::new());
    let gate = include_str!("fixtures/nothing_new_gate.txt");
    assert_eq!(word("profile_should_generate", gate).await, "false");
    let gate = include_str!("fixtures/nothing_new_rules_gate.txt");
    assert_eq!(word("playbook_should_generate", gate).await, "false");
}

#[tokio::test]
async fn a_window_worth_reading_is_called_so() {
    for (purpose, prompt) in [
        ("profile_should_generate", include_str!("fixtures/facts_gate.txt")),
        ("playbook_should_generate", include_str!("fixtures/rules_gate.txt")),
        ("playbook_should_generate_expert", include_str!("fixtures/expert_gate.txt")),
    ] {
        assert_eq!(word(purpose, prompt).await, "true", "{purpose}");
    }
}

#[tokio::test]
async fn rules_are_read_from_wishes_corrections_and_failed_tools() {
    let playbooks = extracted("playbook_extraction_main", RULES, "playbooks").await;
    let contents = field(&playbooks, "content");
    for words in ["euros", "24-hour clock", "税込み", "party_size"] {
        assert!(contents.iter().any(|content| content.contains(words)), "{words}: {playbooks:#?}");
    }
    let kinds = field(&playbooks, "evidence_kind");
    for kind in ["preference", "correction", "verified-success"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    for playbook in &playbooks {
        let keys: Vec<&str> = playbook.as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["rationale", "evidence_kind", "trigger", "content", "evidence_refs", "blocking_issue", "notes"];
        assert_eq!(keys, expected);
        assert!(!playbook["trigger"].as_str().unwrap().is_empty(), "{playbook}");
    }
}

#[tokio::test]
async fn an_experts_answer_and_the_conversation_behind_it_both_teach() {
    let prompt = include_str!("fixtures/expert.txt");
    let playbooks = extracted("playbook_extraction_main_expert", prompt, "playbooks").await;
    assert_eq!(field(&playbooks, "evidence_kind"), ["expert-gap", "preference"]);
    assert_eq!(playbooks[0]["evidence_refs"], json!(["c1"]));
    assert!(field(&playbooks, "content")[0].contains("restocking fee"));
}

#[tokio::test]
async fn a_wish_to_forget_names_what_it_concerns_and_the_rest_is_merged() {
    let answer = text("profile_deduplication", include_str!("fixtures/deduplication.txt")).await;
    assert_eq!(answer["deletions"][0]["new_id"], "NEW-0");
    assert_eq!(answer["deletions"][0]["existing_ids"], json!(["EXISTING-0"]));
    let moved = json!({
        "item_ids": ["NEW-1", "EXISTING-1"],
        "relation": "contradiction",
        "merged_content": "Lives in Turin",
        "merged_time_to_live": "infinity",
    });
    let repeated = &answer["duplicate_groups"][1];
    assert_eq!(answer["duplicate_groups"][0], moved);
    assert_eq!(repeated["item_ids"], json!(["NEW-2", "EXISTING-2"]));
    assert_eq!(
        (&repeated["relation"], &repeated["merged_time_to_live"]),
        (&json!("duplicate"), &json!("infinity"))
    );
    assert_eq!(answer["unique_ids"], json!(["NEW-3"]));
}

#[tokio::test]
async fn a_fact_that_was_taken_back_at_once_is_forgotten_with_the_wish() {
    let answer = text("profile_deduplication", include_str!("fixtures/taken_back.txt")).await;
    assert_eq!(answer["deletions"].as_array().unwrap().len(), 1);
    assert_eq!(answer["deletions"][0]["new_id"], "NEW-1");
    assert_eq!(answer["deletions"][0]["existing_ids"], json!(["NEW-0"]));
    assert_eq!((&answer["unique_ids"], &answer["duplicate_groups"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn a_repeated_rule_is_rejected_an_extended_one_unified_and_another_kept() {
    let answer = text("playbook_consolidation", include_str!("fixtures/consolidation.txt")).await;
    let decisions = answer["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 3, "{answer:#}");
    assert_eq!((&decisions[1]["kind"], &decisions[1]["new_id"]), (&json!("unify"), &json!(["NEW-1"])));
    assert_eq!(decisions[1]["archive_existing_ids"], json!([0]));
    assert_eq!((&decisions[2]["kind"], &decisions[2]["new_id"]), (&json!("independent"), &json!("NEW-2")));
    // Alone, the repeated rule is rejected.
    let prompt = include_str!("fixtures/consolidation.txt");
    let without: String = prompt
        .lines()
        .filter(|line| !line.starts_with("[NEW-1]") && !line.starts_with("[NEW-2]"))
        .map(|line| format!("{line}\n"))
        .collect();
    let answer = text("playbook_consolidation", &without).await;
    assert_eq!(answer["decisions"][0]["kind"], "reject_new");
    assert_eq!(answer["decisions"][0]["superseded_by_existing_id"], 0);
}

#[tokio::test]
async fn the_tool_loop_takes_the_answer_at_its_first_step() {
    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    struct ProfileAnswer {
        profiles: Vec<Value>,
    }
    let finish = FinishTool { name: "finish_extraction".to_owned(), description: String::new() };
    let request = request("profile_update_main", FACTS);
    let finished =
        run_tool_loop::<ProfileAnswer, _>(&OfflineChat::new(), &request, &finish, &NoTools, 8, |_| Ok(()))
            .await
            .unwrap();
    assert_eq!(finished.steps, 1);
    assert!(finished.value.profiles.len() > 4 && finished.usage.output_tokens > 0);
}
