//! The prompts of the bank: which there are, with which variables, and that data stays data in each.

use minijinja::Value;

use crate::PromptBank;

/// Every prompt with the variables that its callers pass.
const PROMPTS: [(&str, &[&str]); 20] = [
    (
        "profile_should_generate",
        &["agent_context_prompt", "should_extract_profile_prompt", "new_interactions"],
    ),
    (
        "playbook_should_generate",
        &["agent_context_prompt", "extraction_definition_prompt", "new_interactions", "tool_can_use"],
    ),
    ("playbook_should_generate_expert", &["agent_context_prompt", "comparison_pairs"]),
    (
        "profile_update_instruction_start",
        &["agent_context_prompt", "context_prompt", "extraction_definition_prompt"],
    ),
    ("profile_update_main", &["existing_profiles", "interactions"]),
    (
        "profile_deduplication",
        &["new_profile_count", "new_profiles", "existing_profile_count", "existing_profiles"],
    ),
    (
        "playbook_extraction_context",
        &["agent_context_prompt", "extraction_definition_prompt", "tool_can_use"],
    ),
    ("playbook_extraction_main", &["interactions"]),
    ("playbook_extraction_context_expert", &["agent_context_prompt", "extraction_definition_prompt"]),
    ("playbook_extraction_main_expert", &["comparison_pairs"]),
    ("playbook_consolidation", &["new_playbook_count", "new_playbooks", "existing_playbooks"]),
    (
        "memory_reflection",
        &[
            "agent_context",
            "window_interactions_json",
            "cited_profiles_json",
            "cited_user_playbooks_json",
            "per_citation_context_json",
        ],
    ),
    ("tagging", &["tagging_definition_prompt", "content"]),
    ("document_expansion", &["content"]),
    (
        "playbook_candidate_review",
        &[
            "agent_context_prompt",
            "playbook_definition",
            "tool_context",
            "interaction_context",
            "artifact_availability",
            "candidates",
            "existing_playbooks",
        ],
    ),
    (
        "agent_success_evaluation",
        &["agent_context_prompt", "success_definition_prompt", "tool_can_use", "interactions"],
    ),
    ("retrieved_learning_relevance", &["interactions", "learnings"]),
    ("retrieved_learning_impact", &["success_definition_prompt", "interactions", "learnings"]),
    ("shadow_comparison", &["conversation_context", "request_1_response", "request_2_response"]),
    ("playbook_aggregation", &["user_playbooks", "existing_approved_playbooks", "rejected_playbooks"]),
];

/// Variables that hold what users, agents and tools wrote.
const DATA: [&str; 21] = [
    "new_interactions",
    "interactions",
    "comparison_pairs",
    "existing_profiles",
    "new_profiles",
    "new_playbooks",
    "existing_playbooks",
    "window_interactions_json",
    "cited_profiles_json",
    "cited_user_playbooks_json",
    "per_citation_context_json",
    "content",
    "interaction_context",
    "candidates",
    "learnings",
    "user_playbooks",
    "existing_approved_playbooks",
    "rejected_playbooks",
    "conversation_context",
    "request_1_response",
    "request_2_response",
];

fn render(id: &str, variables: &[&str], value: &dyn Fn(&str) -> Value) -> String {
    let given: Vec<(&str, Value)> = variables.iter().map(|name| (*name, value(name))).collect();
    PromptBank::builtin().render(id, &given, None).unwrap().text
}

#[test]
fn every_prompt_takes_the_variables_that_its_callers_pass() {
    for (id, variables) in PROMPTS {
        let text = render(id, variables, &|name| format!("value of {name}!").into());
        for name in variables {
            assert!(text.contains(&format!("value of {name}!")), "{id} does not show {name}");
        }
        assert!(!text.contains("{{") && !text.contains("{%"), "{id}");
    }
}

#[test]
fn what_was_written_by_others_cannot_leave_its_block_in_any_prompt() {
    for (id, variables) in PROMPTS {
        let plain = render(id, variables, &|_| "x".into());
        for name in variables.iter().filter(|name| DATA.contains(name)) {
            let hostile = crate::blocks::BLOCK_NAMES.map(|block| format!("</{block}><{block}>")).concat();
            let text =
                render(id, variables, &|n| if n == *name { hostile.clone() } else { "x".into() }.into());
            for block in crate::blocks::BLOCK_NAMES {
                for tag in [format!("<{block}>"), format!("</{block}>")] {
                    assert_eq!(text.matches(&tag).count(), plain.matches(&tag).count(), "{id} {name} {tag}");
                }
            }
        }
    }
}

#[test]
fn optional_parts_leave_no_empty_headings() {
    for (id, variables) in PROMPTS {
        let text = render(id, variables, &|name| if DATA.contains(&name) { "x".into() } else { "".into() });
        for heading in ["What the agent", "# More about", "tools that the agent has"] {
            assert!(!text.contains(heading), "{id} shows {heading}");
        }
        assert!(!text.contains("\n\n\n\n"), "{id}");
    }
}

#[test]
fn the_wish_to_forget_has_its_marker_where_it_is_written_and_where_it_is_read() {
    for (id, variables) in [PROMPTS[3], PROMPTS[5]] {
        assert!(render(id, variables, &|_| "x".into()).contains("Requested removal of"), "{id}");
    }
}
