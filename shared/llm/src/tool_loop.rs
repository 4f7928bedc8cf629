//! The extraction agent: a model that calls tools until it finishes.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::schema::strict_schema_for;
use crate::structured::{Problem, check_finish, read_text};
use crate::types::{ChatRequest, Message, ToolCall, ToolChoice, ToolSpec, Usage};

/// Model turns of one loop.
pub const STEPS_MAX: u32 = 8;
/// How often a loop is begun anew after a turn without a tool call.
pub const RESTARTS_MAX: u32 = 2;

/// The tool that ends the loop; its arguments are the result.
#[derive(Debug, Clone)]
pub struct FinishTool {
    /// Name, for example `finish_extraction`.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
}

/// The other tools.
#[async_trait]
pub trait ToolExecutor: Send + Sync {
    /// The tools on offer, the finishing one not among them.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Runs a tool. The text of either outcome goes back to the model, so it must hold nothing secret.
    ///
    /// # Errors
    /// What to tell the model about arguments it got wrong.
    async fn call(&self, name: &str, arguments: Value) -> Result<String, String>;

    /// Whether something was done that a loop begun anew would do twice.
    fn must_not_restart(&self) -> bool {
        false
    }
}

/// No tools besides the finishing one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

#[async_trait]
impl ToolExecutor for NoTools {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, name: &str, _: Value) -> Result<String, String> {
        Err(unknown_tool(name))
    }
}

/// How a loop ended well.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished<T> {
    /// The arguments of the finishing call.
    pub value: T,
    /// Turns of the last loop.
    pub steps: u32,
    /// Tokens of all turns, those of abandoned loops included.
    pub usage: Usage,
    /// The conversation up to the finishing call.
    pub messages: Vec<Message>,
}

/// How a loop ended badly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolLoopError {
    /// A call failed, or its answer was cut.
    #[error(transparent)]
    Model(#[from] ChatError),
    /// The model answered without calling a tool, in every loop.
    #[error("the model called no tool")]
    NoToolCall,
    /// The model did not finish within its steps.
    #[error("the model did not finish within {steps_max} steps")]
    MaxSteps {
        /// The limit.
        steps_max: u32,
    },
}

impl ToolLoopError {
    /// The word in logs and run records.
    #[must_use]
    pub fn finished_reason(&self) -> &'static str {
        match self {
            Self::Model(_) => "error",
            Self::NoToolCall => "no_tool_call",
            Self::MaxSteps { .. } => "max_steps",
        }
    }
}

/// Runs the loop. `request` brings the messages, model and bounds; its tools are replaced. `check` is the
/// caller's own check of the result; what it says goes back to the model as the result of the call.
///
/// # Errors
/// [`ToolLoopError`].
pub async fn run_tool_loop<T, C>(
    model: &dyn ChatModel,
    request: &ChatRequest,
    finish: &FinishTool,
    executor: &dyn ToolExecutor,
    steps_max: u32,
    check: C,
) -> Result<Finished<T>, ToolLoopError>
where
    T: JsonSchema + DeserializeOwned,
    C: Fn(&T) -> Result<(), String> + Sync,
{
    let schema = strict_schema_for::<T>();
    let mut tools = executor.tools();
    let tool_choice =
        if tools.is_empty() { ToolChoice::Tool(finish.name.clone()) } else { ToolChoice::Required };
    tools.push(ToolSpec {
        name: finish.name.clone(),
        description: finish.description.clone(),
        parameters: schema.clone(),
    });
    let request = ChatRequest { tools, tool_choice, response_schema: None, ..request.clone() };
    let mut run = Loop { model, finish, executor, schema, steps_max, usage: Usage::default() };
    let mut restarts = 0;
    loop {
        match run.once(request.clone(), &check).await {
            Err(ToolLoopError::NoToolCall) if restarts < RESTARTS_MAX && !executor.must_not_restart() => {
                restarts += 1;
                tracing::warn!(
                    event = "extraction_agent_retry",
                    finished_reason = "no_tool_call",
                    attempt = restarts,
                    max_retries = RESTARTS_MAX,
                );
            }
            Err(ToolLoopError::Model(error)) => {
                tracing::warn!(
                    event = "tool_loop_llm_error",
                    model = model.model_name(),
                    purpose = request.purpose,
                    error_type = error.class(),
                );
                return Err(ToolLoopError::Model(error));
            }
            other => return other,
        }
    }
}

struct Loop<'a> {
    model: &'a dyn ChatModel,
    finish: &'a FinishTool,
    executor: &'a dyn ToolExecutor,
    schema: Value,
    steps_max: u32,
    usage: Usage,
}

impl Loop<'_> {
    async fn once<T, C>(&mut self, mut request: ChatRequest, check: &C) -> Result<Finished<T>, ToolLoopError>
    where
        T: DeserializeOwned,
        C: Fn(&T) -> Result<(), String> + Sync,
    {
        for step in 1..=self.steps_max {
            let answer = self.model.chat(&request).await?;
            self.add(answer.usage);
            check_finish(&request, &answer)?;
            if answer.tool_calls.is_empty() {
                return Err(ToolLoopError::NoToolCall);
            }
            let text = answer.text.unwrap_or_default();
            let mut said = Message::assistant(text.clone());
            if text.is_empty() {
                said.parts.clear();
            }
            said.tool_calls.clone_from(&answer.tool_calls);
            request.messages.push(said);
            let mut finished = None;
            for call in &answer.tool_calls {
                let result = if call.name == self.finish.name {
                    match self.read(call, check) {
                        Ok(value) => {
                            finished = finished.or(Some(value));
                            "Accepted.".to_owned()
                        }
                        Err(problem) => format!("Error: {}. Call {} again.", problem.for_model, call.name),
                    }
                } else {
                    self.execute(call).await
                };
                request.messages.push(Message::tool_result(call.id.clone(), result));
            }
            if let Some(value) = finished {
                return Ok(Finished { value, steps: step, usage: self.usage, messages: request.messages });
            }
        }
        Err(ToolLoopError::MaxSteps { steps_max: self.steps_max })
    }

    fn read<T, C>(&self, call: &ToolCall, check: &C) -> Result<T, Problem>
    where
        T: DeserializeOwned,
        C: Fn(&T) -> Result<(), String>,
    {
        let value = read_text(&call.arguments, &self.schema)?;
        check(&value).map_err(|why| Problem { for_model: why, for_log: "the result failed its check" })?;
        Ok(value)
    }

    async fn execute(&self, call: &ToolCall) -> String {
        if !self.executor.tools().iter().any(|tool| tool.name == call.name) {
            return unknown_tool(&call.name);
        }
        let Some(arguments) =
            crate::json_text::candidates(&call.arguments).into_iter().find(Value::is_object)
        else {
            return "Error: the arguments are not a JSON object.".to_owned();
        };
        match self.executor.call(&call.name, arguments).await {
            Ok(text) => text,
            Err(why) => format!("Error: {why}"),
        }
    }

    fn add(&mut self, usage: Usage) {
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cached_tokens += usage.cached_tokens;
    }
}

fn unknown_tool(name: &str) -> String {
    format!("Error: there is no tool named {name}.")
}

#[cfg(test)]
mod tests;
