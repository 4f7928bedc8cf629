//! What a reviewer is shown.

use domain::config::Config;
use domain::entities::UserPlaybook;

use crate::pipeline::ask::render;
use crate::playbook::{format_candidates, format_existing, tools_text};
use crate::worker::WindowFailure;

/// The prompt.
pub(crate) const PURPOSE: &str = "playbook_candidate_review";
/// What the reviewer must know of what it cannot see.
const ARTIFACTS: &str =
    "Images, files and pages that the turns mention are not shown; judge what depends on them as unseen.";

/// The prompt for some rules, the turns that they rest on, and the rules that the agent has besides.
pub(crate) fn review_prompt(
    config: &Config,
    turns: &str,
    candidates: &[UserPlaybook],
    others: &[UserPlaybook],
) -> Result<String, WindowFailure> {
    let extractor = config.user_playbook_extractor_config.as_ref();
    let definition = extractor.map_or("", |extractor| extractor.extraction_definition_prompt.trim());
    let tools = config.tool_can_use.as_deref().unwrap_or(&[]);
    let tools =
        tools_text(tools.iter().map(|tool| (tool.tool_name.as_str(), tool.tool_description.as_str())));
    render(
        "playbook_candidate_review",
        &[
            ("agent_context_prompt", config.agent_context_prompt.as_deref().unwrap_or("").trim()),
            ("playbook_definition", definition),
            ("tool_context", &tools),
            ("interaction_context", turns),
            ("artifact_availability", ARTIFACTS),
            ("candidates", &format_candidates(candidates)),
            ("existing_playbooks", &format_existing(others)),
        ],
    )
}
