//! The rows that a run writes, and what is logged of it.

use domain::entities::{AgentPlaybook, PlaybookStatus};
use domain::time::EpochSeconds;
use store::{
    AgentPlaybookRow, AgentPlaybookSnapshot, AgentPlaybookUpdate, AggregationChange, AggregationCommit,
    ClusterRecords, RunMode, StoreError,
};

use super::cluster::Cluster;
use super::plan::{NewPlaybook, Plan, record};
use super::round::Round;
use crate::playbook::PLAYBOOK_NAME;
use crate::services::OrgServicesError;

impl Round<'_> {
    /// The rows of new agent playbooks, and what is remembered of all clusters.
    pub(super) async fn new_rows(
        &self,
        plan: &Plan,
        clusters: &[Cluster],
    ) -> Result<(Vec<AgentPlaybookRow>, ClusterRecords), StoreError> {
        let mut records = plan.records.clone();
        if plan.insert.is_empty() {
            return Ok((Vec::new(), records));
        }
        let first = self.services.store.take_agent_playbook_ids(self.keys.org, plan.insert.len()).await?;
        let now = self.services.clock.now();
        let playbooks: Vec<AgentPlaybook> = (first..)
            .zip(&plan.insert)
            .map(|(id, new)| agent_playbook(id, new, self.keys.agent_version, now))
            .collect();
        let texts: Vec<String> = playbooks.iter().map(|row| row.embedding_text().to_owned()).collect();
        let vectors = match self.services.orgs.stored_vectors(self.keys.org, &texts).await {
            Ok(vectors) => vectors,
            Err(OrgServicesError::Store(error)) => return Err(error),
            // Without vectors they are found by their words.
            Err(OrgServicesError::Configuration(error)) => {
                tracing::warn!(event = "aggregation_embedding_failed", error);
                vec![None; texts.len()]
            }
        };
        let rows = playbooks.into_iter().zip(vectors).zip(&plan.insert);
        let rows = rows.map(|((playbook, vector), new)| {
            let cluster = &clusters[new.cluster];
            let id = playbook.agent_playbook_id;
            records.insert(cluster.fingerprint.clone(), record(cluster, Some(id)));
            AgentPlaybookRow::new(playbook, vector, cluster.ids.clone())
        });
        Ok((rows.collect(), records))
    }
}

fn agent_playbook(id: i64, new: &NewPlaybook, agent_version: &str, now: EpochSeconds) -> AgentPlaybook {
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
        match removed.iter().position(is_former) {
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
