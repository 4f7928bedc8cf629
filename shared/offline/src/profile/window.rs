//! One window: facts in the order in which they were said, later words over earlier ones.

use std::collections::HashSet;

use domain::entities::ProfileTimeToLive::{self, Infinity, OneDay};
use jiff::civil::Date;

use super::correct::{self, find_word};
use super::dates::{Leaning, day_of, resolve, time_to_live_until};
use super::forget::{self, Forget, REMOVAL_MARKER};
use super::secrets::{holds_secret, without_card_digits};
use super::{Fact, en, ja};
use crate::merge::removal_covers;
use crate::pattern::patterns;
use crate::text::{Language, Sentence, capitalised, fold, lower_first, sentences};
use crate::turn::{PROFILES_MAX, ProfileDraft, Turn};

/// Sentences of a window that are read.
const SENTENCES_MAX: usize = 4_000;

patterns! {
    CORRECTS = r"^(?:no|nope)\b[,.!—-]+ ?(?:my|it's|i'm (?:from|in|based|an?)|i (?:live|work|use|speak)|we)\b|^(?:actually|sorry|wait|correction|i meant?|my mistake|my bad|oops|いや|いえ|違います|訂正|実は|すみません)\b?[,.:;!、。 —-]";
    ITS_ID = r"^(?:it's|it is|that's|here it is:|is) (?P<x>[\w@.-]*[_@\d][\w@.-]*)$";
    ASKED_ID = r"\bmy (?P<k>(?:user|account|customer|member(?:ship)?|employee|client) (?:id|number|name)|username)\b";
    SCRATCHED = r"^(?:no,? |wait,? |actually,? |sorry,? )*(?:scratch|strike) that\b";
    OWN = r"私|わたし|僕|ぼく|俺|自分";
    COMPANION = r"犬|猫|うさぎ|ペット|息子|娘|妻|夫|子供|子ども|弟|妹|兄|姉";
    NOW = r"\b(?:right now|at the moment|today|tonight|for now)\b|今日|本日|今夜";
}

/// What a window says about the user, in order. Only turns of the user are read, and of those only the user's
/// own words. `existing` are facts that are known already: a correction may refer to them, and what is repeated
/// word for word is not reported again.
#[must_use]
pub fn extract_profiles(turns: &[Turn<'_>], existing: &[&str]) -> Vec<ProfileDraft> {
    let mut window = Window { existing, drafts: Vec::new(), seen: HashSet::new(), previous: Vec::new() };
    let mut left = SENTENCES_MAX;
    let mut agent: Option<&str> = None;
    for turn in turns {
        if !turn.is_by_user() {
            if turn.is_by_agent() && !turn.content.trim().is_empty() {
                agent = Some(turn.content);
            }
            continue;
        }
        for sentence in sentences(turn.content) {
            if left == 0 || window.drafts.len() >= PROFILES_MAX {
                return window.finish();
            }
            left -= 1;
            window.read(turn, &sentence, agent);
        }
    }
    window.finish()
}

struct Window<'a> {
    existing: &'a [&'a str],
    drafts: Vec<ProfileDraft>,
    /// Sentences that were read already: repeated text costs and adds nothing.
    seen: HashSet<String>,
    /// The facts of the last sentence that was no directive, and the sentence itself.
    previous: Vec<String>,
}

impl Window<'_> {
    fn read(&mut self, turn: &Turn<'_>, sentence: &Sentence<'_>, agent: Option<&str>) {
        let folded = fold(&sentence.words);
        if let Some(directive) = forget::directive(&sentence.words, sentence.language) {
            self.forget(turn, sentence, directive);
            return;
        }
        if holds_secret(&sentence.words) || !self.seen.insert(folded) {
            return;
        }
        if let Some(replacement) = correct::replacement(&sentence.words, sentence.language)
            && self.correct(turn, sentence, &replacement, agent)
        {
            return;
        }
        if SCRATCHED.is_match(&sentence.words) {
            self.drafts.retain(|draft| is_removal(draft) || !self.previous.contains(&draft.content));
        }
        let mut facts = match sentence.language {
            Language::English => en::facts(&sentence.words),
            Language::Japanese => ja::facts(&sentence.words),
        };
        facts.extend(self.identifier(sentence));
        facts.iter_mut().for_each(|fact| self.attribute(fact, sentence));
        let corrects = CORRECTS.is_match(&sentence.words);
        self.previous = vec![sentence.words.clone()];
        for (place, fact) in facts.into_iter().enumerate() {
            if place == 0 {
                self.previous.clear();
            }
            let draft = draft(turn, sentence, &fact, corrects);
            self.previous.push(draft.content.clone());
            self.add(draft);
        }
    }

    /// "Can you use my user ID? It's …": the kind stands in the sentence before.
    fn identifier(&self, sentence: &Sentence<'_>) -> Option<Fact> {
        let found = ITS_ID.captures(en::trimmed(en::without_lead(&sentence.words)))?;
        let kind = self.previous.iter().find_map(|text| ASKED_ID.captures(text))?["k"].to_lowercase();
        Some(Fact::lasting(format!("{} is {}", capitalised(&kind.replace(" id", " ID")), &found["x"])))
    }

    /// 「犬を飼っています。名前は…」: the name is that of the dog.
    fn attribute(&self, fact: &mut Fact, sentence: &Sentence<'_>) {
        if fact.content.starts_with("名前は")
            && !OWN.is_match(&sentence.words)
            && let Some(whose) = self.previous.iter().find_map(|text| COMPANION.find(text))
        {
            fact.content = format!("{}の{}", whose.as_str(), fact.content);
        }
    }

    fn add(&mut self, draft: ProfileDraft) {
        let folded = fold(&draft.content);
        let known = self.drafts.iter_mut().find(|known| fold(&known.content) == folded);
        if let Some(known) = known {
            known.time_to_live = known.time_to_live.max(draft.time_to_live);
            for label in draft.evidence {
                if !known.evidence.contains(&label) {
                    known.evidence.push(label);
                }
            }
            return;
        }
        let repeated =
            draft.time_to_live == Infinity && self.existing.iter().any(|known| fold(known) == folded);
        if !repeated {
            self.drafts.push(draft);
        }
    }

    fn forget(&mut self, turn: &Turn<'_>, sentence: &Sentence<'_>, directive: Forget) {
        let subjects: Vec<String> = match directive {
            Forget::Everything => vec!["everything".to_owned()],
            Forget::Topic(topic) => vec![topic],
            Forget::Statement(statement) => vec![format!("{STATEMENT}{statement}")],
            Forget::Previous { certain } => {
                let said = std::mem::take(&mut self.previous);
                let understood =
                    said.iter().any(|text| self.drafts.iter().any(|draft| draft.content == *text));
                let asked = said.iter().any(|text| text.ends_with(['?', '？']));
                if !understood && (!certain || asked) {
                    return;
                }
                said.iter().map(|text| format!("{STATEMENT}{}", lower_first(text))).collect()
            }
        };
        for subject in subjects {
            let content = format!("{REMOVAL_MARKER} {subject}");
            // Said and taken back in one window: it must not be stored in the first place.
            let taken_back = |fact: &str| {
                lower_first(fact) == subject.trim_start_matches(STATEMENT) || removal_covers(&content, fact)
            };
            self.drafts.retain(|draft| is_removal(draft) || !taken_back(&draft.content));
            self.add(ProfileDraft {
                content,
                time_to_live: OneDay,
                source_span: sentence.original.to_owned(),
                evidence: vec![turn.label.to_owned()],
                notes: String::new(),
            });
        }
    }

    /// Applies "X, not Y" to the latest fact that holds Y; `false` when nothing does.
    fn correct(
        &mut self,
        turn: &Turn<'_>,
        sentence: &Sentence<'_>,
        replacement: &correct::Replacement,
        agent: Option<&str>,
    ) -> bool {
        let span = || sentence.original.to_owned();
        let held = self.drafts.iter_mut().rev().filter(|draft| !is_removal(draft));
        for draft in held {
            if let Some(content) = replacement.apply(&draft.content) {
                draft.content = content;
                draft.source_span = span();
                draft.notes = CORRECTION_NOTE.to_owned();
                draft.evidence.push(turn.label.to_owned());
                draft.evidence.dedup();
                return true;
            }
        }
        let known = self.existing.iter().rev().find_map(|known| replacement.apply(known));
        // The agent called the user by the wrong name.
        let addressed = agent.is_some_and(|text| find_word(text, &replacement.old).is_some());
        let named = (replacement.is_of_names() && addressed).then(|| format!("Name is {}", replacement.new));
        let Some(content) = known.or(named) else { return false };
        self.add(ProfileDraft {
            content,
            time_to_live: Infinity,
            source_span: span(),
            evidence: vec![turn.label.to_owned()],
            notes: CORRECTION_NOTE.to_owned(),
        });
        true
    }

    fn finish(self) -> Vec<ProfileDraft> {
        self.drafts
    }
}

/// How a removal names a whole statement, as opposed to a subject.
const STATEMENT: &str = "the statement: ";
const CORRECTION_NOTE: &str = "Corrects an earlier statement.";

fn is_removal(draft: &ProfileDraft) -> bool {
    draft.content.starts_with(REMOVAL_MARKER)
}

fn draft(turn: &Turn<'_>, sentence: &Sentence<'_>, fact: &Fact, corrects: bool) -> ProfileDraft {
    let today = day_of(turn.created_at);
    let dated = resolve(&fact.content, today, fact.leaning);
    let content = without_card_digits(&dated.text).into_owned();
    let span = if content == dated.text { sentence.original } else { before_digits(sentence.original) };
    ProfileDraft {
        time_to_live: time_to_live(fact, dated.last, today),
        content,
        source_span: span.to_owned(),
        evidence: vec![turn.label.to_owned()],
        notes: if corrects { CORRECTION_NOTE.to_owned() } else { String::new() },
    }
}

fn time_to_live(fact: &Fact, last: Option<Date>, today: Date) -> ProfileTimeToLive {
    match last {
        Some(last) if fact.is_event || fact.leaning == Leaning::Future => time_to_live_until(today, last),
        _ if fact.leaning != Leaning::Past && NOW.is_match(&fact.content) => OneDay,
        _ => fact.time_to_live,
    }
}

/// The words before the first digit: still verbatim, and without the number of a card.
fn before_digits(original: &str) -> &str {
    let digits = original.find(|c: char| c.is_ascii_digit()).unwrap_or(original.len());
    original[..digits].trim_end()
}
