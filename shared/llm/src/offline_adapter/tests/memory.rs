//! Answers about what is stored already: revisions, tags, search terms, reviews.

use super::*;

fn block(name: &str, text: &str) -> String {
    format!("<{name}>\n{text}\n</{name}>\n\n")
}

fn turn(role: &str, content: &str, citations: &Value) -> Value {
    json!({
        "interaction_id": 1, "request_id": "r", "role": role, "content": content, "tools_used": [],
        "citations": citations, "created_at": 1_750_000_000,
    })
}

fn reflection(turns: &[Value], profiles: &Value, playbooks: &Value) -> String {
    [
        block("window_interactions", &Value::from(turns).to_string()),
        block("cited_profiles", &profiles.to_string()),
        block("cited_playbooks", &playbooks.to_string()),
        block("citation_context", "[]"),
    ]
    .concat()
}

fn profile(content: &str) -> Value {
    json!([{
        "profile_id": "p1", "content": content, "profile_time_to_live": "infinity", "custom_features": null,
        "source": null, "last_modified_timestamp": 1_740_000_000,
    }])
}

#[tokio::test]
async fn a_cited_fact_is_revised_by_what_was_said_after_it_only() {
    let cites =
        turn("Assistant", "As you live in Berlin …", &json!([{ "kind": "profile", "real_id": "p1" }]));
    let moved = turn("User", "Actually I live in Lisbon now.", &json!([]));
    for (turns, is_revised) in [([cites.clone(), moved.clone()], true), ([moved, cites], false)] {
        let prompt = reflection(&turns, &profile("Lives in Berlin"), &json!([]));
        let decision = text("memory_reflection", &prompt).await["decisions"][0].clone();
        assert_eq!((&decision["target_kind"], &decision["target_id"]), (&json!("profile"), &json!("p1")));
        let content = decision["new_content"].as_str().unwrap_or_default();
        assert_eq!(content.contains("Lisbon"), is_revised, "{decision}");
    }
}

#[tokio::test]
async fn a_cited_rule_stays_when_nothing_speaks_against_it_and_never_changes_without_a_reason() {
    let cites = turn("Assistant", "Briefly: yes.", &json!([{ "kind": "user_playbook", "real_id": "7" }]));
    let playbook = |content: &str| {
        json!([{
            "user_playbook_id": 7, "playbook_name": "playbook", "content": content,
            "trigger": "When answering this user", "rationale": "Asked for.", "source": null,
        }])
    };
    let thanks = turn("User", "thanks", &json!([]));
    let prompt = reflection(&[cites.clone(), thanks], &json!([]), &playbook("Use bullet points"));
    let decision = text("memory_reflection", &prompt).await["decisions"][0].clone();
    assert_eq!((&decision["target_id"], &decision["new_content"]), (&json!("7"), &Value::Null));
    let wish = turn("User", "From now on always answer without bullet points.", &json!([]));
    let prompt = reflection(&[cites, wish], &json!([]), &playbook("Always answer with bullet points"));
    let decision = text("memory_reflection", &prompt).await["decisions"][0].clone();
    assert_eq!(decision["new_content"].is_string(), decision["new_rationale"].is_string(), "{decision}");
}

#[tokio::test]
async fn tags_are_those_of_the_definition_that_the_memory_names() {
    let tags = |definition: &str, memory: &str| {
        let definition = format!("How to tag, as the organisation defines it:\n{definition}\n\n");
        [definition, block("memory_to_tag", memory)].concat()
    };
    for (definition, memory, expected) in [
        ("Tags: \"invoice\", \"travel\"", "Wants invoices in euros", json!(["invoice"])),
        ("One of: food, music, travel", "Likes MUSIC and food", json!(["food", "music"])),
        ("One of: food, music", "Owns a bike", json!([])),
    ] {
        let answer = text("tagging", &tags(definition, memory)).await;
        assert_eq!(answer["tags"], expected, "{memory}");
    }
}

#[tokio::test]
async fn search_terms_are_synonyms_that_the_text_does_not_hold() {
    let answer = text("document_expansion", &block("text_to_expand", "Bought a sofa and a couch")).await;
    assert_eq!(answer, json!({ "couch": ["settee"], "sofa": ["settee"] }));
    let answer = text("document_expansion", &block("text_to_expand", "Likes tea")).await;
    assert_eq!(answer, json!({}));
}

#[tokio::test]
async fn a_rule_is_kept_when_its_turns_teach_it_and_no_longer_else() {
    let conversation = "=== Session: s (date: 2025-06-15) ===\n\
        [t1] User: ```From now on always answer with short bullet points.```";
    let row = |number: usize, content: &str| {
        format!(
            "[CANDIDATE-{number}] Content: \"{content}\" | Trigger: \"When answering this user\" | \
             Rationale: \"\" | Name: playbook | Source: unknown | Last Modified: 2025-06-15 10:00 UTC"
        )
    };
    let rows = [row(0, "Always answer with short bullet points"), row(1, "Never book flights on Mondays")]
        .join("\n");
    let prompt = [block("conversation", conversation), block("candidates", &rows)].concat();
    let answer = text("playbook_candidate_review", &prompt).await;
    let decisions = answer["decisions"].as_array().unwrap();
    assert_eq!(field(decisions, "decision"), ["accept", "reject"], "{answer}");
    assert_eq!(decisions[0]["evidence_refs"], json!(["t1"]));
    assert_eq!(decisions[1]["reason_code"], "unsupported_evidence");
}

#[tokio::test]
async fn memories_that_cannot_be_read_are_refused() {
    for (purpose, prompt, words) in [
        (
            "memory_reflection",
            block("window_interactions", "[{}]"),
            "block window_interactions cannot be read",
        ),
        ("tagging", block("memory_to_tag", "figs"), "says nothing before the block memory_to_tag"),
        ("document_expansion", String::new(), "holds no block text_to_expand"),
        ("playbook_candidate_review", RULES.to_owned(), "holds no block candidates"),
    ] {
        let error = OfflineChat::new().chat(&request(purpose, &prompt)).await.unwrap_err();
        assert!(error.detail().contains(words), "{error:?}");
    }
}
