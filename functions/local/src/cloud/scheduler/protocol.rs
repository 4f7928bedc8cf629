//! The wire of EventBridge Scheduler: JSON over REST.

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{LocalScheduler, Schedule};
use crate::cloud::template::{ACCOUNT_ID, REGION};

/// Longest name of a schedule, in characters (AWS).
const NAME_CHARS_MAX: usize = 64;
/// Where schedules are that name no group.
const DEFAULT_GROUP: &str = "default";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CreateSchedule {
    schedule_expression: String,
    schedule_expression_timezone: Option<String>,
    flexible_time_window: FlexibleTimeWindow,
    action_after_completion: Option<String>,
    group_name: Option<String>,
    target: Target,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FlexibleTimeWindow {
    mode: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Target {
    arn: String,
    role_arn: String,
    input: Option<String>,
    sqs_parameters: Option<SqsParameters>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SqsParameters {
    message_group_id: Option<String>,
}

/// Why a call is refused, with the names that the service gives.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Validation(String),
    #[error("Schedule {0} already exists.")]
    Conflict(String),
    #[error("Schedule {0} does not exist.")]
    NotFound(String),
}

impl Refusal {
    fn invalid(why: &str) -> Self {
        Self::Validation(why.to_owned())
    }

    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Validation(_) => (StatusCode::BAD_REQUEST, "ValidationException"),
            Self::Conflict(_) => (StatusCode::CONFLICT, "ConflictException"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "ResourceNotFoundException"),
        }
    }
}

impl LocalScheduler {
    /// Answers one request.
    pub(super) fn answer(&self, request: &http::Request<Bytes>) -> http::Response<Bytes> {
        let name = request.uri().path().strip_prefix("/schedules/").unwrap_or_default();
        let answered = match *request.method() {
            Method::POST => self.create_schedule(name, request.body()),
            Method::GET if !name.is_empty() => self.get_schedule(name),
            Method::DELETE => self.delete_schedule(name),
            _ => Err(Refusal::invalid("this operation is not supported")),
        };
        let (status, body, kind) = match answered {
            Ok(body) => (StatusCode::OK, body, None),
            Err(refusal) => {
                let (status, kind) = refusal.kind();
                (status, json!({ "Message": refusal.to_string() }), Some(kind))
            }
        };
        let mut response = http::Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(kind) = kind {
            headers.insert("x-amzn-errortype", HeaderValue::from_static(kind));
        }
        response
    }

    fn create_schedule(&self, name: &str, body: &[u8]) -> Result<Value, Refusal> {
        check_name(name)?;
        let wanted: CreateSchedule =
            serde_json::from_slice(body).map_err(|error| Refusal::Validation(error.to_string()))?;
        if wanted.group_name.as_deref().is_some_and(|group| group != DEFAULT_GROUP) {
            return Err(Refusal::NotFound("group".to_owned()));
        }
        if wanted.flexible_time_window.mode != "OFF" {
            return Err(Refusal::invalid("FlexibleTimeWindow.Mode must be OFF"));
        }
        if wanted.action_after_completion.as_deref() != Some("DELETE") {
            return Err(Refusal::invalid("ActionAfterCompletion must be DELETE"));
        }
        if wanted.schedule_expression_timezone.as_deref().is_some_and(|zone| zone != "UTC") {
            return Err(Refusal::invalid("ScheduleExpressionTimezone must be UTC"));
        }
        if !self.queues.contains_key(&wanted.target.arn) {
            return Err(Refusal::invalid("Target.Arn is none of the queues"));
        }
        let group = wanted.target.sqs_parameters.and_then(|parameters| parameters.message_group_id);
        let schedule = Schedule {
            at: moment(&wanted.schedule_expression)?,
            queue_arn: wanted.target.arn,
            role_arn: wanted.target.role_arn,
            group: group.ok_or_else(|| Refusal::invalid("MessageGroupId is required for a FIFO queue"))?,
            input: wanted.target.input.unwrap_or_default(),
        };
        if !self.create(name, schedule) {
            return Err(Refusal::Conflict(name.to_owned()));
        }
        Ok(json!({ "ScheduleArn": arn(name) }))
    }

    fn get_schedule(&self, name: &str) -> Result<Value, Refusal> {
        let state = self.state.lock();
        let schedule = state.schedules.get(name).ok_or_else(|| Refusal::NotFound(name.to_owned()))?;
        let moment = jiff::Timestamp::from_second(schedule.at).unwrap_or_default();
        Ok(json!({
            "Name": name,
            "Arn": arn(name),
            "GroupName": DEFAULT_GROUP,
            "State": "ENABLED",
            "ScheduleExpression": format!("at({})", moment.strftime("%Y-%m-%dT%H:%M:%S")),
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": { "Mode": "OFF" },
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": schedule.queue_arn,
                "RoleArn": schedule.role_arn,
                "Input": schedule.input,
                "SqsParameters": { "MessageGroupId": schedule.group },
            },
        }))
    }

    fn delete_schedule(&self, name: &str) -> Result<Value, Refusal> {
        if self.remove(name) { Ok(json!({})) } else { Err(Refusal::NotFound(name.to_owned())) }
    }
}

fn arn(name: &str) -> String {
    format!("arn:aws:scheduler:{REGION}:{ACCOUNT_ID}:schedule/{DEFAULT_GROUP}/{name}")
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_good) {
        Ok(())
    } else {
        Err(Refusal::invalid("Name has 1 to 64 letters, digits, hyphens, underscores and full stops"))
    }
}

/// The time of `at(yyyy-mm-ddThh:mm:ss)`.
fn moment(expression: &str) -> Result<i64, Refusal> {
    let invalid = || Refusal::Validation(format!("Invalid Schedule Expression {expression}."));
    let text = expression.strip_prefix("at(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(invalid)?;
    let at: jiff::Timestamp = format!("{text}Z").parse().map_err(|_| invalid())?;
    Ok(at.as_second())
}
