//! Which learnings were at work in sessions that succeeded, and in sessions that failed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::entities::EvaluationResult;
use domain::ids::SessionId;
use domain::views::{RuleAttribution, SessionSlice};

use super::{Rule, Slices, slice_of};

/// Learnings that are named.
const RULES_MAX: usize = 5;

#[derive(Default)]
struct Tally<'a> {
    successes: usize,
    failures: usize,
    sessions: BTreeSet<&'a SessionId>,
}

impl Tally<'_> {
    fn net(&self) -> i64 {
        let signed = |many: usize| i64::try_from(many).unwrap_or(i64::MAX);
        signed(self.successes) - signed(self.failures)
    }
}

/// The learnings with the best balance. A session counts once, as its last verdict says, however many agent versions
/// were judged in it.
pub(super) fn rule_attribution(trend: &[&EvaluationResult], slices: &Slices) -> Vec<RuleAttribution> {
    let mut tallies: BTreeMap<&Rule, Tally<'_>> = BTreeMap::new();
    for verdict in last_verdicts(trend).into_values() {
        for rule in slices.of(verdict).into_iter().flat_map(|slice| &slice.cited) {
            let tally = tallies.entry(rule).or_default();
            match verdict.is_success {
                true => tally.successes += 1,
                false => tally.failures += 1,
            }
            tally.sessions.insert(&verdict.session_id);
        }
    }
    let mut ranked: Vec<(&Rule, Tally<'_>)> = tallies.into_iter().collect();
    // Stable: those that are equal stay in the order of kind and id.
    ranked.sort_by_key(|(_, tally)| Reverse((tally.net(), tally.successes + tally.failures)));
    ranked.truncate(RULES_MAX);
    ranked.into_iter().map(|(rule, tally)| row(rule, &tally, slices)).collect()
}

fn last_verdicts<'a>(trend: &[&'a EvaluationResult]) -> HashMap<SessionSlice, &'a EvaluationResult> {
    let mut last: HashMap<SessionSlice, &EvaluationResult> = HashMap::new();
    for &result in trend {
        let kept = last.entry(slice_of(result)).or_insert(result);
        if result.result_id > kept.result_id {
            *kept = result;
        }
    }
    last
}

fn row(rule: &Rule, tally: &Tally<'_>, slices: &Slices) -> RuleAttribution {
    RuleAttribution {
        rule_id: rule.id.clone(),
        kind: rule.kind.clone(),
        title: slices.titles.get(rule).cloned().unwrap_or_default(),
        successes_with: tally.successes,
        failures_with: tally.failures,
        net_sessions: tally.net(),
        cited_session_ids: tally.sessions.iter().copied().cloned().collect(),
    }
}
