//! One window: instructions and corrections of the user, refusals of the agent, tools that failed.

use std::collections::HashSet;

use super::{Rule, en, ja, phrase, reactions, refusals, tools};
use crate::pattern::patterns;
use crate::profile::is_directive;
use crate::text::{Language, Sentence, fold, sentences};
use crate::turn::{EvidenceKind, PLAYBOOKS_MAX, PlaybookDraft, Turn};

patterns! {
    WITHDRAWN = r"^(?:(?:oh|no|actually|ah|ok)[, ]+)*(?:never ?mind|scratch that|just kidding|forget (?:it|that))[.!]*$|^(?:やっぱり)?(?:なんでもない|いいです)";
    TAKEN_BACK = r"\b(?:never ?mind|scratch that|just kidding)\b|なんでもない|やっぱりいい";
}

/// Sentences of a window that are read.
const SENTENCES_MAX: usize = 4_000;

/// What a window teaches the agent. Instructions are read from the user's own words only; what the agent says
/// counts only where it says that it cannot do something that the user asked for.
#[must_use]
pub fn extract_playbooks(turns: &[Turn<'_>]) -> Vec<PlaybookDraft> {
    let mut window = Window { drafts: Vec::new(), seen: HashSet::new(), task: None, left: SENTENCES_MAX };
    let mut agent: Option<&str> = None;
    let mut asked: Option<&str> = None;
    for turn in turns {
        if turn.is_by_user() {
            window.read_user(turn, agent);
            asked = Some(turn.label);
        } else if turn.is_by_agent() {
            if let Some(asked) = asked {
                window.read_agent(turn, asked);
            }
            if !turn.content.trim().is_empty() || !turn.tools.is_empty() {
                agent = Some(turn.label);
            }
        }
    }
    let language = language_of(turns);
    for draft in tools::playbooks(turns, language) {
        window.add(draft);
    }
    window.drafts
}

struct Window {
    drafts: Vec<PlaybookDraft>,
    /// Folded rules and sentences that were read already.
    seen: HashSet<String>,
    /// The task that the user last asked for, as a trigger.
    task: Option<String>,
    left: usize,
}

impl Window {
    fn read_user(&mut self, turn: &Turn<'_>, agent: Option<&str>) {
        let mut task = None;
        for sentence in self.take(turn) {
            if WITHDRAWN.is_match(&sentence.words) {
                self.drafts.retain(|draft| draft.evidence.last().is_none_or(|label| label != turn.label));
                continue;
            }
            // What is to be forgotten must not live on in a rule.
            if TAKEN_BACK.is_match(&sentence.words) || is_directive(&sentence.words, sentence.language) {
                continue;
            }
            let found = match sentence.language {
                Language::English => {
                    en::rule(&sentence.words).or_else(|| reactions::rule(&sentence.words, agent.is_some()))
                }
                Language::Japanese => ja::rule(&sentence.words, agent.is_some()),
            };
            match found {
                Some(rule) => self.add_rule(turn, &sentence, rule, agent),
                None => task = task.or_else(|| phrase::trigger_of_request(&sentence.words)),
            }
        }
        self.task = task.or(self.task.take());
    }

    fn read_agent(&mut self, turn: &Turn<'_>, asked: &str) {
        for sentence in self.take(turn) {
            let Some(refusal) = refusals::refusal(&sentence) else { continue };
            self.add(PlaybookDraft {
                blocking_issue: Some((refusal.kind, refusal.details)),
                trigger: refusal.trigger,
                content: refusal.content,
                rationale: match sentence.language {
                    Language::English => {
                        "The agent had to refuse this after the user had asked for it.".to_owned()
                    }
                    Language::Japanese => "ユーザーの依頼に応じられなかったため。".to_owned(),
                },
                evidence_kind: EvidenceKind::ObservedFailure,
                evidence: vec![asked.to_owned(), turn.label.to_owned()],
                source_span: sentence.original.to_owned(),
            });
        }
    }

    /// The sentences of a turn that were not read before.
    fn take<'a>(&mut self, turn: &Turn<'a>) -> Vec<Sentence<'a>> {
        let mut found = sentences(turn.content);
        found.truncate(self.left);
        self.left -= found.len();
        found.retain(|sentence| self.seen.insert(format!("{}|{}", turn.is_by_user(), fold(&sentence.words))));
        found
    }

    fn add_rule(&mut self, turn: &Turn<'_>, sentence: &Sentence<'_>, rule: Rule, agent: Option<&str>) {
        let japanese = sentence.language == Language::Japanese;
        let general =
            if japanese { "このユーザーに応対するとき" } else { "When helping this user" };
        let task = self.task.clone().filter(|_| !japanese);
        let mut evidence = Vec::new();
        let reacts = rule.kind != EvidenceKind::Preference;
        if let Some(label) = agent.filter(|_| reacts) {
            evidence.push(label.to_owned());
        }
        evidence.push(turn.label.to_owned());
        self.add(PlaybookDraft {
            trigger: rule.trigger.or(task).unwrap_or_else(|| general.to_owned()),
            content: rule.content,
            rationale: rationale(rule.kind, japanese).to_owned(),
            evidence_kind: rule.kind,
            evidence,
            source_span: sentence.original.to_owned(),
            blocking_issue: None,
        });
    }

    fn add(&mut self, draft: PlaybookDraft) {
        // Two errors of one tool may have one remedy; an instruction is one whatever it was said about.
        let from_tool = draft.evidence_kind == EvidenceKind::VerifiedSuccess;
        let said =
            if from_tool { format!("{} {}", draft.trigger, draft.content) } else { draft.content.clone() };
        let new = self.seen.insert(format!("rule|{}", fold(&said)));
        if new && self.drafts.len() < PLAYBOOKS_MAX {
            self.drafts.push(draft);
        }
    }
}

fn rationale(kind: EvidenceKind, japanese: bool) -> &'static str {
    match (kind, japanese) {
        (EvidenceKind::Correction, false) => "The user corrected the agent.",
        (EvidenceKind::Correction, true) => "ユーザーが訂正したため。",
        (EvidenceKind::RejectedApproach, false) => "The user turned down what the agent offered.",
        (EvidenceKind::RejectedApproach, true) => "ユーザーが提案を断ったため。",
        (_, false) => "The user asked for this.",
        (_, true) => "ユーザーがそう求めたため。",
    }
}

/// The language in which the user last spoke.
fn language_of(turns: &[Turn<'_>]) -> Language {
    let last =
        turns.iter().rev().filter(|turn| turn.is_by_user()).find_map(|turn| sentences(turn.content).pop());
    last.map_or(Language::English, |sentence| sentence.language)
}
