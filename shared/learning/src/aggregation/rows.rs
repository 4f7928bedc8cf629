//! The rows that a run writes, and what is logged of it.

use domain::entities::{AgentPlaybook, PlaybookStatus};
use domain::time::EpochSeconds;
use store::{
    AgentPlaybookRow, AgentPlaybookSnapshot, AgentPlaybookUpdate, AggregationChange, AggregationCommit,
    RunMode,
};

use super::plan::{NewPlaybook, Plan};
use crate::playbook::PLAYBOOK_NAME;

pub(super) fn agent_playbook(
    id: i64,
    new: &NewPlaybook,
    agent_version: &str,
    now: EpochSeconds,
) -> AgentPlaybook {
    let lesson = new.lesson.clone();
    AgentPlaybook {
        agent_playbook_id: id,
        playbook_name: PLAYBOOK_NAME.to_owned(),
        agent_version: agent_version.to_owned(),
        created_at: now,
        content: lesson.content,
        trigger: lesson.trigger,
        rationale: lesson.rationale,
        blocking_issue: lesson.blocking_issue,
        playbook_status: PlaybookStatus::Pending,
        playbook_metadata: String::new(),
        expanded_terms: None,
        tags: None,
        status: None,
        merged_into: None,
        superseded_by: None,
    }
}

pub(super) fn retired(plan: &Plan, existing: &[AgentPlaybookRow]) -> Vec<AgentPlaybookRow> {
    let goes = |row: &&AgentPlaybookRow| plan.retire.contains(&row.playbook.agent_playbook_id);
    existing.iter().filter(goes).cloned().collect()
}

pub(super) fn mode(plan: &Plan) -> RunMode {
    if plan.is_full { RunMode::FullArchive } else { RunMode::Incremental }
}

/// What is logged of a run; `None` when it changed nothing.
pub(super) fn change_of(
    plan: &Plan,
    commit: &AggregationCommit,
    agent_version: &str,
    now: EpochSeconds,
) -> Option<AggregationChange> {
    if commit.insert.is_empty() && commit.retire.is_empty() {
        return None;
    }
    let mut change = AggregationChange {
        id: 0,
        created_at: now,
        playbook_name: PLAYBOOK_NAME.to_owned(),
        agent_version: agent_version.to_owned(),
        run_mode: mode(plan),
        added_agent_playbooks: Vec::new(),
        removed_agent_playbooks: Vec::new(),
        updated_agent_playbooks: Vec::new(),
    };
    let mut removed: Vec<&AgentPlaybookRow> = commit.retire.iter().collect();
    for (new, row) in plan.insert.iter().zip(&commit.insert) {
        let after = AgentPlaybookSnapshot::from(&row.playbook);
        let is_former = |row: &&AgentPlaybookRow| Some(row.playbook.agent_playbook_id) == new.replaces;
        match removed.iter().position(|row| is_former(row)) {
            Some(place) if !plan.is_full => {
                let before = AgentPlaybookSnapshot::from(&removed.remove(place).playbook);
                change.updated_agent_playbooks.push(AgentPlaybookUpdate { before, after });
            }
            _ => change.added_agent_playbooks.push(after),
        }
    }
    change.removed_agent_playbooks =
        removed.into_iter().map(|row| AgentPlaybookSnapshot::from(&row.playbook)).collect();
    Some(change)
}
