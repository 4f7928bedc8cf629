//! Lambda functions and what runs them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::intrinsics::scalar_text;
use super::model::{Function, FunctionEvent, Queue, TemplateError};
use super::properties::Properties;

/// Time-out of a function that names none.
const DEFAULT_TIMEOUT_SECONDS: u32 = 3;
/// Messages in a batch when the mapping names no number.
const DEFAULT_BATCH_SIZE: u32 = 10;

/// Properties that mean nothing on one machine: where the code is, who may do what, who watches.
const IGNORED: [&str; 13] = [
    "Architectures",
    "CodeUri",
    "Description",
    "EphemeralStorage",
    "Handler",
    "LoggingConfig",
    "MemorySize",
    "Policies",
    "RecursiveLoop",
    "Role",
    "Runtime",
    "Tags",
    "Tracing",
];

/// Adds what the template gives to every function. The function's own properties win; environments merge.
pub(super) fn with_globals<'a>(
    globals: &Map<String, Value>,
    mut own: Properties<'a>,
) -> Result<Properties<'a>, TemplateError> {
    for (name, value) in globals {
        if name == "Environment" {
            let variables = value.get("Variables").and_then(Value::as_object);
            let variables = variables.ok_or_else(|| own.problem("Environment", "has no Variables"))?;
            own.add_below("Environment", "Variables", variables)?;
        } else {
            own.add(name, value);
        }
    }
    Ok(own)
}

/// Reads one function; the queues of its events are ARNs until [`connect`].
pub(super) fn function(
    logical_id: &str,
    mut properties: Properties<'_>,
    metadata: &Map<String, Value>,
) -> Result<Function, TemplateError> {
    properties.ignore(&IGNORED);
    let binary =
        metadata.get("BuildProperties").and_then(|build| build.get("Binary")).and_then(Value::as_str);
    let binary = binary.ok_or_else(|| properties.problem("Metadata.BuildProperties.Binary", "is missing"))?;
    let timeout_seconds = properties.number("Timeout", 1..=900)?.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let reserved_concurrency = properties.number("ReservedConcurrentExecutions", 1..=1_000)?;
    let environment = environment(&mut properties)?;
    let mut invoke = properties.part("EventInvokeConfig")?;
    invoke.ignore(&["MaximumEventAgeInSeconds"]);
    let retries = invoke.number("MaximumRetryAttempts", 0..=2)?;
    invoke.finish()?;
    let mut declared = properties.part("Events")?;
    let mut events = Vec::new();
    for name in declared.names() {
        let event = event(&name, declared.part(&name)?)?;
        if matches!(event, FunctionEvent::Schedule { .. })
            && (retries, reserved_concurrency) != (Some(0), Some(1))
        {
            return Err(properties.problem(
                "EventInvokeConfig.MaximumRetryAttempts",
                "a scheduled function needs 0, and ReservedConcurrentExecutions 1: the local cloud neither \
                 repeats a scheduled run nor lets two overlap",
            ));
        }
        events.push(event);
    }
    properties.finish()?;
    Ok(Function {
        logical_id: logical_id.to_owned(),
        binary: binary.to_owned(),
        timeout_seconds,
        reserved_concurrency,
        environment,
        events,
    })
}

fn environment(properties: &mut Properties<'_>) -> Result<BTreeMap<String, String>, TemplateError> {
    let mut environment = properties.part("Environment")?;
    let mut variables = environment.part("Variables")?;
    let mut read = BTreeMap::new();
    for name in variables.names() {
        let value = variables.required_text(&name)?;
        read.insert(name, value);
    }
    environment.finish()?;
    Ok(read)
}

fn event(name: &str, mut declared: Properties<'_>) -> Result<FunctionEvent, TemplateError> {
    let kind = declared.required_text("Type")?;
    let mut properties = declared.part("Properties")?;
    let event = match kind.as_str() {
        "SQS" => sqs_event(&mut properties)?,
        "Schedule" => {
            properties.ignore(&["Description", "Name"]);
            let expression = properties.required_text("Schedule")?;
            FunctionEvent::Schedule { name: name.to_owned(), expression }
        }
        "HttpApi" => {
            properties.ignore(&["ApiId"]);
            let (method, path) = (properties.required_text("Method")?, properties.required_text("Path")?);
            FunctionEvent::HttpApi { method, path }
        }
        _ => return Err(declared.problem("Type", format!("the local cloud knows no event of type {kind}"))),
    };
    properties.finish()?;
    declared.finish()?;
    Ok(event)
}

fn sqs_event(properties: &mut Properties<'_>) -> Result<FunctionEvent, TemplateError> {
    let queue = properties.required_text("Queue")?;
    let batch_size = properties.number("BatchSize", 1..=10)?.unwrap_or(DEFAULT_BATCH_SIZE);
    let report_failures = match properties.value("FunctionResponseTypes")? {
        None => false,
        Some(types) if types == serde_json::json!(["ReportBatchItemFailures"]) => true,
        Some(types) => {
            let text = scalar_text(&types).unwrap_or_else(|| types.to_string());
            return Err(properties.problem("FunctionResponseTypes", format!("{text} is not known")));
        }
    };
    let mut scaling = properties.part("ScalingConfig")?;
    let maximum_concurrency = scaling.number("MaximumConcurrency", 2..=1_000)?;
    scaling.finish()?;
    Ok(FunctionEvent::Sqs { queue, batch_size, report_failures, maximum_concurrency })
}

/// Finds the queues that a function's events name.
pub(super) fn connect(
    function: &mut Function,
    by_arn: &BTreeMap<String, Queue>,
) -> Result<(), TemplateError> {
    for event in &mut function.events {
        let FunctionEvent::Sqs { queue, .. } = event else { continue };
        let problem = |problem: &str| TemplateError::Property {
            logical_id: function.logical_id.clone(),
            property: "Events".to_owned(),
            problem: problem.to_owned(),
        };
        let source =
            by_arn.get(queue).ok_or_else(|| problem("an SQS event names no queue of this template"))?;
        // AWS refuses such a mapping: a message would come again while its first run still works on it.
        if source.visibility_seconds < function.timeout_seconds {
            return Err(problem("the queue's VisibilityTimeout is shorter than the function's Timeout"));
        }
        queue.clone_from(&source.logical_id);
    }
    Ok(())
}
