//! What the judges are shown: the session, one line for each interaction, and the learnings as JSON.

use domain::entities::Interaction;
use learning::formatting::text::{TRUNCATION_MARK, cut, estimated_tokens};
use serde_json::{Value, json};

use super::resolve::Learning;
use super::snapshot::Candidate;
use crate::judge::transcript::{action_text, role_name, spoken};

/// Longest transcript, in estimated tokens.
pub const TRANSCRIPT_TOKENS_MAX: usize = 8_000;
/// Longest line of it, in estimated tokens: the interactions of a whole question fit into the transcript.
pub const LINE_TOKENS_MAX: usize = 256;
/// Longest content of a learning, in estimated tokens.
pub const LEARNING_TOKENS_MAX: usize = 256;
/// What a line begins with.
const LINE_OPENING: &str = "[interaction_id=";

/// The session as lines, and whether all of it is shown in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lines {
    lines: Vec<(i64, String)>,
    is_whole: bool,
}

impl Lines {
    pub(crate) fn of(interactions: &[Interaction]) -> Self {
        let mut is_whole = true;
        let lines = interactions.iter().map(|interaction| {
            let said = [spoken(interaction), action_text(interaction)];
            let said = said.into_iter().flatten().collect::<Vec<_>>().join("\n");
            // Nobody can forge a line by writing one.
            let said = said.replace(LINE_OPENING, "(interaction_id=");
            let shown = cut(&said, LINE_TOKENS_MAX);
            is_whole &= shown == said && !said.contains(TRUNCATION_MARK);
            let (id, role) = (interaction.interaction_id, role_name(interaction));
            (id, format!("{LINE_OPENING}{id}] {role}: {shown}"))
        });
        let lines = lines.collect();
        Self { lines, is_whole }
    }

    /// The transcript for a question about learnings of these interactions: all lines if there is room, else those
    /// interactions and what stands around them. Also whether all of the session is in it, in full.
    pub(crate) fn around(&self, targets: &[i64]) -> (String, bool) {
        let tokens: Vec<usize> = self.lines.iter().map(|(_, line)| estimated_tokens(line) + 1).collect();
        if tokens.iter().sum::<usize>() <= TRANSCRIPT_TOKENS_MAX {
            let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
            return (lines.join("\n"), self.is_whole);
        }
        let is_shown = self.chosen(targets, &tokens);
        let mut text = String::new();
        for (index, (_, line)) in self.lines.iter().enumerate() {
            if is_shown[index] {
                text.push_str(line);
                text.push('\n');
            } else if index == 0 || is_shown[index - 1] {
                text.push_str(TRUNCATION_MARK);
                text.push('\n');
            }
        }
        (text.trim_end_matches('\n').to_owned(), false)
    }

    /// The targets first, then their neighbours, near ones first, while there is room.
    fn chosen(&self, targets: &[i64], tokens: &[usize]) -> Vec<bool> {
        let mut is_shown = vec![false; self.lines.len()];
        let mut room = TRANSCRIPT_TOKENS_MAX;
        let places: Vec<usize> =
            (0..self.lines.len()).filter(|&index| targets.contains(&self.lines[index].0)).collect();
        let nearest = |distance: usize| {
            let both = move |place: &usize| [place.checked_sub(distance), place.checked_add(distance)];
            places.iter().flat_map(both).flatten()
        };
        for index in (0..self.lines.len()).flat_map(nearest) {
            // What marks a gap takes its room too.
            let needed =
                tokens.get(index).map_or(usize::MAX, |tokens| tokens + estimated_tokens(TRUNCATION_MARK) + 1);
            if is_shown.get(index) == Some(&false) && needed <= room {
                is_shown[index] = true;
                room -= needed;
            }
            if room <= estimated_tokens(TRUNCATION_MARK) + 1 {
                break;
            }
        }
        is_shown
    }
}

/// The learnings of one question as JSON.
pub(crate) fn learnings_json(asked: &[(Candidate, Learning)]) -> String {
    let entries: Vec<Value> = asked
        .iter()
        .map(|(candidate, learning)| {
            json!({
                "learning_ref": candidate.reference(),
                "target_interaction_id": candidate.interaction_id,
                "kind": candidate.kind.as_str(),
                "title": learning.title,
                "content": cut(&learning.content, LEARNING_TOKENS_MAX),
                "trigger": learning.trigger.as_deref().map(|trigger| cut(trigger, LEARNING_TOKENS_MAX)),
            })
        })
        .collect();
    serde_json::to_string_pretty(&entries).unwrap_or_default()
}

/// Whether the judge sees all that a learning says.
pub(crate) fn is_shown_whole(learning: &Learning) -> bool {
    let fits = |text: &str| estimated_tokens(text) <= LEARNING_TOKENS_MAX;
    fits(&learning.content) && learning.trigger.as_deref().is_none_or(fits)
}
