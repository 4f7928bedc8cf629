//! The rules of crate `offline` behind the ports for models, so that nothing above can tell them from a provider.
//!
//! A request is answered from what a provider would get, the rendered prompt: [`blocks`] finds the data in it,
//! [`transcript`] and [`rows`] read them, and one file for each kind of question answers. A prompt that cannot be
//! read is refused: an empty answer would pass for "nothing to learn".

mod aggregation;
mod blocks;
mod consolidation;
mod conversation;
mod deduplication;
mod embedding;
mod expert;
mod judging;
mod playbooks;
mod profiles;
mod reflection;
mod review;
mod rows;
mod tagging;
mod tool_calls;
mod transcript;

use async_trait::async_trait;
use serde_json::Value;

use self::blocks::Prompt;
use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::types::{ChatRequest, ChatResponse, FinishReason, ToolCall, ToolChoice, Usage};

pub use embedding::OfflineEmbedding;

/// The name of provider and model, for chat and for embedding.
pub const OFFLINE: &str = "offline";

/// The tool that ends an extraction, where the request forces none.
const FINISH_TOOL: &str = "finish_extraction";
/// Characters that count as a token of usage.
const CHARS_PER_TOKEN: usize = 4;

/// Answers the prompts of learning and judging by rules. It knows no others, and needs neither network nor clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineChat;

impl OfflineChat {
    /// The model; all of them are alike.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

#[async_trait]
impl ChatModel for OfflineChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let prompt = Prompt::of(request);
        let said = match answer(request.purpose, &prompt)? {
            Answer::Word(word) => Said::Text(word.to_string()),
            Answer::Text(value) => Said::Text(value.to_string()),
            Answer::Finish(value) => match finishing_tool(request)? {
                Some(name) => Said::Call(ToolCall {
                    id: "call_0".to_owned(),
                    name: name.to_owned(),
                    arguments: value.to_string(),
                    signature: None,
                }),
                None => Said::Text(value.to_string()),
            },
        };
        Ok(response(request, said))
    }

    fn provider(&self) -> &str {
        OFFLINE
    }

    fn model_name(&self) -> &str {
        OFFLINE
    }
}

enum Answer {
    /// `true` or `false`.
    Word(bool),
    /// JSON as text.
    Text(Value),
    /// JSON as the arguments of the tool that ends the extraction.
    Finish(Value),
}

fn answer(purpose: &str, prompt: &Prompt) -> Result<Answer, ChatError> {
    match purpose {
        "profile_should_generate" => profiles::is_worth_reading(prompt).map(Answer::Word),
        "profile_update_main" => profiles::extract(prompt).map(Answer::Finish),
        "profile_deduplication" => deduplication::deduplicate(prompt).map(Answer::Text),
        "playbook_should_generate" => playbooks::is_worth_reading(prompt, "conversation").map(Answer::Word),
        "playbook_should_generate_expert" => {
            playbooks::is_worth_reading(prompt, "comparisons").map(Answer::Word)
        }
        "playbook_extraction_main" => playbooks::extract(prompt, "conversation").map(Answer::Finish),
        "playbook_extraction_main_expert" => playbooks::extract(prompt, "comparisons").map(Answer::Finish),
        "playbook_aggregation" => aggregation::aggregate(prompt).map(Answer::Text),
        "playbook_consolidation" => consolidation::consolidate(prompt).map(Answer::Text),
        "memory_reflection" => reflection::reflect(prompt).map(Answer::Text),
        "tagging" => tagging::tag(prompt).map(Answer::Text),
        "playbook_candidate_review" => review::review(prompt).map(Answer::Text),
        "agent_success_evaluation" => judging::judge_session(prompt).map(Answer::Text),
        "retrieved_learning_relevance" => judging::judge_relevance(prompt).map(Answer::Text),
        "retrieved_learning_impact" => judging::judge_impact(prompt).map(Answer::Text),
        "shadow_comparison" => judging::compare_answers(prompt).map(Answer::Text),
        "document_expansion" => tagging::expand(prompt).map(Answer::Text),
        other => Err(refused(format!("the offline model does not know the prompt {other}"))),
    }
}

/// A request that the rules cannot answer. The detail is for the log and quotes nothing of the prompt.
fn refused(detail: String) -> ChatError {
    ChatError::BadRequest { detail }
}

/// The tool to call; `None` when the request offers none, so that the answer is text.
fn finishing_tool(request: &ChatRequest) -> Result<Option<&str>, ChatError> {
    let offered = |name: &str| request.tools.iter().map(|tool| tool.name.as_str()).find(|tool| *tool == name);
    match (&request.tool_choice, request.tools.as_slice()) {
        (ToolChoice::None, _) | (ToolChoice::Auto | ToolChoice::Required, []) => Ok(None),
        (ToolChoice::Tool(name), _) => offered(name)
            .map(Some)
            .ok_or_else(|| refused("the tool that must be called is not among the tools".to_owned())),
        (ToolChoice::Auto | ToolChoice::Required, [only]) => Ok(Some(&only.name)),
        (ToolChoice::Auto | ToolChoice::Required, _) => offered(FINISH_TOOL)
            .map(Some)
            .ok_or_else(|| refused(format!("there is no tool named {FINISH_TOOL}"))),
    }
}

enum Said {
    Text(String),
    Call(ToolCall),
}

fn response(request: &ChatRequest, said: Said) -> ChatResponse {
    let input_chars = request.messages.iter().map(|message| message.text().chars().count()).sum();
    let (text, tool_calls, finish) = match said {
        Said::Text(text) => (Some(text), Vec::new(), FinishReason::Stop),
        Said::Call(call) => (None, vec![call], FinishReason::ToolCalls),
    };
    let written = text.iter().chain(tool_calls.iter().map(|call| &call.arguments));
    let output_chars = written.map(|text| text.chars().count()).sum();
    let usage =
        Usage { input_tokens: tokens(input_chars), output_tokens: tokens(output_chars), cached_tokens: 0 };
    ChatResponse { text, tool_calls, finish, usage, model: OFFLINE.to_owned() }
}

fn tokens(chars: usize) -> u64 {
    u64::try_from(chars.div_ceil(CHARS_PER_TOKEN)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
