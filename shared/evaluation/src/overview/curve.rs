//! Success over time, and how much of it there is to show.

use std::collections::BTreeMap;

use domain::entities::{EvaluationResult, RetrievalExperimentArm};
use domain::requests::overview::OverviewBucket;
use domain::time::EpochSeconds;
use domain::views::{GroupPoint, GroupTrends, HeroBucket, HeroState};

use super::numbers::{average_corrections, escalation_rate, success_rate};
use super::{Slices, Standing};

const DAY: EpochSeconds = 86_400;
/// Before that, an organisation without a shadow is still being introduced to what verdicts are.
const DAYS_WITHOUT_SHADOW_MIN: EpochSeconds = 7;
const DAYS_WITH_SHADOW_MIN: EpochSeconds = 14;
const COMPARISONS_MIN: usize = 500;

/// How much there is to show of so many verdicts and comparisons to the shadow.
pub(super) fn state(standing: &Standing<'_>, verdicts: usize, comparisons: usize) -> HeroState {
    if verdicts == 0 {
        return HeroState::Empty;
    }
    // The index may not know yet what was read beside it: then the first verdict is of today.
    let earliest = standing.earliest.unwrap_or(standing.now);
    let days = (standing.now - earliest).div_euclid(DAY);
    match standing.is_shadow_enabled {
        false if days >= DAYS_WITHOUT_SHADOW_MIN => HeroState::ShadowOff,
        false => HeroState::Empty,
        true if days < DAYS_WITH_SHADOW_MIN || comparisons < COMPARISONS_MIN => HeroState::Early,
        true => HeroState::Full,
    }
}

/// The points of the curve, in the order of time.
pub(super) fn buckets(rows: &[&EvaluationResult], bucket: OverviewBucket) -> Vec<HeroBucket> {
    let point = |(ts, rows): (EpochSeconds, Vec<&EvaluationResult>)| HeroBucket {
        ts,
        regular_rate: success_rate(&rows),
        regular_n: rows.len(),
        shadow_n: 0,
        avg_corrections: average_corrections(&rows),
        escalation_rate: escalation_rate(&rows),
    };
    by_time(rows.iter().copied(), bucket).into_iter().map(point).collect()
}

fn by_time<'a>(
    rows: impl Iterator<Item = &'a EvaluationResult>,
    bucket: OverviewBucket,
) -> BTreeMap<EpochSeconds, Vec<&'a EvaluationResult>> {
    let mut by_time: BTreeMap<EpochSeconds, Vec<&EvaluationResult>> = BTreeMap::new();
    let step = bucket.seconds();
    for row in rows {
        by_time.entry(row.created_at.div_euclid(step) * step).or_default().push(row);
    }
    by_time
}

/// The curves of sessions by whether searches answered in them.
pub(super) fn group_trends(
    rows: &[&EvaluationResult],
    slices: &Slices,
    bucket: OverviewBucket,
) -> GroupTrends {
    let points = |arm: Option<RetrievalExperimentArm>| {
        let of_arm = rows.iter().copied().filter(|row| slices.of(row).and_then(|slice| slice.arm) == arm);
        let point = |(ts, rows): (EpochSeconds, Vec<&EvaluationResult>)| GroupPoint {
            ts,
            rate: success_rate(&rows),
            n: rows.len(),
        };
        by_time(of_arm, bucket).into_iter().map(point).collect()
    };
    GroupTrends {
        treatment: points(Some(RetrievalExperimentArm::Treatment)),
        control: points(Some(RetrievalExperimentArm::Holdout)),
        untagged: points(None),
    }
}
