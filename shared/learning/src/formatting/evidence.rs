//! What a model was shown, by label: the only things that it may cite.

use domain::entities::Interaction;

use super::text::fence_safe;

/// One turn that may be cited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceTurn {
    /// `t1`, `t2`, … for turns, `c1`, `c2`, … for comparisons with an expert.
    pub label: String,
    /// The interaction behind it.
    pub interaction_id: i64,
    /// Whether the user said or did it.
    pub by_user: bool,
    /// Whether it is more than words of the agent: a tool call, or an expert's answer.
    pub has_outside_evidence: bool,
    /// Whether it is new to this window, as opposed to context that was learned from before.
    pub is_new: bool,
    /// The texts of the turn in full length, as they were shown.
    pub texts: Vec<String>,
}

impl EvidenceTurn {
    /// What an interaction offers as evidence under a label.
    #[must_use]
    pub fn of(label: String, interaction: &Interaction, is_new: bool) -> Self {
        let tools = interaction.tools_used.iter();
        let mut texts: Vec<String> = tools
            .map(|tool| fence_safe(&serde_json::Value::Object(tool.tool_data.clone()).to_string()))
            .collect();
        texts.insert(0, fence_safe(&interaction.content));
        texts.push(fence_safe(&interaction.user_action_description));
        texts.retain(|text| !text.trim().is_empty());
        Self {
            label,
            interaction_id: interaction.interaction_id,
            by_user: interaction.is_by_user(),
            has_outside_evidence: !interaction.tools_used.is_empty(),
            is_new,
            texts,
        }
    }

    /// Whether a passage stands in the turn, word for word.
    #[must_use]
    pub fn says(&self, passage: &str) -> bool {
        let passage = fence_safe(passage);
        self.texts.iter().any(|text| text.contains(&passage) || fence_safe(text).contains(&passage))
    }
}

/// All turns that a model was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceMap {
    turns: Vec<EvidenceTurn>,
}

/// What a list of references turned out to name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// The turns, each once, in the order of the references.
    pub turns: Vec<&'a EvidenceTurn>,
    /// How many references name nothing that was shown.
    pub unknown: usize,
    /// How many references are blank.
    pub blank: usize,
}

impl EvidenceMap {
    /// Adds a turn under a label of its own.
    pub fn push(&mut self, turn: EvidenceTurn) {
        self.turns.push(turn);
    }

    /// Adds all turns of another map.
    pub fn extend(&mut self, other: Self) {
        self.turns.extend(other.turns);
    }

    /// All turns in the order in which they were shown.
    #[must_use]
    pub fn turns(&self) -> &[EvidenceTurn] {
        &self.turns
    }

    /// Whether nothing was shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The turn with a label.
    #[must_use]
    pub fn get(&self, label: &str) -> Option<&EvidenceTurn> {
        self.turns.iter().find(|turn| turn.label == label)
    }

    /// Looks references up. `t3`, `[t3]`, `T3` and several in one text (`"t3, t4"`) are all read.
    #[must_use]
    pub fn resolve(&self, references: &[String]) -> Resolved<'_> {
        let mut resolved = Resolved::default();
        for reference in references {
            let is_border = |c: char| c.is_whitespace() || ",;[]()`\"".contains(c);
            let mut labels = reference.split(is_border).filter(|label| !label.is_empty()).peekable();
            if labels.peek().is_none() {
                resolved.blank += 1;
            }
            for label in labels {
                match self.get(&label.to_ascii_lowercase()) {
                    Some(turn) if resolved.turns.contains(&turn) => {}
                    Some(turn) => resolved.turns.push(turn),
                    None => resolved.unknown += 1,
                }
            }
        }
        resolved
    }
}

impl Resolved<'_> {
    /// Ids of the interactions, each once.
    #[must_use]
    pub fn interaction_ids(&self) -> Vec<i64> {
        let mut ids = Vec::new();
        for turn in &self.turns {
            if !ids.contains(&turn.interaction_id) {
                ids.push(turn.interaction_id);
            }
        }
        ids
    }

    /// Whether any of the turns is new to the window.
    #[must_use]
    pub fn any_new(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_new)
    }

    /// Whether any of the turns is more than the agent's own words, which may only repeat injected memories.
    #[must_use]
    pub fn any_beyond_agent_words(&self) -> bool {
        self.turns.iter().any(|turn| turn.by_user || turn.has_outside_evidence)
    }

    /// The passage if one of the turns says it, without surrounding white space.
    #[must_use]
    pub fn verbatim<'p>(&self, passage: &'p str) -> Option<&'p str> {
        let passage = passage.trim();
        (!passage.is_empty() && self.turns.iter().any(|turn| turn.says(passage))).then_some(passage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> EvidenceMap {
        let mut map = EvidenceMap::default();
        for (n, role) in ["User", "Assistant", "User"].into_iter().enumerate() {
            let interaction = Interaction {
                interaction_id: 100 + n as i64,
                role: role.into(),
                content: format!("line {n} with ```code```"),
                ..Interaction::default()
            };
            map.push(EvidenceTurn::of(format!("t{}", n + 1), &interaction, n > 0));
        }
        map
    }

    fn refs(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn references_are_read_in_all_their_spellings_and_once_each() {
        let map = map();
        let resolved = map.resolve(&refs(&["[t3]", "T1, t3", " ", "t9", "turn"]));
        assert_eq!(resolved.interaction_ids(), [102, 100]);
        assert_eq!((resolved.unknown, resolved.blank), (2, 1));
        assert!(resolved.any_new() && resolved.any_beyond_agent_words());
    }

    #[test]
    fn the_agents_own_words_and_old_turns_are_told_apart() {
        let map = map();
        assert!(!map.resolve(&refs(&["t2"])).any_beyond_agent_words());
        assert!(!map.resolve(&refs(&["t1"])).any_new());
    }

    #[test]
    fn a_passage_counts_only_when_a_cited_turn_says_it_word_for_word() {
        let map = map();
        let resolved = map.resolve(&refs(&["t1"]));
        assert_eq!(resolved.verbatim("  line 0 "), Some("line 0"));
        assert_eq!(resolved.verbatim("with '''code"), Some("with '''code"), "as it was shown");
        assert_eq!(resolved.verbatim("with ```code"), Some("with ```code"), "as it was said");
        assert_eq!(resolved.verbatim("line 1"), None, "said elsewhere");
        assert_eq!(resolved.verbatim("Line 0"), None);
        assert_eq!(resolved.verbatim("  "), None);
    }
}
