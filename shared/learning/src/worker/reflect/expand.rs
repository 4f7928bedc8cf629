//! More words to find revised memories by.

use domain::time::EpochMillis;
use store::UserKeys;

use crate::expansion::expanded_terms;
use crate::reflection::Outcome;
use crate::services::Services;

/// Asks for the words of the revised rows that lost theirs with their text.
pub(super) async fn expand(
    services: &Services,
    keys: &UserKeys<'_>,
    outcome: &mut Outcome,
    deadline_ms: EpochMillis,
) {
    let mut waiting: Vec<(String, &mut Option<String>)> = Vec::new();
    for revised in &mut outcome.profiles {
        let text = revised.row.content.clone();
        waiting.push((text, &mut revised.row.expanded_terms));
    }
    for revised in &mut outcome.playbooks {
        let text = revised.row.embedding_text().to_owned();
        waiting.push((text, &mut revised.row.expanded_terms));
    }
    waiting.retain(|(_, terms)| terms.is_none());
    let texts: Vec<String> = waiting.iter().map(|(text, _)| text.clone()).collect();
    let found = expanded_terms(services, keys.org, &texts, deadline_ms).await;
    for ((_, terms), found) in waiting.into_iter().zip(found) {
        *terms = found;
    }
}
