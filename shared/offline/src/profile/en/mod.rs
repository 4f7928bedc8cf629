//! First person facts in English.

mod asking;
mod being;
mod clauses;
mod doing;
mod grammar;
mod guard;
mod having;
mod names;
mod owning;
mod wanting;

pub(crate) use clauses::without_lead;
pub(crate) use grammar::{is_vague, third_person, third_verb, trimmed};

use super::Fact;

/// A longer fact is a story, not a fact.
const FACT_CHARS_MAX: usize = 160;

/// The facts that a sentence states, in its order.
pub(super) fn facts(sentence: &str) -> Vec<Fact> {
    if guard::is_no_statement(sentence) {
        return Vec::new();
    }
    let asked = asking::fact(without_lead(sentence));
    let mut found: Vec<Fact> = asked.into_iter().collect();
    for clause in clauses::clauses(sentence) {
        let fact = statement(&clause);
        // A request may be read as a whole and again as its clause.
        found.extend(fact.filter(|fact| !found.iter().any(|known| same_wish(known, fact))));
    }
    found.retain(|fact| fact.content.chars().count() <= FACT_CHARS_MAX);
    found
}

fn same_wish(a: &Fact, b: &Fact) -> bool {
    ["Wants to pay", "Wants to be", "Prefers answers"]
        .iter()
        .any(|wish| a.content.starts_with(wish) && b.content.starts_with(wish))
}

/// The fact of one clause, if it states one.
pub(crate) fn statement(clause: &str) -> Option<Fact> {
    let clause = trimmed(clause);
    if guard::is_unsure(clause) {
        return None;
    }
    let rules =
        [names::fact, owning::fact, being::fact, having::fact, wanting::fact, doing::fact, asking::fact];
    rules.iter().find_map(|rule| rule(clause))
}
