//! `POST /api/review_user_playbooks`.

use std::sync::Arc;

use axum::extract::State;
use domain::entities::UserPlaybook;
use domain::requests::review::ReviewUserPlaybooks;
use domain::views::{EVIDENCE_UNAVAILABLE, ReviewAnswer, ReviewDecision, ReviewEdit, ReviewResult};
use learning::review::evidence::Unavailable;
use learning::review::{Applied, Reviewed, SkipReason, Verdict, apply_review, review_playbooks};
use learning::services::OrgServicesError;
use runtime::App;
use store::UserPlaybookRow;

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// Time that is left for writing and answering once the reviews are done, in milliseconds.
const ANSWER_RESERVE_MS: i64 = 5_000;

pub(crate) async fn review_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = ReviewUserPlaybooks::parse(&body)?;
    let run_id = format!("playbook_review_{}", app.services.ids.uuid().replace('-', ""));
    let wait_ms = i64::try_from(app.settings.wait_seconds_max).unwrap_or(0).saturating_mul(1_000);
    let deadline_ms = app.services.clock.now_ms() + (wait_ms - ANSWER_RESERVE_MS).max(0);
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let all = app.recall.org_playbooks(&caller.org, model.as_ref()).await?;
    let rows = selected(&app, &caller, &wanted, &all.rows).await?;
    let reviewed = match review_playbooks(&app.services, &caller.org, rows, &all.rows, deadline_ms).await {
        Ok(reviewed) => reviewed,
        Err(OrgServicesError::Store(error)) => return Err(error.into()),
        Err(OrgServicesError::Configuration(detail)) => {
            return ok(ReviewAnswer::impossible(wanted.report_only, detail));
        }
    };
    let mut results = Vec::with_capacity(reviewed.len());
    for reviewed in &reviewed {
        let mut result = result_of(reviewed);
        if !wanted.report_only {
            apply(&app, &caller, reviewed, &mut result).await?;
        }
        results.push(result);
    }
    tracing::info!(
        event = "playbook_candidate_review_complete",
        run_id,
        report_only = wanted.report_only,
        reviewed = results.len(),
    );
    ok(ReviewAnswer::of(run_id, wanted.report_only, results))
}

/// The rows to review as they are now. The list that they are found in may lag, the rows themselves do not.
async fn selected(
    app: &App,
    caller: &Caller,
    wanted: &ReviewUserPlaybooks,
    all: &[UserPlaybook],
) -> Result<Vec<UserPlaybookRow>, Failure> {
    let is_wanted = |row: &UserPlaybook| row.status.is_none() && wanted.contains(row.created_at);
    let mut found: Vec<&UserPlaybook> = all.iter().filter(|row| is_wanted(row)).collect();
    found.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.user_playbook_id)));
    let mut rows = Vec::new();
    for row in found {
        if rows.len() >= wanted.top_k {
            break;
        }
        let row = app.services.store.user_playbook_by_id(&caller.org, row.user_playbook_id).await?;
        rows.extend(row.filter(|row| is_wanted(&row.playbook)));
    }
    Ok(rows)
}

fn result_of(reviewed: &Reviewed) -> ReviewResult {
    let id = reviewed.row.playbook.user_playbook_id;
    let (decision, reason_code, reason, edit) = match &reviewed.verdict {
        Ok(Verdict::Accept { code, reason }) => (ReviewDecision::Accept, code.as_str(), reason.clone(), None),
        Ok(Verdict::Reject { code, reason }) => (ReviewDecision::Reject, code.as_str(), reason.clone(), None),
        Ok(Verdict::Revise { code, reason, edit }) => {
            let edit = ReviewEdit {
                content: edit.content.clone(),
                trigger: edit.trigger.clone(),
                rationale: edit.rationale.clone(),
            };
            (ReviewDecision::Edit, code.as_str(), reason.clone(), Some(edit))
        }
        Err(reason) => (ReviewDecision::Skip, EVIDENCE_UNAVAILABLE, skip_reason(id, reason), None),
    };
    ReviewResult {
        user_playbook_id: id,
        decision,
        reason_code,
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        edit,
        applied: false,
        successor_user_playbook_id: None,
    }
}

/// The contract has one code for all that was not judged; the words tell what it was.
fn skip_reason(id: i64, reason: &SkipReason) -> String {
    match reason {
        SkipReason::Evidence(Unavailable::NoUser) => format!("User playbook {id} has no owning user_id"),
        SkipReason::Evidence(Unavailable::NoEvidence) => {
            format!("User playbook {id} lacks validated evidence")
        }
        SkipReason::Evidence(Unavailable::Gone) => {
            format!("User playbook {id} rests on turns that are no longer stored")
        }
        SkipReason::OutOfTime => {
            format!("User playbook {id} was not reached in time; review it again with a smaller top_k")
        }
        SkipReason::Reviewer(code) => {
            format!("The reviewer gave no usable answer on user playbook {id} ({code})")
        }
    }
}

async fn apply(
    app: &App,
    caller: &Caller,
    reviewed: &Reviewed,
    result: &mut ReviewResult,
) -> Result<(), Failure> {
    let applied = match apply_review(&app.services, &caller.org, reviewed).await {
        Ok(applied) => applied,
        Err(OrgServicesError::Store(error)) => return Err(error.into()),
        Err(OrgServicesError::Configuration(detail)) => {
            result.reason = Some(detail);
            return Ok(());
        }
    };
    match applied {
        Applied::Nothing => {}
        Applied::Retired => result.applied = true,
        Applied::Replaced { successor } => {
            result.applied = true;
            result.successor_user_playbook_id = Some(successor);
        }
        Applied::Changed => {
            let id = result.user_playbook_id;
            result.reason = Some(format!("User playbook {id} changed while it was reviewed, and was left"));
        }
    }
    Ok(())
}
