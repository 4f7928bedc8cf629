//! The beginning of a batch: what can be told its caller at once is told before it is claimed.

use domain::config::Config;
use domain::ids::OrgId;
use domain::operations::{GenerationPlan, OperationService, OperationStatus};
use serde_json::Value;
use store::{Claim, NewOperation, Operation, StoreError};
use wake::{OperateWake, WakeReason};

use super::inputs::Matcher;
use super::listing::{NUMBERS_PER_STEP, candidates, list_end, list_step, matching};
use crate::services::Services;

/// What a caller is told whose filters let nothing through.
pub const NOTHING_FOUND: &str = "No interactions found matching the specified filters";
/// How long a caller may be kept waiting by the look for a first interaction, in milliseconds. A batch for which it
/// was not enough is started, and ends by itself if there is none.
const LOOK_MS_MAX: i64 = 5_000;

/// What came of the wish to start a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Started {
    /// It is in progress.
    Started(Box<Operation>),
    /// Another operation of the service is in progress.
    Busy,
    /// There is nothing to read.
    NothingFound,
}

/// Starts a batch, unless another operation of its service is in progress or there is nothing to read. The run's id
/// is added to `request_params`.
///
/// # Errors
/// [`StoreError`] when the store failed.
pub async fn start_generation(
    services: &Services,
    org: &OrgId,
    service: OperationService,
    plan: &GenerationPlan,
    mut request_params: Value,
    config: &Config,
) -> Result<Started, StoreError> {
    let current = services.store.operation(org, service).await?;
    if current.is_some_and(|current| current.status == OperationStatus::InProgress) {
        return Ok(Started::Busy);
    }
    let list_end = list_end(&services.store, org, plan).await?;
    if !may_find(services, org, service, plan, config, list_end).await? {
        return Ok(Started::NothingFound);
    }
    let operation_id = services.ids.uuid();
    if let Value::Object(params) = &mut request_params {
        params.insert("operation_id".to_owned(), operation_id.clone().into());
    }
    let new = NewOperation {
        service,
        operation_id: operation_id.clone(),
        kind: plan.mode.as_str().to_owned(),
        plan: serde_json::to_value(plan)
            .map_err(|error| StoreError::Refused { operation: "encode plan", detail: error.to_string() })?,
        request_params,
        list_end,
    };
    let operation = match services.store.claim_operation(org, &new).await? {
        Claim::Claimed(operation) => operation,
        Claim::Busy => return Ok(Started::Busy),
    };
    let operation = list_first(services, org, plan, config, operation).await?;
    let wake =
        OperateWake::new(org.clone(), service.as_str().to_owned(), operation_id, WakeReason::Published);
    if let Err(error) = services.wakes.operate(&wake, "start").await {
        // The operation is due: the sweep will find it.
        tracing::warn!(event = "wake_failed", reason = "operation", %error);
    }
    Ok(Started::Started(operation))
}

/// Lists the first users, so that a small operation is known in full from its beginning. What is not listed here its
/// worker lists.
async fn list_first(
    services: &Services,
    org: &OrgId,
    plan: &GenerationPlan,
    config: &Config,
    operation: Box<Operation>,
) -> Result<Box<Operation>, StoreError> {
    let matcher = Matcher::new(config, operation.service.kind(), &plan.filter);
    if let Err(error) = list_step(&services.store, org, plan, &matcher, &operation).await {
        tracing::warn!(event = "operation_not_listed", %error);
        return Ok(operation);
    }
    let listed = services.store.operation(org, operation.service).await?;
    Ok(listed.map_or(operation, Box::new))
}

/// Whether anybody has anything to read; true also when that took too long to tell.
async fn may_find(
    services: &Services,
    org: &OrgId,
    service: OperationService,
    plan: &GenerationPlan,
    config: &Config,
    list_end: i64,
) -> Result<bool, StoreError> {
    let matcher = Matcher::new(config, service.kind(), &plan.filter);
    let until = services.clock.now_ms() + LOOK_MS_MAX;
    let mut from = 1;
    while from <= list_end {
        if services.clock.now_ms() > until {
            return Ok(true);
        }
        let to = list_end.min(from + NUMBERS_PER_STEP - 1);
        let users = candidates(&services.store, org, plan, from, to).await?;
        for some in users.chunks(NUMBERS_PER_STEP as usize) {
            if !matching(&services.store, org, &matcher, some.to_vec()).await?.is_empty() {
                return Ok(true);
            }
        }
        from = to + 1;
    }
    Ok(false)
}
