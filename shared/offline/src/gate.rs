//! Whether a window is worth reading at all.

use crate::pattern::patterns;
use crate::playbook::tools::has_failure;
use crate::text::sentences;
use crate::turn::Turn;

patterns! {
    ECHO = r"^(?:you are a detector|you are an user signal|you are a signal detection|you are an extractor)";
    COMMAND = r"^/[a-z0-9_:-]+\s*$";
}

/// Whether anything can be learned: the user says something in words of their own, or a tool failed.
#[must_use]
pub fn should_run(turns: &[Turn<'_>]) -> bool {
    turns.iter().any(|turn| {
        let speaks = || {
            let text = turn.content.trim();
            !ECHO.is_match(text) && !COMMAND.is_match(text) && !sentences(text).is_empty()
        };
        has_failure(turn) || (turn.is_by_user() && speaks())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_without_words_of_the_user_are_skipped() {
        for (role, content, expected) in [
            ("user", "no, use euros", true),
            ("User", "はい、大阪です", true),
            ("user", "/clear ", false),
            ("user", "```\nlet x = 1;\n```", false),
            ("user", "You are an extractor. Read this.", false),
            ("user", "", false),
            ("assistant", "I like figs.", false),
            ("system", "I like figs.", false),
        ] {
            let turn = Turn { id: 1, label: "t1", role, content, tools: Vec::new(), created_at: 0 };
            assert_eq!(should_run(&[turn]), expected, "{role}: {content}");
        }
        assert!(!should_run(&[]));
    }
}
