//! What happens to ranked rows before they are answered: older ones count a little less, and a caller who asks
//! for the present gets the newest of similar rows first.

use std::collections::HashSet;

/// Half-life of a playbook's freshness, in seconds (90 days).
pub const PLAYBOOK_HALF_LIFE_SECONDS: f64 = 7_776_000.0;
/// A profile's half-life as a share of its time to live.
pub const PROFILE_HALF_LIFE_SHARE: f64 = 0.5;
/// Largest share of a score that age takes away.
pub const RECENCY_SCORE_WEIGHT: f64 = 0.15;
/// Largest amount that age takes from a cross-encoder's logit.
pub const RECENCY_LOGIT_WEIGHT: f64 = 0.2;
/// Token overlap from which two rows speak of the same thing.
pub const SAME_SUBJECT_OVERLAP: f64 = 0.6;
/// Rows fetched for each entity when a relevance floor will drop some of them.
pub const FETCH_FOR_FLOOR: usize = 30;
/// Rows fetched for each entity when age or the time asked for may reorder them.
pub const FETCH_FOR_REORDERING: usize = 20;
/// Most rows fetched in place of those that a session was already served.
pub const MAX_FETCH_FOR_SERVED: usize = 50;

/// What will be done to the rows of a search, as far as it asks for more of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchPlan {
    /// Rows to be answered.
    pub top_k: usize,
    /// The pool of the relevance floor, when it is on ([`FETCH_FOR_FLOOR`] by default).
    pub floor_pool: Option<usize>,
    /// Whether age counts.
    pub recency: bool,
    /// Whether the query asks for a time.
    pub temporal_intent: bool,
    /// Learnings that the session was already served.
    pub already_served: usize,
}

impl FetchPlan {
    /// How many rows to fetch for each entity.
    #[must_use]
    pub fn size(&self) -> usize {
        let reordering = if self.recency || self.temporal_intent { FETCH_FOR_REORDERING } else { 0 };
        let wanted = self.top_k.max(self.floor_pool.unwrap_or(0)).max(reordering);
        wanted + self.already_served.min(MAX_FETCH_FOR_SERVED)
    }
}

/// What is left of freshness after `age_seconds`: 1 when new or dated in the future, a half after the
/// half-life. A half-life that is not a positive number means that nothing ages.
#[must_use]
pub fn decay(age_seconds: i64, half_life_seconds: f64) -> f64 {
    if half_life_seconds.is_nan() || half_life_seconds <= 0.0 {
        return 1.0;
    }
    (-(age_seconds.max(0) as f64) * std::f64::consts::LN_2 / half_life_seconds).exp()
}

/// The freshness of a playbook. Times are epoch seconds.
#[must_use]
pub fn playbook_decay(created_at: Option<i64>, now: i64) -> f64 {
    created_at.map_or(1.0, |created_at| decay(now.saturating_sub(created_at), PLAYBOOK_HALF_LIFE_SECONDS))
}

/// The freshness of a profile, which ages faster the sooner it expires. Times are epoch seconds; without them,
/// or when it expires before it was modified, a profile does not age.
#[must_use]
pub fn profile_decay(last_modified: Option<i64>, expiration: Option<i64>, now: i64) -> f64 {
    let (Some(modified), Some(expiration)) = (last_modified, expiration) else { return 1.0 };
    let half_life = PROFILE_HALF_LIFE_SHARE * expiration.saturating_sub(modified) as f64;
    decay(now.saturating_sub(modified), half_life)
}

/// A score of a fused or lexical ranking, lowered by age.
#[must_use]
pub fn aged_score(score: f32, decay: f64) -> f32 {
    (f64::from(score) * (1.0 - RECENCY_SCORE_WEIGHT * (1.0 - decay))) as f32
}

/// A cross-encoder's logit, lowered by age.
#[must_use]
pub fn aged_logit(logit: f32, decay: f64) -> f32 {
    (f64::from(logit) - RECENCY_LOGIT_WEIGHT * (1.0 - decay)) as f32
}

/// The order for a caller who wants what is current: walking down the ranking, a row joins the first group
/// whose first member speaks of the same subject; groups keep their place, inside them the newest comes first.
/// `rows` are (text, time); the answer names them by their place.
#[must_use]
pub fn newest_of_each_subject(rows: &[(&str, i64)]) -> Vec<usize> {
    let words: Vec<HashSet<String>> = rows
        .iter()
        .map(|(text, _)| text.to_lowercase().split_whitespace().map(str::to_owned).collect())
        .collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in 0..rows.len() {
        let same = |group: &&mut Vec<usize>| overlap(&words[group[0]], &words[row]) >= SAME_SUBJECT_OVERLAP;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|row| std::cmp::Reverse(rows[*row].1));
    }
    groups.concat()
}

/// The common words as a share of the smaller set.
fn overlap(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { a.intersection(b).count() as f64 / smaller as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400;
    const NOW: i64 = 1_800_000_000;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_playbook_is_half_as_fresh_after_ninety_days() {
        assert!(close(playbook_decay(Some(NOW - 90 * DAY), NOW), 0.5));
        assert!(close(playbook_decay(Some(NOW - 180 * DAY), NOW), 0.25));
        assert_eq!(playbook_decay(Some(NOW), NOW), 1.0);
        assert_eq!(playbook_decay(Some(NOW + DAY), NOW), 1.0, "the future is new");
        assert_eq!(playbook_decay(None, NOW), 1.0);
    }

    #[test]
    fn a_profile_is_half_as_fresh_after_half_its_life() {
        let modified = NOW - 5 * DAY;
        assert!(close(profile_decay(Some(modified), Some(modified + 10 * DAY), NOW), 0.5));
        assert_eq!(profile_decay(Some(modified), Some(modified), NOW), 1.0);
        assert_eq!(profile_decay(Some(modified), Some(modified - 1), NOW), 1.0);
        assert_eq!(profile_decay(None, Some(NOW), NOW), 1.0);
        assert_eq!(profile_decay(Some(modified), None, NOW), 1.0);
        assert!(profile_decay(Some(i64::MIN), Some(i64::MAX), i64::MAX).is_finite());
    }

    #[test]
    fn age_takes_at_most_its_weight() {
        assert_eq!(aged_score(0.8, 1.0), 0.8);
        assert!((aged_score(0.8, 0.0) - 0.68).abs() < 1e-6);
        assert!((aged_score(0.8, 0.5) - 0.74).abs() < 1e-6);
        assert_eq!(aged_logit(-1.0, 1.0), -1.0);
        assert!((aged_logit(-1.0, 0.5) - -1.1).abs() < 1e-6);
    }

    #[test]
    fn the_newest_of_similar_rows_comes_first_and_groups_keep_their_place() {
        let rows = [
            ("lives in Berlin now", 1),
            ("likes tea", 9),
            ("lives in Paris now", 5),
            ("Lives in Rome now please", 3),
            ("", 8),
            ("", 7),
        ];
        assert_eq!(newest_of_each_subject(&rows), [2, 3, 0, 1, 4, 5]);
        assert!(newest_of_each_subject(&[]).is_empty());
    }

    #[test]
    fn overlap_joins_a_group_from_six_tenths() {
        assert_eq!(newest_of_each_subject(&[("a b c d e", 1), ("a b c x y", 2)]), [1, 0]);
        assert_eq!(newest_of_each_subject(&[("a b c d e", 1), ("a b w x y", 2)]), [0, 1]);
    }

    #[test]
    fn more_is_fetched_when_rows_will_be_dropped_or_reordered() {
        let plain = FetchPlan { top_k: 5, ..FetchPlan::default() };
        assert_eq!(plain.size(), 5);
        assert_eq!(FetchPlan { recency: true, ..plain }.size(), 20);
        assert_eq!(FetchPlan { temporal_intent: true, top_k: 40, ..plain }.size(), 40);
        assert_eq!(FetchPlan { floor_pool: Some(FETCH_FOR_FLOOR), recency: true, ..plain }.size(), 30);
        for (served, more) in [(49, 49), (50, 50), (51, 50)] {
            assert_eq!(FetchPlan { already_served: served, ..plain }.size(), 5 + more);
        }
    }

    proptest! {
        #[test]
        fn decay_lies_between_0_and_1(age in any::<i64>(), half_life in any::<f64>()) {
            let decay = decay(age, half_life);
            prop_assert!((0.0..=1.0).contains(&decay), "{}", decay);
        }

        #[test]
        fn grouping_loses_and_doubles_nothing(rows in proptest::collection::vec(("[a-c ]{0,6}", 0i64..5), 0..20)) {
            let rows: Vec<(&str, i64)> = rows.iter().map(|(text, at)| (text.as_str(), *at)).collect();
            let mut order = newest_of_each_subject(&rows);
            order.sort_unstable();
            prop_assert_eq!(order, (0..rows.len()).collect::<Vec<_>>());
        }
    }
}
