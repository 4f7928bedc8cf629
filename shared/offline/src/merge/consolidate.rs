//! New playbooks against those that are known.

use serde::Serialize;

use super::features::Features;

/// Word overlap from which two rules say the same.
const SAME_OVERLAP: f64 = 0.7;
/// Share of a rule's words in another from which it adds nothing.
const CONTAINED: f64 = 0.9;
/// Word overlap from which two rules speak of one matter.
const RELATED_OVERLAP: f64 = 0.34;
/// Word overlap from which two triggers describe one situation.
const SAME_TRIGGER: f64 = 0.6;
/// Cosine of the static table from which two triggers describe one situation.
const CLOSE_TRIGGER: f32 = 0.85;
/// Characters that a unified rule may have; beyond, the rules stay apart.
const UNIFIED_CHARS_MAX: usize = 1_200;

/// One playbook, new or known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybookRow<'a> {
    /// When it applies; `""` when not said.
    pub trigger: &'a str,
    /// What to do.
    pub content: &'a str,
    /// Why; `""` when not said.
    pub rationale: &'a str,
}

/// What becomes of one new playbook. Ids of known ones are positions in the list that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Decision {
    /// It and the archived ones become one.
    Unify {
        /// `NEW-<position>`.
        new_id: String,
        /// Positions of the known ones that it takes in.
        archive_existing_ids: Vec<usize>,
        /// The rule.
        content: String,
        /// When it applies.
        trigger: String,
        /// Why.
        rationale: String,
        /// Why this decision.
        reason: String,
    },
    /// It says nothing that is not known.
    RejectNew {
        /// `NEW-<position>`.
        new_id: String,
        /// The position of the known one.
        superseded_by_existing_id: usize,
        /// Why this decision.
        reason: String,
    },
    /// Both stay, each for its own situation.
    Differentiate {
        /// `NEW-<position>`.
        new_id: String,
        /// The position of the known one.
        existing_id: usize,
        /// When the new one applies.
        refined_new_trigger: String,
        /// When the known one applies.
        refined_existing_trigger: String,
        /// Why this decision.
        reason: String,
    },
    /// It stays as it is.
    Independent {
        /// `NEW-<position>`.
        new_id: String,
        /// Why this decision.
        reason: String,
    },
}

struct Rule<'a> {
    row: PlaybookRow<'a>,
    trigger: Features,
    content: Features,
}

impl<'a> Rule<'a> {
    fn read(row: &PlaybookRow<'a>) -> Self {
        Self { row: *row, trigger: Features::of(row.trigger), content: Features::of(row.content) }
    }

    fn same_situation(&self, other: &Self) -> bool {
        self.trigger.folded == other.trigger.folded
            || self.trigger.overlap(&other.trigger) >= SAME_TRIGGER
            || (self.trigger.overlap(&other.trigger) > 0.0
                && self.trigger.cosine(&other.trigger) >= CLOSE_TRIGGER)
    }
}

enum Verdict {
    Known,
    Extends,
    Contradicts,
    Splits,
}

/// Decides about every new playbook, once each; a known one is archived at most once.
#[must_use]
pub fn consolidate_playbooks(new: &[PlaybookRow<'_>], existing: &[PlaybookRow<'_>]) -> Vec<Decision> {
    let known: Vec<Rule<'_>> = existing.iter().map(Rule::read).collect();
    let mut archived = vec![false; known.len()];
    let mut decisions = Vec::with_capacity(new.len());
    for (position, row) in new.iter().enumerate() {
        let rule = Rule::read(row);
        let found = known
            .iter()
            .enumerate()
            .filter(|(place, _)| !archived[*place])
            .find_map(|(place, other)| verdict(&rule, other).map(|verdict| (place, other, verdict)));
        let new_id = format!("NEW-{position}");
        let decision = match found {
            Some((place, other, verdict)) => decide(new_id, &rule, place, other, &verdict),
            None => Decision::Independent { new_id, reason: "Nothing known speaks of this.".to_owned() },
        };
        match &decision {
            Decision::Unify { archive_existing_ids, .. } => {
                archive_existing_ids.iter().for_each(|place| archived[*place] = true);
            }
            Decision::Differentiate { existing_id, .. } => archived[*existing_id] = true,
            Decision::RejectNew { .. } | Decision::Independent { .. } => {}
        }
        decisions.push(decision);
    }
    keep_answers_alive(&mut decisions, &archived);
    decisions
}

/// A rule must not be rejected in favour of one that a later decision archives.
fn keep_answers_alive(decisions: &mut [Decision], archived: &[bool]) {
    for decision in decisions {
        if let Decision::RejectNew { new_id, superseded_by_existing_id, .. } = decision
            && archived[*superseded_by_existing_id]
        {
            let reason = "The known rule it repeats is being replaced.".to_owned();
            *decision = Decision::Independent { new_id: std::mem::take(new_id), reason };
        }
    }
}

fn verdict(new: &Rule<'_>, known: &Rule<'_>) -> Option<Verdict> {
    let (a, b) = (&new.content, &known.content);
    let overlap = a.overlap(b);
    let alike = overlap >= SAME_OVERLAP || a.contained_in(b) >= CONTAINED || b.contained_in(a) >= CONTAINED;
    let same_situation = new.same_situation(known);
    let opposed = a.negative != b.negative;
    if a.folded == b.folded && same_situation {
        return Some(Verdict::Known);
    }
    match (alike, opposed, same_situation) {
        (true, false, true) if a.contained_in(b) >= CONTAINED && a.numbers.is_subset(&b.numbers) => {
            Some(Verdict::Known)
        }
        (true, false, true) => Some(Verdict::Extends),
        (true, true, true) => Some(Verdict::Contradicts),
        (true, true, false) => Some(Verdict::Splits),
        // One situation with several pieces of advice is one rule, if they speak of one matter.
        (false, false, true) if overlap >= RELATED_OVERLAP => Some(Verdict::Extends),
        _ => None,
    }
}

fn decide(new_id: String, new: &Rule<'_>, place: usize, known: &Rule<'_>, verdict: &Verdict) -> Decision {
    let unify = |new_id: String, content: String, reason: &str| Decision::Unify {
        new_id,
        archive_existing_ids: vec![place],
        content,
        trigger: longer(known.row.trigger, new.row.trigger),
        rationale: longer(known.row.rationale, new.row.rationale),
        reason: reason.to_owned(),
    };
    match verdict {
        Verdict::Known => Decision::RejectNew {
            new_id,
            superseded_by_existing_id: place,
            reason: "The known rule says this already.".to_owned(),
        },
        Verdict::Contradicts => {
            unify(new_id, new.row.content.to_owned(), "The later instruction replaces the earlier one.")
        }
        Verdict::Extends => {
            let content = joined(known, new);
            if content.chars().count() > UNIFIED_CHARS_MAX {
                let reason = "Together they would be too long.".to_owned();
                return Decision::Independent { new_id, reason };
            }
            unify(new_id, content, "Both speak of one situation.")
        }
        Verdict::Splits => Decision::Differentiate {
            new_id,
            existing_id: place,
            refined_new_trigger: named(new.row.trigger),
            refined_existing_trigger: except(known.row.trigger, new.row.trigger),
            reason: "Opposite advice for two situations.".to_owned(),
        },
    }
}

/// The fuller text of two that say the same, else both.
fn joined(known: &Rule<'_>, new: &Rule<'_>) -> String {
    if known.content.contained_in(&new.content) >= CONTAINED {
        return new.row.content.to_owned();
    }
    let (first, second) = (known.row.content.trim(), new.row.content.trim());
    let gap = if first.ends_with(['.', '!', '?']) {
        " "
    } else if first.ends_with('。') {
        ""
    } else {
        ". "
    };
    let second = if new.content.overlap(&known.content) >= SAME_OVERLAP { "" } else { second };
    if second.is_empty() { new.row.content.to_owned() } else { format!("{first}{gap}{second}") }
}

fn longer(known: &str, new: &str) -> String {
    if known.chars().count() > new.chars().count() { known } else { new }.to_owned()
}

fn named(trigger: &str) -> String {
    if trigger.trim().is_empty() { "In the case just described".to_owned() } else { trigger.to_owned() }
}

fn except(known: &str, new: &str) -> String {
    let known = if known.trim().is_empty() { "In general" } else { known.trim() };
    let new = new.trim();
    if new.is_empty() {
        format!("{known}, unless told otherwise")
    } else {
        format!("{known} (except: {new})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule<'a>(trigger: &'a str, content: &'a str) -> PlaybookRow<'a> {
        PlaybookRow { trigger, content, rationale: "" }
    }

    fn only(new: PlaybookRow<'_>, known: PlaybookRow<'_>) -> Decision {
        consolidate_playbooks(&[new], &[known]).remove(0)
    }

    #[test]
    fn what_is_known_is_rejected() {
        let known = rule("When answering this user", "Quote prices in euros.");
        let decision = only(rule("When answering this user", "Quote prices in euros"), known);
        assert!(matches!(decision, Decision::RejectNew { superseded_by_existing_id: 0, .. }), "{decision:?}");
    }

    #[test]
    fn a_later_opposite_replaces_the_earlier_rule() {
        let known = rule("When answering this user", "Use bullet points");
        match only(rule("When answering this user", "Do not use bullet points"), known) {
            Decision::Unify { content, archive_existing_ids, .. } => {
                assert_eq!((content.as_str(), archive_existing_ids), ("Do not use bullet points", vec![0]));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn opposite_advice_for_two_situations_is_told_apart() {
        let known = rule("When answering this user", "Use bullet points");
        match only(rule("When drafting letters to clients", "Do not use bullet points"), known) {
            Decision::Differentiate { refined_new_trigger, refined_existing_trigger, .. } => {
                assert!(!refined_new_trigger.is_empty() && refined_existing_trigger.contains("except"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn related_advice_for_one_situation_becomes_one_rule() {
        let known = rule("When booking hotels", "Check the cancellation terms of hotels.");
        match only(rule("When booking hotels", "Check the breakfast terms of hotels."), known) {
            Decision::Unify { content, .. } => {
                assert!(content.contains("cancellation") && content.contains("breakfast"), "{content}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn unrelated_rules_are_independent() {
        let known = rule("When booking hotels", "Check the cancellation terms of hotels.");
        assert!(matches!(
            only(rule("When writing code", "Run the tests first"), known),
            Decision::Independent { .. }
        ));
    }

    #[test]
    fn decisions_have_the_shape_of_the_judge() {
        let value = serde_json::to_value(only(rule("a", "b"), rule("c", "d"))).unwrap();
        assert_eq!(value["kind"], "independent");
        assert_eq!(value["new_id"], "NEW-0");
    }

    const POOL: [(&str, &str); 6] = [
        ("When answering", "Use bullet points"),
        ("When answering", "Do not use bullet points"),
        ("When drafting letters", "Do not use bullet points"),
        ("When answering", "Use short bullet points with verbs"),
        ("When booking", "Check the terms"),
        ("", ""),
    ];

    proptest! {
        #[test]
        fn each_new_rule_has_one_decision_and_each_known_one_at_most_one(
            new in proptest::collection::vec(0..POOL.len(), 0..6),
            known in proptest::collection::vec(0..POOL.len(), 0..6),
        ) {
            let take = |picks: &[usize]| picks.iter().map(|pick| rule(POOL[*pick].0, POOL[*pick].1)).collect::<Vec<_>>();
            let decisions = consolidate_playbooks(&take(&new), &take(&known));
            prop_assert_eq!(decisions.len(), new.len());
            let mut archived = Vec::new();
            for decision in &decisions {
                match decision {
                    Decision::Unify { archive_existing_ids, .. } => archived.extend(archive_existing_ids.clone()),
                    Decision::Differentiate { existing_id, refined_new_trigger, refined_existing_trigger, .. } => {
                        archived.push(*existing_id);
                        prop_assert!(!refined_new_trigger.trim().is_empty());
                        prop_assert!(!refined_existing_trigger.trim().is_empty());
                    }
                    Decision::RejectNew { .. } | Decision::Independent { .. } => {}
                }
            }
            let count = archived.len();
            archived.sort_unstable();
            archived.dedup();
            prop_assert_eq!(archived.len(), count);
        }
    }
}
