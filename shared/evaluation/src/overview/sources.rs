//! Sources against each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::entities::EvaluationResult;
use domain::ids::SessionId;
use domain::requests::overview::{GetEvaluationOverview, OverviewBucket, SourceSet};
use domain::views::{SessionSlice, SourceSessions, SourceSetComparison, SourceSetMetrics};

use super::attribution::rule_attribution;
use super::curve::buckets;
use super::numbers::success_rate;
use super::tiles::{context_tiles, score_distribution};
use super::windows::Rows;
use super::{Slices, slice_of};

pub(super) fn source_set_comparison(
    request: &GetEvaluationOverview,
    rows: &Rows<'_>,
    slices: &Slices,
) -> SourceSetComparison {
    let mut by_source: BTreeMap<&str, BTreeSet<SessionSlice>> = BTreeMap::new();
    for row in &rows.trend {
        by_source.entry(slices.source_of(row)).or_default().insert(slice_of(row));
    }
    let split = Split::of(&request.source_sets, rows, slices);
    let sets = request.source_sets.iter().zip(&split.sets);
    SourceSetComparison {
        available_sources: by_source.keys().map(|&source| source.to_owned()).collect(),
        sets: sets.map(|(set, rows)| metrics(set, rows, slices, request.bucket)).collect(),
        source_sessions: by_source.into_iter().map(sessions).collect(),
        unmatched_session_count: if request.source_sets.is_empty() { 0 } else { split.unmatched },
    }
}

fn sessions((source, slices): (&str, BTreeSet<SessionSlice>)) -> SourceSessions {
    let ids: BTreeSet<&SessionId> = slices.iter().map(|slice| &slice.session_id).collect();
    SourceSessions {
        source: source.to_owned(),
        session_ids: ids.into_iter().cloned().collect(),
        sessions: slices.into_iter().collect(),
    }
}

/// Verdicts by the set that their source is in. Done once for all sets, since callers may ask for many.
struct Split<'a> {
    sets: Vec<Rows<'a>>,
    /// Verdicts in the whole span of sources that are in no set.
    unmatched: usize,
}

impl<'a> Split<'a> {
    fn of(sets: &[SourceSet], rows: &Rows<'a>, slices: &Slices) -> Self {
        let set_of: HashMap<&str, usize> = sets
            .iter()
            .enumerate()
            .flat_map(|(index, set)| set.sources.iter().map(move |source| (source.as_str(), index)))
            .collect();
        let find = |row: &EvaluationResult| set_of.get(slices.source_of(row)).copied();
        let mut split = Self { sets: sets.iter().map(|_| Rows::default()).collect(), unmatched: 0 };
        for &row in &rows.trend {
            match find(row) {
                Some(index) => split.sets[index].trend.push(row),
                None => split.unmatched += 1,
            }
        }
        for &row in &rows.current {
            if let Some(index) = find(row) {
                split.sets[index].current.push(row);
            }
        }
        for &row in &rows.previous {
            if let Some(index) = find(row) {
                split.sets[index].previous.push(row);
            }
        }
        split
    }
}

fn metrics(set: &SourceSet, rows: &Rows<'_>, slices: &Slices, bucket: OverviewBucket) -> SourceSetMetrics {
    let ids: BTreeSet<&SessionId> = rows.trend.iter().map(|row| &row.session_id).collect();
    SourceSetMetrics {
        label: set.label.clone(),
        sources: set.sources.clone(),
        session_count: rows.trend.len(),
        session_ids: ids.into_iter().cloned().collect(),
        success_rate_pp: 100.0 * success_rate(&rows.trend),
        buckets: buckets(&rows.trend, bucket),
        context_tiles: context_tiles(rows),
        score_distribution: score_distribution(rows),
        rule_attribution: rule_attribution(&rows.trend, slices),
        braintrust_tiles: Vec::new(),
    }
}
