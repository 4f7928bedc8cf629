//! One-shot timers of EventBridge Scheduler that send a wake.

use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, RetryPolicy, SqsParameters, Target,
};
use domain::time::{EpochSeconds, utc_iso};

use crate::WakeError;
use crate::message::Wake;

/// A timer that went off and could not be delivered is tried again for so long, in seconds.
const EVENT_AGE_SECONDS: i32 = 3_600;

/// Where timers send to, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerTarget {
    /// The queue `evaluate`, by its ARN.
    pub queue_arn: String,
    /// The role that may send to it.
    pub role_arn: String,
}

/// Sets a timer of a name of its own: setting it again does nothing.
pub(crate) async fn set(
    scheduler: &aws_sdk_scheduler::Client,
    target: &TimerTarget,
    name: &str,
    wake: &impl Wake,
    at: EpochSeconds,
) -> Result<(), WakeError> {
    let input = serde_json::to_string(wake).map_err(|error| WakeError(error.to_string()))?;
    let moment = utc_iso(at).ok_or_else(|| WakeError("its time cannot be written".to_owned()))?;
    let moment = moment.trim_end_matches("+00:00");
    let mut built = Target::builder()
        .arn(&target.queue_arn)
        .role_arn(&target.role_arn)
        .input(input)
        .sqs_parameters(SqsParameters::builder().message_group_id(wake.group()).build());
    built =
        built.retry_policy(RetryPolicy::builder().maximum_event_age_in_seconds(EVENT_AGE_SECONDS).build());
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
    let sent = scheduler
        .create_schedule()
        .name(name)
        .schedule_expression(format!("at({moment})"))
        .schedule_expression_timezone("UTC")
        .flexible_time_window(window.map_err(|error| WakeError(error.to_string()))?)
        .action_after_completion(ActionAfterCompletion::Delete)
        .target(built.build().map_err(|error| WakeError(error.to_string()))?)
        .send()
        .await;
    match sent {
        Ok(_) => Ok(()),
        // Set before, by a call whose answer was lost.
        Err(error) if matches!(error.as_service_error(), Some(CreateScheduleError::ConflictException(_))) => {
            Ok(())
        }
        Err(error) => {
            let code = aws_sdk_scheduler::error::ProvideErrorMetadata::code(&error).unwrap_or("").to_owned();
            Err(WakeError(format!("{code} {error}")))
        }
    }
}
