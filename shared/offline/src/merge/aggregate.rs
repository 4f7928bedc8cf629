//! One rule for all users of rules that single users taught.

use super::PlaybookRow;
use super::features::Features;

/// Word overlap from which a rule says no more than another.
const SAME_OVERLAP: f64 = 0.7;

/// A rule for all users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRule {
    /// What to do.
    pub content: String,
    /// When; `None` when no row says.
    pub trigger: Option<String>,
    /// Why.
    pub rationale: String,
}

/// The rule that most of the rows resemble; `None` when there are no rows, or a known rule says the same.
#[must_use]
pub fn aggregate_playbooks(rows: &[PlaybookRow<'_>], known: &[&str]) -> Option<SharedRule> {
    let features: Vec<Features> = rows.iter().map(|row| Features::of(row.content)).collect();
    let closeness = |place: usize| features.iter().map(|other| features[place].overlap(other)).sum::<f64>();
    // The first of equals, so that the answer does not depend on chance.
    let middle = (0..rows.len()).reduce(
        |best, place| {
            if closeness(place) > closeness(best) { place } else { best }
        },
    )?;
    let row = rows[middle];
    let is_known = known.iter().any(|rule| features[middle].overlap(&Features::of(rule)) >= SAME_OVERLAP);
    let has_words = !row.content.trim().is_empty();
    (has_words && !is_known).then(|| SharedRule {
        content: row.content.trim().to_owned(),
        trigger: (!row.trigger.trim().is_empty()).then(|| row.trigger.trim().to_owned()),
        rationale: format!("{} playbooks say so.", rows.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(content: &str) -> PlaybookRow<'_> {
        PlaybookRow { content, trigger: "When answering", rationale: "" }
    }

    #[test]
    fn the_row_that_most_resemble_speaks_for_all() {
        let rows = [row("Use emojis."), row("Quote prices in euros."), row("Quote all prices in euros.")];
        let rule = aggregate_playbooks(&rows, &[]).unwrap();
        assert_eq!(rule.content, "Quote prices in euros.");
        assert_eq!(rule.trigger.as_deref(), Some("When answering"));
    }

    #[test]
    fn what_is_known_is_not_said_again() {
        let rows = [row("Quote prices in euros."), row("Quote prices in euros, please.")];
        assert_eq!(aggregate_playbooks(&rows, &["Always quote prices in euros"]), None);
        assert!(aggregate_playbooks(&rows, &["Use tabs."]).is_some());
        assert_eq!(aggregate_playbooks(&[], &[]), None);
    }
}
