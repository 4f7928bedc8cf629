//! What follows from the answers about all clusters: which agent playbooks come, which go, and what is remembered.

use std::collections::{BTreeMap, BTreeSet};

use domain::entities::{AgentPlaybook, PlaybookStatus};
use store::{AgentPlaybookRow, ClusterRecord, ClusterRecords};

use super::answer::Lesson;
use super::changes::{Changes, overlaps};
use super::cluster::{Cluster, overlap};
use super::directions::likeness;

/// Likeness of two rules from which on they count as one.
const SAME_RULE_LIKENESS_MIN: f64 = 0.9;
/// Likeness from which on a rule counts as one that was rejected, when both were made of the same playbooks.
const REJECTED_RULE_LIKENESS_MIN: f64 = 0.6;
/// Stands for the contents of a cluster whose model call failed, and equals none: it counts as changed.
const TO_BE_TRIED_AGAIN: &str = "-";

/// What became of a cluster that a model was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A rule.
    Lesson(Lesson),
    /// Another agent playbook says it, or people rejected it.
    Covered,
    /// Nobody knows: the model failed.
    Failed,
}

/// A new agent playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlaybook {
    /// Place of its cluster.
    pub cluster: usize,
    /// What it says.
    pub lesson: Lesson,
    /// The agent playbook whose place it takes.
    pub replaces: Option<i64>,
}

/// What a run changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Whether all that is pending goes.
    pub is_full: bool,
    /// Agent playbooks that come.
    pub insert: Vec<NewPlaybook>,
    /// Ids of those that go.
    pub retire: BTreeSet<i64>,
    /// What is remembered of clusters, but for those that new agent playbooks come from.
    pub records: ClusterRecords,
    /// Clusters whose model call failed.
    pub failed: usize,
}

/// Whether a row stands for anything now.
fn is_current(row: &AgentPlaybookRow) -> bool {
    row.playbook.status.is_none()
}

/// Whether an aggregation may replace a row: people have not looked at it.
fn is_replaceable(row: &AgentPlaybookRow) -> bool {
    is_current(row) && row.playbook.playbook_status == PlaybookStatus::Pending
}

/// Agent playbooks that are there after this run whatever the models say: what they say need not be said again.
#[must_use]
pub fn lasting<'a>(existing: &'a [AgentPlaybookRow], changes: &Changes) -> Vec<&'a AgentPlaybook> {
    let at_risk: BTreeSet<i64> =
        changes.disappeared.values().filter_map(|record| record.agent_playbook_id).collect();
    let lasts = |row: &&AgentPlaybookRow| match row.playbook.playbook_status {
        PlaybookStatus::Approved => is_current(row),
        PlaybookStatus::Rejected => false,
        PlaybookStatus::Pending => {
            is_current(row) && !changes.is_full && !at_risk.contains(&row.playbook.agent_playbook_id)
        }
    };
    existing.iter().filter(lasts).map(|row| &row.playbook).collect()
}

/// Agent playbooks that people rejected.
#[must_use]
pub fn rejected(existing: &[AgentPlaybookRow]) -> Vec<&AgentPlaybookRow> {
    let is_rejected =
        |row: &&AgentPlaybookRow| is_current(row) && row.playbook.playbook_status == PlaybookStatus::Rejected;
    existing.iter().filter(is_rejected).collect()
}

/// A rule that is there already, or that people rejected, is not stored, whatever a model says.
#[must_use]
pub fn screened(
    outcome: Outcome,
    cluster: &Cluster,
    existing: &[AgentPlaybookRow],
    changes: &Changes,
) -> Outcome {
    let Outcome::Lesson(lesson) = outcome else { return outcome };
    let says = |content: &str, min: f64| likeness(&lesson.content, content) >= min;
    let is_there = lasting(existing, changes).iter().any(|row| says(&row.content, SAME_RULE_LIKENESS_MIN));
    let is_rejected = rejected(existing).iter().any(|row| {
        let shared = overlap(&row.sources, &cluster.ids);
        let same_evidence = 2 * shared >= row.sources.len().min(cluster.ids.len()).max(1);
        let min = if same_evidence { REJECTED_RULE_LIKENESS_MIN } else { SAME_RULE_LIKENESS_MIN };
        says(&row.playbook.content, min)
    });
    if is_there || is_rejected { Outcome::Covered } else { Outcome::Lesson(lesson) }
}

/// Draws the conclusions.
#[must_use]
pub fn plan(
    clusters: &[Cluster],
    changes: &Changes,
    stored: Option<&ClusterRecords>,
    outcomes: BTreeMap<usize, Outcome>,
    existing: &[AgentPlaybookRow],
) -> Plan {
    let is_failed = |place: &usize| outcomes.get(place) == Some(&Outcome::Failed);
    let failed: Vec<&Cluster> =
        changes.changed.iter().filter(|place| is_failed(place)).map(|place| &clusters[*place]).collect();
    let any_lesson = outcomes.values().any(|outcome| matches!(outcome, Outcome::Lesson(_)));
    let mut plan = Plan { is_full: changes.is_full && any_lesson, failed: failed.len(), ..Plan::default() };
    plan.retire = retired(changes, plan.is_full, &failed, existing);
    for place in &changes.unchanged {
        let fingerprint = &clusters[*place].fingerprint;
        if let Some(record) = stored.and_then(|stored| stored.get(fingerprint)) {
            let content_hash = clusters[*place].content_hash.clone();
            plan.records.insert(fingerprint.clone(), ClusterRecord { content_hash, ..record.clone() });
        }
    }
    // What a failed cluster had stays known, so that the run that succeeds finds it.
    for (fingerprint, record) in &changes.disappeared {
        if failed.iter().any(|cluster| overlaps(record, cluster)) {
            let content_hash = TO_BE_TRIED_AGAIN.to_owned();
            plan.records.insert(fingerprint.clone(), ClusterRecord { content_hash, ..record.clone() });
        }
    }
    let mut partners = BTreeSet::new();
    for (place, outcome) in outcomes {
        let cluster = &clusters[place];
        let partner = changes.partner(cluster).and_then(|record| record.agent_playbook_id);
        match outcome {
            Outcome::Failed => {}
            Outcome::Lesson(lesson) => {
                // One row is the former self of one new row only.
                let replaces = partner.filter(|id| plan.retire.contains(id) && partners.insert(*id));
                plan.insert.push(NewPlaybook { cluster: place, lesson, replaces });
            }
            Outcome::Covered => {
                let kept = partner.filter(|id| !plan.retire.contains(id) && holds(existing, *id));
                plan.records.insert(cluster.fingerprint.clone(), record(cluster, kept));
            }
        }
    }
    plan
}

fn holds(existing: &[AgentPlaybookRow], id: i64) -> bool {
    existing.iter().any(|row| row.playbook.agent_playbook_id == id)
}

/// What is remembered of a cluster.
#[must_use]
pub fn record(cluster: &Cluster, agent_playbook_id: Option<i64>) -> ClusterRecord {
    ClusterRecord {
        agent_playbook_id,
        user_playbook_ids: cluster.ids.clone(),
        content_hash: cluster.content_hash.clone(),
    }
}

/// Which rows go. What people looked at stays, and so does what a failed cluster had.
fn retired(
    changes: &Changes,
    is_full: bool,
    failed: &[&Cluster],
    existing: &[AgentPlaybookRow],
) -> BTreeSet<i64> {
    if changes.is_full && !is_full {
        // Nothing came of it: everything stays as it is.
        return BTreeSet::new();
    }
    let (mut going, mut staying) = (BTreeSet::new(), BTreeSet::new());
    for record in changes.disappeared.values() {
        let Some(id) = record.agent_playbook_id else { continue };
        if failed.iter().any(|cluster| overlaps(record, cluster)) {
            staying.insert(id);
        } else {
            going.insert(id);
        }
    }
    let goes = |row: &&AgentPlaybookRow| {
        let id = row.playbook.agent_playbook_id;
        let of_failed = failed.iter().any(|cluster| cluster.overlap(&row.sources) > 0);
        is_replaceable(row) && (is_full || going.contains(&id)) && !staying.contains(&id) && !of_failed
    };
    existing.iter().filter(goes).map(|row| row.playbook.agent_playbook_id).collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
