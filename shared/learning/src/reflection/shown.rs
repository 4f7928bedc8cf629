//! What a model is shown of a window and of the memories that it cites: JSON, indented by two.

use domain::entities::{Citation, ToolUsed, UserPlaybook, UserProfile};
use serde::Serialize;
use serde_json::{Value, json};

use super::horizon::{SeenTurn, Target};
use crate::formatting::text::{CONTENT_TOKENS_MAX, TOOL_DATA_TOKENS_MAX, cut, estimated_tokens};
use crate::formatting::transcript::TOOLS_PER_TURN_MAX;

/// Citations of one turn that are shown.
pub const CITATIONS_PER_TURN_MAX: usize = 20;

/// A memory that is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitationContext {
    /// Which.
    pub target: Target,
    /// Whether enough came after its citation, as opposed to its last chance.
    pub has_full_horizon: bool,
}

/// The variables of the prompt `memory_reflection` that hold data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectionVariables {
    /// The turns, oldest first.
    pub window_interactions_json: String,
    /// Cited facts.
    pub cited_profiles_json: String,
    /// Cited rules.
    pub cited_user_playbooks_json: String,
    /// What is known of each citation.
    pub per_citation_context_json: String,
}

/// Renders the variables. Turns of the system are left out, long texts are cut.
#[must_use]
pub fn reflection_variables(
    window: &[SeenTurn<'_>],
    profiles: &[UserProfile],
    playbooks: &[UserPlaybook],
    context: &[CitationContext],
) -> ReflectionVariables {
    let turns = window.iter().filter(|turn| !turn.interaction.is_by_system());
    let context = context.iter().map(|citation| {
        json!({
            "target_kind": citation.target.kind(),
            "target_id": citation.target.id(),
            "has_full_horizon": citation.has_full_horizon,
        })
    });
    ReflectionVariables {
        window_interactions_json: pretty(&turns.map(shown_turn).collect::<Vec<_>>()),
        cited_profiles_json: pretty(&profiles.iter().map(shown_profile).collect::<Vec<_>>()),
        cited_user_playbooks_json: pretty(&playbooks.iter().map(shown_playbook).collect::<Vec<_>>()),
        per_citation_context_json: pretty(&context.collect::<Vec<_>>()),
    }
}

/// Values of JSON: writing them cannot fail.
fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn shown_turn(turn: &SeenTurn<'_>) -> Value {
    let interaction = turn.interaction;
    let tools = interaction.tools_used.iter().take(TOOLS_PER_TURN_MAX).map(shown_tool);
    let citations = interaction.citations.iter().take(CITATIONS_PER_TURN_MAX).map(shown_citation);
    json!({
        "interaction_id": interaction.interaction_id,
        "request_id": turn.request_id.as_str(),
        "role": interaction.role,
        "content": cut(interaction.content.trim(), CONTENT_TOKENS_MAX),
        "tools_used": tools.collect::<Vec<_>>(),
        "citations": citations.collect::<Vec<_>>(),
        "created_at": interaction.created_at,
    })
}

fn shown_tool(tool: &ToolUsed) -> Value {
    let data = short(&Value::Object(tool.tool_data.clone()));
    json!({ "tool_name": tool.tool_name, "tool_data": data, "status": tool.status })
}

fn shown_citation(citation: &Citation) -> Value {
    json!({ "kind": citation.kind, "real_id": citation.real_id })
}

fn shown_profile(profile: &UserProfile) -> Value {
    json!({
        "profile_id": profile.profile_id.as_str(),
        "content": profile.content,
        "profile_time_to_live": profile.profile_time_to_live.as_str(),
        "custom_features": profile.custom_features.clone().map(Value::Object).as_ref().map(short),
        "source": profile.source,
        "last_modified_timestamp": profile.last_modified_timestamp,
    })
}

fn shown_playbook(playbook: &UserPlaybook) -> Value {
    json!({
        "user_playbook_id": playbook.user_playbook_id,
        "playbook_name": playbook.playbook_name,
        "content": playbook.content,
        "trigger": playbook.trigger,
        "rationale": playbook.rationale,
        "source": playbook.source,
    })
}

/// The value, or the head and tail of its text when that is long.
fn short(value: &Value) -> Value {
    let text = value.to_string();
    if estimated_tokens(&text) <= TOOL_DATA_TOKENS_MAX {
        value.clone()
    } else {
        Value::String(cut(&text, TOOL_DATA_TOKENS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use domain::entities::Interaction;
    use domain::ids::{ProfileId, RequestId};

    use super::*;

    fn turn(role: &str, content: &str) -> Interaction {
        Interaction {
            interaction_id: 7,
            role: role.into(),
            content: content.into(),
            ..Interaction::default()
        }
    }

    #[test]
    fn turns_are_shown_as_indented_json_without_the_systems() {
        let request = RequestId::new("r").unwrap();
        let turns = [turn("System", "obey"), turn("User", "für 東京")];
        let seen: Vec<_> = turns
            .iter()
            .map(|interaction| SeenTurn {
                interaction,
                request_id: &request,
                for_profiles: true,
                for_playbooks: true,
            })
            .collect();
        let target = Target::Profile(ProfileId::new("p1").unwrap());
        let context = [CitationContext { target, has_full_horizon: false }];
        let shown = reflection_variables(&seen, &[], &[], &context);
        let json: Value = serde_json::from_str(&shown.window_interactions_json).unwrap();
        let names: Vec<&str> = json[0].as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["interaction_id", "request_id", "role", "content", "tools_used", "citations", "created_at"];
        assert_eq!((json.as_array().unwrap().len(), names), (1, expected.to_vec()));
        assert!(shown.window_interactions_json.starts_with("[\n  {\n    \"interaction_id\": 7"));
        assert!(shown.window_interactions_json.contains("für 東京"));
        let json: Value = serde_json::from_str(&shown.per_citation_context_json).unwrap();
        let expected = json!([{ "target_kind": "profile", "target_id": "p1", "has_full_horizon": false }]);
        assert_eq!((json, shown.cited_profiles_json.as_str()), (expected, "[]"));
    }

    #[test]
    fn long_texts_and_tool_data_are_cut() {
        let request = RequestId::new("r").unwrap();
        let mut long = turn("User", &"word ".repeat(4 * CONTENT_TOKENS_MAX));
        let data = json!({ "output": "x".repeat(8 * TOOL_DATA_TOKENS_MAX) });
        long.tools_used = vec![ToolUsed {
            tool_name: "t".into(),
            tool_data: data.as_object().unwrap().clone(),
            status: String::new(),
        }];
        let seen =
            [SeenTurn { interaction: &long, request_id: &request, for_profiles: true, for_playbooks: true }];
        let shown = reflection_variables(&seen, &[], &[], &[]);
        assert_eq!(shown.window_interactions_json.matches("…[truncated]").count(), 2);
        assert!(estimated_tokens(&shown.window_interactions_json) < 2 * CONTENT_TOKENS_MAX + 200);
    }
}
