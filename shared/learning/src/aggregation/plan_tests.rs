//! Tests of [`super::plan`].

use std::collections::BTreeMap;

use domain::entities::{AgentPlaybook, PlaybookStatus};
use store::{AgentPlaybookRow, ClusterRecord, ClusterRecords};

use super::super::answer::Lesson;
use super::super::changes::Changes;
use super::super::cluster::{Cluster, fingerprint};
use super::{Outcome, Plan, lasting, plan, screened};

fn cluster(ids: &[i64]) -> Cluster {
    Cluster { ids: ids.to_vec(), fingerprint: fingerprint(ids), content_hash: "h".to_owned() }
}

fn row(id: i64, content: &str, status: PlaybookStatus, sources: &[i64]) -> AgentPlaybookRow {
    let playbook = AgentPlaybook {
        agent_playbook_id: id,
        content: content.to_owned(),
        playbook_status: status,
        ..serde_json::from_value(serde_json::json!({ "agent_version": "v1", "content": "" })).unwrap()
    };
    AgentPlaybookRow::new(playbook, None, sources.to_vec())
}

fn lesson(content: &str) -> Outcome {
    let content = content.to_owned();
    Outcome::Lesson(Lesson { content, trigger: None, rationale: None, blocking_issue: None })
}

fn stored(clusters: &[(&[i64], i64)]) -> ClusterRecords {
    let record = |(ids, agent): &(&[i64], i64)| ClusterRecord {
        agent_playbook_id: Some(*agent),
        user_playbook_ids: ids.to_vec(),
        content_hash: "h".to_owned(),
    };
    clusters.iter().map(|entry| (fingerprint(entry.0), record(entry))).collect()
}

/// Two known clusters with agent playbooks 1 and 2; a member joined the second one.
fn one_grew(outcome: Outcome, status: PlaybookStatus) -> Plan {
    let clusters = [cluster(&[1, 2]), cluster(&[3, 4, 5])];
    let known = stored(&[(&[1, 2], 1), (&[3, 4], 2)]);
    let existing = [row(1, "one", PlaybookStatus::Pending, &[1, 2]), row(2, "two", status, &[3, 4])];
    let changes = Changes::between(&clusters, Some(&known), false);
    plan(&clusters, &changes, Some(&known), [(1, outcome)].into(), &existing)
}

#[test]
fn a_lesson_takes_the_place_of_what_its_cluster_had_and_others_stay() {
    let plan = one_grew(lesson("two, better"), PlaybookStatus::Pending);
    assert_eq!(plan.insert.len(), 1);
    assert_eq!(plan.insert[0].replaces, Some(2));
    assert_eq!(plan.retire, [2].into());
    assert_eq!(plan.records.keys().collect::<Vec<_>>(), [&fingerprint(&[1, 2])]);
    assert!(!plan.is_full);
}

#[test]
fn what_people_approved_or_rejected_is_never_retired() {
    for status in [PlaybookStatus::Approved, PlaybookStatus::Rejected] {
        let plan = one_grew(lesson("two, better"), status);
        assert!(plan.retire.is_empty());
        assert_eq!(plan.insert[0].replaces, None);
    }
}

#[test]
fn a_failed_cluster_keeps_what_it_had_and_is_not_remembered_as_done() {
    let plan = one_grew(Outcome::Failed, PlaybookStatus::Pending);
    assert!(plan.retire.is_empty() && plan.insert.is_empty());
    assert_eq!(plan.failed, 1);
    assert!(plan.records.contains_key(&fingerprint(&[3, 4])));
    assert!(!plan.records.contains_key(&fingerprint(&[3, 4, 5])));
}

#[test]
fn what_is_said_already_is_remembered_without_an_agent_playbook_of_its_own() {
    let plan = one_grew(Outcome::Covered, PlaybookStatus::Pending);
    assert_eq!(plan.retire, [2].into());
    assert_eq!(plan.records[&fingerprint(&[3, 4, 5])].agent_playbook_id, None);
    let plan = one_grew(Outcome::Covered, PlaybookStatus::Approved);
    assert_eq!(plan.records[&fingerprint(&[3, 4, 5])].agent_playbook_id, Some(2));
}

#[test]
fn a_cluster_that_is_no_more_takes_its_agent_playbook_along() {
    let clusters = [cluster(&[1, 2])];
    let known = stored(&[(&[1, 2], 1), (&[3, 4], 2)]);
    let existing =
        [row(1, "one", PlaybookStatus::Pending, &[1, 2]), row(2, "two", PlaybookStatus::Pending, &[3, 4])];
    let changes = Changes::between(&clusters, Some(&known), false);
    let plan = plan(&clusters, &changes, Some(&known), BTreeMap::new(), &existing);
    assert_eq!(plan.retire, [2].into());
    assert_eq!(plan.records.len(), 1);
}

#[test]
fn a_full_run_replaces_all_that_is_pending_if_anything_came_of_it() {
    let clusters = [cluster(&[1, 2]), cluster(&[3, 4])];
    let known = stored(&[(&[1, 2], 1), (&[3, 4], 2)]);
    let existing = [
        row(1, "one", PlaybookStatus::Pending, &[1, 2]),
        row(2, "two", PlaybookStatus::Pending, &[3, 4]),
        row(3, "by hand", PlaybookStatus::Pending, &[]),
        row(4, "good", PlaybookStatus::Approved, &[]),
    ];
    let changes = Changes::between(&clusters, Some(&known), true);
    let run = |outcomes: [Outcome; 2]| {
        let outcomes = outcomes.into_iter().enumerate().collect();
        plan(&clusters, &changes, Some(&known), outcomes, &existing)
    };
    assert_eq!(run([lesson("a"), lesson("b")]).retire, [1, 2, 3].into());
    let nothing = run([Outcome::Covered, Outcome::Covered]);
    assert!(nothing.retire.is_empty() && !nothing.is_full);
    assert_eq!(nothing.records[&fingerprint(&[1, 2])].agent_playbook_id, Some(1));
    // What the failed cluster had stays, whatever else goes.
    assert_eq!(run([lesson("a"), Outcome::Failed]).retire, [1, 3].into());
    let failed = run([Outcome::Failed, Outcome::Failed]);
    assert!(failed.retire.is_empty());
    let agents = |records: &ClusterRecords| {
        records.values().map(|record| record.agent_playbook_id).collect::<Vec<_>>()
    };
    assert_eq!(agents(&failed.records), agents(&known));
    assert_eq!(Changes::between(&clusters, Some(&failed.records), false).changed, [0, 1]);
}

#[test]
fn models_are_shown_only_what_lasts() {
    let clusters = [cluster(&[1, 2]), cluster(&[3, 4, 5])];
    let known = stored(&[(&[1, 2], 1), (&[3, 4], 2)]);
    let existing = [
        row(1, "one", PlaybookStatus::Pending, &[1, 2]),
        row(2, "two", PlaybookStatus::Pending, &[3, 4]),
        row(3, "good", PlaybookStatus::Approved, &[]),
        row(4, "bad", PlaybookStatus::Rejected, &[]),
    ];
    let ids = |rerun: bool| {
        let changes = Changes::between(&clusters, Some(&known), rerun);
        lasting(&existing, &changes).iter().map(|row| row.agent_playbook_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(false), [1, 3]);
    assert_eq!(ids(true), [3]);
}

#[test]
fn a_rejected_rule_does_not_come_back() {
    let rejected = [row(1, "always apologise first", PlaybookStatus::Rejected, &[1, 2])];
    let screen = |content: &str, ids: &[i64]| {
        let clusters = [cluster(ids)];
        let changes = Changes::between(&clusters, None, false);
        screened(lesson(content), &clusters[0], &rejected, &changes)
    };
    assert_eq!(screen("Always apologise first.", &[8, 9]), Outcome::Covered);
    assert_eq!(screen("always apologise first, briefly", &[1, 2, 3]), Outcome::Covered);
    assert_eq!(screen("always apologise first, briefly", &[8, 9]), lesson("always apologise first, briefly"));
    assert_eq!(screen("answer in bullet points", &[1, 2]), lesson("answer in bullet points"));
}

#[test]
fn an_approved_rule_is_not_stored_a_second_time() {
    let approved = [row(1, "answer in bullet points", PlaybookStatus::Approved, &[1, 2])];
    let clusters = [cluster(&[1, 2, 3])];
    let changes = Changes::between(&clusters, None, true);
    assert_eq!(
        screened(lesson("Answer in bullet points."), &clusters[0], &approved, &changes),
        Outcome::Covered
    );
}
