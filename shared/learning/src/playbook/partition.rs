//! What must hold between the decisions of one answer: every new row is handled exactly once, and a stored row is
//! given up by at most one decision.

use domain::entities::UserPlaybook;

use super::decisions::{ConsolidationAnswer, Decision};

/// The place of a stored row that a decision names: the number is its place in the list that was shown, or, when it
/// is none, the row's own id.
#[must_use]
pub fn resolve_existing(number: i64, existing: &[UserPlaybook]) -> Option<usize> {
    match usize::try_from(number) {
        Ok(place) if place < existing.len() => Some(place),
        _ => existing.iter().position(|row| row.user_playbook_id == number),
    }
}

/// Stored rows that a decision gives up, by place.
pub(crate) fn given_up(decision: &Decision, existing: &[UserPlaybook]) -> Vec<usize> {
    let numbers: &[i64] = match decision {
        Decision::Unify { archive_existing, .. } => archive_existing,
        Decision::Differentiate { existing, .. } => std::slice::from_ref(existing),
        Decision::RejectNew { .. } | Decision::Independent { .. } => &[],
    };
    let mut places = Vec::new();
    for place in numbers.iter().filter_map(|number| resolve_existing(*number, existing)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// What is wrong with an answer, in words for the model that gave it; empty when nothing is.
#[must_use]
pub fn consolidation_problems(
    answer: &ConsolidationAnswer,
    new_count: usize,
    existing: &[UserPlaybook],
) -> Vec<String> {
    let mut problems = Vec::new();
    if answer.unreadable > 0 {
        problems.push(format!("{} decisions lack a field or name no row", answer.unreadable));
    }
    let mut new_mentions = vec![0usize; new_count];
    let mut existing_claims = vec![0usize; existing.len()];
    for decision in &answer.decisions {
        for n in decision.new_rows() {
            match new_mentions.get_mut(*n) {
                Some(mentions) => *mentions += 1,
                None => problems.push(format!("NEW-{n} is not a row")),
            }
        }
        for place in given_up(decision, existing) {
            existing_claims[place] += 1;
        }
        let numbers: &[i64] = match decision {
            Decision::Unify { archive_existing, .. } => archive_existing,
            Decision::RejectNew { superseded_by_existing: number, .. }
            | Decision::Differentiate { existing: number, .. } => std::slice::from_ref(number),
            Decision::Independent { .. } => &[],
        };
        let unknown = numbers.iter().filter(|number| resolve_existing(**number, existing).is_none());
        problems.extend(unknown.map(|number| format!("EXISTING-{number} is not a row")));
    }
    let news = new_mentions.iter().enumerate().filter(|(_, mentions)| **mentions != 1);
    problems.extend(
        news.map(|(n, mentions)| format!("NEW-{n} must be handled exactly once, not {mentions} times")),
    );
    let claimed = existing_claims.iter().enumerate().filter(|(_, claims)| **claims > 1);
    problems.extend(
        claimed
            .map(|(n, claims)| format!("EXISTING-{n} may be archived or refined once, not {claims} times")),
    );
    problems
}
