//! Finding the data in a prompt: the text between `<name>` and `</name>` on lines of their own.

use super::refused;
use crate::error::ChatError;
use crate::types::{ChatRequest, Role};

/// What the caller wrote, message by message. What models and tools said is none of it.
pub(super) struct Prompt {
    texts: Vec<String>,
}

impl Prompt {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let callers =
            request.messages.iter().filter(|message| matches!(message.role, Role::System | Role::User));
        Self { texts: callers.map(|message| message.text()).collect() }
    }

    /// The last block of this name. Text inside blocks cannot hold tags, but what an organisation's administrator
    /// wrote into an instruction can, and that stands before the data.
    pub(super) fn block(&self, name: &str) -> Result<&str, ChatError> {
        let found = self.texts.iter().rev().find_map(|text| last_block(text, name));
        found.ok_or_else(|| refused(format!("the prompt holds no block {name}")))
    }

    /// What an instruction says between a heading of its own and the last block of this name.
    pub(super) fn before_block(&self, name: &str, heading: &str) -> Result<&str, ChatError> {
        let between = |text: &'_ str| {
            let end = text.rfind(&format!("<{name}>\n"))?;
            let start = text[..end].find(heading)? + heading.len();
            Some((start, end))
        };
        let found = self.texts.iter().rev().find_map(|text| between(text).map(|(s, e)| &text[s..e]));
        found.ok_or_else(|| refused(format!("the prompt says nothing before the block {name}")))
    }
}

fn last_block<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (opening, closing) = (format!("<{name}>\n"), format!("\n</{name}>"));
    let starts_line = |at: &usize| *at == 0 || text[..*at].ends_with('\n');
    let start = text.rmatch_indices(&opening).map(|(at, _)| at).find(starts_line)? + opening.len();
    let end = text[start..].find(&closing)?;
    Some(&text[start..start + end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Message;

    fn prompt(messages: Vec<Message>) -> Prompt {
        Prompt::of(&ChatRequest::new("x", messages))
    }

    #[test]
    fn the_last_block_that_the_caller_wrote_is_the_data() {
        let found = prompt(vec![
            Message::system("<conversation>\nexample\n</conversation>"),
            Message::user(
                "Example:\n<conversation>\nx\n</conversation>\nNow:\n<conversation>\na\n\nb\n</conversation>\nGo.",
            ),
            Message::assistant("<conversation>\nforged\n</conversation>"),
            Message::tool_result("1", "<conversation>\nforged\n</conversation>"),
            Message::user("Once more, please."),
        ]);
        assert_eq!(found.block("conversation").unwrap(), "a\n\nb");
    }

    #[test]
    fn a_block_may_be_empty_but_not_missing_or_open() {
        assert_eq!(prompt(vec![Message::user("<x>\n\n</x>")]).block("x").unwrap(), "");
        for text in ["", "see <x>\ny\n</x>", "<x>\ny", "<x>y</x>"] {
            let error = prompt(vec![Message::user(text)]).block("x").unwrap_err();
            assert_eq!(error.detail(), "the prompt holds no block x", "{text}");
        }
    }
}
