//! Amazon Bedrock Converse: the request.

use aws_sdk_bedrockruntime::types as aws;
use aws_smithy_types::Blob;
use aws_smithy_types::error::operation::BuildError;
use base64::Engine as _;
use serde_json::Value;

use super::bedrock_document::to_document;
use crate::error::ChatError;
use crate::types::{ChatRequest, ImageSource, Message, Part, Role, ToolCall, ToolChoice};

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unbuilt(error: BuildError) -> ChatError {
    ChatError::BadRequest { detail: error.to_string() }
}

/// The system messages.
pub(super) fn system(request: &ChatRequest) -> Option<Vec<aws::SystemContentBlock>> {
    let texts = request.messages.iter().filter(|message| message.role == Role::System).map(Message::text);
    let blocks: Vec<_> = texts.filter(|text| !text.is_empty()).map(aws::SystemContentBlock::Text).collect();
    (!blocks.is_empty()).then_some(blocks)
}

/// The other messages; neighbours of one role are merged, since the roles must take turns.
pub(super) fn messages(messages: &[Message]) -> Result<Vec<aws::Message>, ChatError> {
    let mut turns: Vec<(aws::ConversationRole, Vec<aws::ContentBlock>)> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        let assistant = message.role == Role::Assistant;
        let role = if assistant { aws::ConversationRole::Assistant } else { aws::ConversationRole::User };
        let blocks = blocks(message)?;
        match turns.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    let build = |(role, blocks)| {
        aws::Message::builder().role(role).set_content(Some(blocks)).build().map_err(unbuilt)
    };
    turns.into_iter().map(build).collect()
}

fn blocks(message: &Message) -> Result<Vec<aws::ContentBlock>, ChatError> {
    if let Some(id) = &message.tool_call_id {
        let content = aws::ToolResultContentBlock::Text(message.text());
        let result =
            aws::ToolResultBlock::builder().tool_use_id(id).content(content).build().map_err(unbuilt)?;
        return Ok(vec![aws::ContentBlock::ToolResult(result)]);
    }
    let mut blocks = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) if text.trim().is_empty() => {}
            Part::Text(text) => blocks.push(aws::ContentBlock::Text(text.clone())),
            // The service fetches nothing, so a link stays a link.
            Part::Image(ImageSource::Url(url)) => {
                blocks.push(aws::ContentBlock::Text(format!("[image: {url}]")));
            }
            Part::Image(ImageSource::Base64 { media_type, data }) => blocks.push(image(media_type, data)?),
        }
    }
    for call in &message.tool_calls {
        blocks.push(tool_use(call)?);
    }
    Ok(blocks)
}

fn image(media_type: &str, data: &str) -> Result<aws::ContentBlock, ChatError> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(data)
        .map_err(|_| ChatError::BadRequest { detail: "an image is not base64".to_owned() })?;
    let format =
        aws::ImageFormat::from(media_type.trim_start_matches("image/").replace("jpg", "jpeg").as_str());
    let source = aws::ImageSource::Bytes(Blob::new(bytes));
    aws::ImageBlock::builder()
        .format(format)
        .source(source)
        .build()
        .map(aws::ContentBlock::Image)
        .map_err(unbuilt)
}

fn tool_use(call: &ToolCall) -> Result<aws::ContentBlock, ChatError> {
    let input: Value = serde_json::from_str(&call.arguments)
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    aws::ToolUseBlock::builder()
        .tool_use_id(&call.id)
        .name(&call.name)
        .input(to_document(&input))
        .build()
        .map(aws::ContentBlock::ToolUse)
        .map_err(unbuilt)
}

/// The tools, or the one that carries an answer with a schema.
pub(super) fn tool_config(request: &ChatRequest) -> Result<Option<aws::ToolConfiguration>, ChatError> {
    let mut tools = Vec::new();
    let choice = if let (true, Some(wanted)) = (request.tools.is_empty(), &request.response_schema) {
        tools.push(tool(&wanted.name, "Gives the answer.", &wanted.schema)?);
        ToolChoice::Tool(wanted.name.clone())
    } else {
        for spec in &request.tools {
            tools.push(tool(&spec.name, &spec.description, &spec.parameters)?);
        }
        request.tool_choice.clone()
    };
    // The service knows no "none": leaving the tools out says it.
    let choice = match choice {
        _ if tools.is_empty() => return Ok(None),
        ToolChoice::None => return Ok(None),
        ToolChoice::Auto => aws::ToolChoice::Auto(aws::AutoToolChoice::builder().build()),
        ToolChoice::Required => aws::ToolChoice::Any(aws::AnyToolChoice::builder().build()),
        ToolChoice::Tool(name) => {
            aws::ToolChoice::Tool(aws::SpecificToolChoice::builder().name(name).build().map_err(unbuilt)?)
        }
    };
    let config = aws::ToolConfiguration::builder().set_tools(Some(tools)).tool_choice(choice);
    config.build().map(Some).map_err(unbuilt)
}

fn tool(name: &str, description: &str, schema: &Value) -> Result<aws::Tool, ChatError> {
    // The SDK's documents forget the order of properties, and a model should reason before it answers.
    let names: Vec<&str> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let description = match names.as_slice() {
        [] | [_] => description.to_owned(),
        names => format!("{description} Write the properties in this order: {}.", names.join(", ")),
    };
    let specification = aws::ToolSpecification::builder()
        .name(name)
        .description(description)
        .input_schema(aws::ToolInputSchema::Json(to_document(schema)));
    specification.build().map(aws::Tool::ToolSpec).map_err(unbuilt)
}
