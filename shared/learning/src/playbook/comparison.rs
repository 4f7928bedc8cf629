//! The agent's answers beside those of an expert.

use domain::entities::Interaction;

use crate::formatting::text::{CONTENT_TOKENS_MAX, FENCE, cut, fence_safe};
use crate::formatting::{EvidenceMap, EvidenceTurn, Transcript, Turn, transcript};

/// Whether an expert's answer changes the way in which a window is learned from.
#[must_use]
pub fn has_expert_content(interaction: &Interaction) -> bool {
    !interaction.expert_content.trim().is_empty()
}

/// The window for the expert path: one block for each answer that an expert corrected, cited as `c1`, `c2`, …, and
/// after them the ordinary transcript, so that the user's own corrections are not lost.
#[must_use]
pub fn comparisons(turns: &[Turn<'_>]) -> Transcript {
    let mut ordered: Vec<&Turn<'_>> = turns.iter().collect();
    ordered.sort_by_key(|turn| (turn.request_created_at, turn.interaction.interaction_id));
    let mut evidence = EvidenceMap::default();
    let mut blocks = Vec::new();
    for (at, turn) in ordered.iter().enumerate().filter(|(_, turn)| has_expert_content(turn.interaction)) {
        let number = blocks.len() + 1;
        let question = ordered[..at]
            .iter()
            .rev()
            .find(|earlier| earlier.interaction.is_by_user() && earlier.session_id == turn.session_id)
            .map(|earlier| earlier.interaction.content.as_str());
        blocks.push(block(number, question, turn.interaction));
        evidence.push(comparison_evidence(number, turn));
    }
    let history = transcript(turns);
    blocks.extend((!history.text.is_empty()).then_some(history.text));
    evidence.extend(history.evidence);
    Transcript { text: blocks.join("\n\n"), evidence }
}

fn block(number: usize, question: Option<&str>, answer: &Interaction) -> String {
    let line = |name: &str, text: &str| {
        format!("{name}: {FENCE}{}{FENCE}", fence_safe(&cut(text.trim(), CONTENT_TOKENS_MAX)))
    };
    let mut lines = vec![format!("=== Comparison {number} ===")];
    lines.extend(question.map(|question| line("User Question", question)));
    lines.push(line("Agent Response", &answer.content));
    lines.push(line("Expert Response", &answer.expert_content));
    lines.join("\n")
}

fn comparison_evidence(number: usize, turn: &Turn<'_>) -> EvidenceTurn {
    let mut evidence = EvidenceTurn::of(format!("c{number}"), turn.interaction, turn.is_new);
    evidence.texts.insert(0, fence_safe(turn.interaction.expert_content.trim()));
    evidence.has_outside_evidence = true;
    evidence
}

#[cfg(test)]
mod tests {
    use domain::ids::SessionId;

    use super::*;

    fn said(id: i64, role: &str, content: &str, expert: &str) -> Interaction {
        Interaction {
            interaction_id: id,
            role: role.into(),
            content: content.into(),
            expert_content: expert.into(),
            ..Interaction::default()
        }
    }

    fn show(interactions: &[Interaction]) -> Transcript {
        let session_id = SessionId::new("s").unwrap();
        let turns: Vec<Turn<'_>> = interactions
            .iter()
            .map(|interaction| Turn {
                interaction,
                session_id: &session_id,
                request_created_at: 0,
                is_new: true,
            })
            .collect();
        comparisons(&turns)
    }

    #[test]
    fn each_corrected_answer_stands_beside_the_experts_with_its_question() {
        let shown = show(&[
            said(1, "Assistant", "hello", "good day"),
            said(2, "user", "what is due?", ""),
            said(3, "Assistant", "nothing", "5 ```euros```"),
        ]);
        let expected = "=== Comparison 1 ===\nAgent Response: ```hello```\nExpert Response: ```good day```\n\n\
            === Comparison 2 ===\nUser Question: ```what is due?```\nAgent Response: ```nothing```\n\
            Expert Response: ```5 '''euros'''```\n\n\
            === Session: s ===\n[t1] Assistant: ```hello```\n[t2] user: ```what is due?```\n[t3] Assistant: ```nothing```";
        assert_eq!(shown.text, expected);
        let resolved = shown.evidence.resolve(&["c2".into(), "t2".into()]);
        assert_eq!(resolved.interaction_ids(), [3, 2]);
        assert_eq!(resolved.verbatim("5 ```euros"), Some("5 ```euros"));
    }

    #[test]
    fn each_field_is_cut_on_its_own() {
        let long = "x".repeat(4 * CONTENT_TOKENS_MAX + 1);
        let shown = show(&[said(1, "User", &long, ""), said(2, "Assistant", &long, &long)]);
        assert_eq!(shown.text.matches("…[truncated]").count(), 5);
    }

    #[test]
    fn a_blank_expert_answer_is_none() {
        assert!(!has_expert_content(&said(1, "Assistant", "a", " \n")));
    }
}
