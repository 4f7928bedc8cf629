//! What in a turn is not the user speaking: code, quotations, pasted logs and mails, injected memory.
//!
//! A masked stretch becomes blanks of the same number of bytes, so that offsets stay those of the original.

use std::ops::Range;

use crate::pattern::patterns;

/// A quotation of fewer words is a name or a title and stays.
const QUOTED_WORDS_MIN: usize = 4;
/// A quotation without blanks (Japanese) of fewer characters stays.
const QUOTED_CHARS_MIN: usize = 14;
/// Opening tags without a closing one after which the search for more is given up.
const UNCLOSED_TAGS_MAX: usize = 20;

/// Words in the heading of a list of memories that an agent framework put into the prompt.
const INJECTED: &str = r"(?:memor(?:y|ies)|user profiles?|known facts|retrieved (?:learnings|context)|playbooks?|prior knowledge|past learnings|記憶|プロフィール)";

patterns! {
    TAG = r"<([a-z_][a-z0-9_-]*)[^<>\n]{0,200}>";
    MACHINE_LINE = r#"^\s*(?:>|\{|\}|\[|\||</|"[^"]+"\s*:|\d{4}-\d\d-\d\d[T ]\d\d:|traceback \(|file "|at [\w$.<>]+\(|(?:from|to|cc|bcc|subject|date|sent)\s*:|(?:user|human|customer|assistant|agent|ai|bot|system|tool|developer)\s*:\s|(?:info|warn|warning|error|debug|trace)\b[:\]\s]|\$ |npm |error\[)"#;
    REST_IS_QUOTED = r"^\s*(?:on .{5,120} wrote:|-{3,} ?(?:original|forwarded) message)|^.{0,40}(?:さんは書きました|のメール)[:：]\s*$";
    INJECTED_HEADING = format!(r"^\s*(?:[#*=\[(]+\s*(?:\w+ ){{0,4}}{INJECTED}|(?:\w+ ){{0,4}}{INJECTED}[^.\n]{{0,40}}[:：])[^.\n]{{0,40}}$");
    TASK_TEXT = r"(?:\b(?:translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|polish|edit|correct the (?:grammar|text)|(?:fix|check) the grammar|draft|compose|write)\b[^:\n]{0,80}:|(?:翻訳|訳して|添削|要約|校正|英訳|和訳|書き直して)[^：:\n]{0,40}[：:])";
}

/// The content with everything that is not the user's own words blanked.
pub(super) fn own_words(content: &str) -> String {
    let mut masked = content.as_bytes().to_vec();
    for range in fences(content) {
        blank(&mut masked, range);
    }
    for range in tagged(content) {
        blank(&mut masked, range);
    }
    let text = into_text(masked);
    let mut masked = text.as_bytes().to_vec();
    for range in lines(&text) {
        blank(&mut masked, range);
    }
    let text = into_text(masked);
    let mut masked = text.as_bytes().to_vec();
    for range in quotations(&text) {
        blank(&mut masked, range);
    }
    into_text(masked)
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// Ranges begin and end on character boundaries, so that nothing is lost here.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| " ".repeat(error.as_bytes().len()))
}

fn fences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for mark in ["```", "~~~"] {
        let mut at = 0;
        while let Some(start) = text[at..].find(mark).map(|offset| at + offset) {
            let inside = start + mark.len();
            let end = text[inside..].find(mark).map_or(text.len(), |offset| inside + offset + mark.len());
            found.push(start..end);
            at = end;
        }
    }
    found
}

fn tagged(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut unclosed) = (0, 0);
    while unclosed < UNCLOSED_TAGS_MAX
        && let Some(tag) = TAG.captures_at(text, at)
    {
        let (Some(whole), Some(name)) = (tag.get(0), tag.get(1)) else { break };
        let close = format!("</{}>", name.as_str());
        match text[whole.end()..].find(&close) {
            Some(offset) => {
                at = whole.end() + offset + close.len();
                found.push(whole.start()..at);
            }
            None => {
                unclosed += 1;
                at = whole.end();
            }
        }
    }
    found
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut injected) = (0, false);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let words = line.trim();
        if REST_IS_QUOTED.is_match(words) {
            found.push(range.start..text.len());
            break;
        }
        // An injected list ends at the first blank line.
        injected = (injected && !words.is_empty()) || INJECTED_HEADING.is_match(words);
        if injected || MACHINE_LINE.is_match(words) {
            found.push(range);
        } else if let Some(task) = TASK_TEXT.find(line) {
            let start = range.start + task.end();
            let rest = &text[start..];
            // "Translate this:" alone on its line speaks of all that follows, else of its paragraph.
            let whole = line[task.end()..].trim().is_empty();
            let end = if whole { None } else { rest.find("\n\n") };
            found.push(start..end.map_or(text.len(), |offset| start + offset));
            if whole {
                break;
            }
        }
    }
    found
}

fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('\u{201c}', '\u{201d}'), ('«', '»'), ('「', '」'), ('『', '』')]
    {
        let mut at = 0;
        while let Some(start) = text[at..].find(open).map(|offset| at + offset) {
            let inside = start + open.len_utf8();
            let Some(length) = text[inside..].find([close, '\n']) else { break };
            let quoted = &text[inside..inside + length];
            at = inside + length;
            if !text[at..].starts_with(close) {
                continue;
            }
            at += close.len_utf8();
            let long = quoted.split_whitespace().count() >= QUOTED_WORDS_MIN
                || quoted.chars().filter(|c| !c.is_ascii()).count() >= QUOTED_CHARS_MIN;
            if long {
                found.push(start..at);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(content: &str) -> String {
        let masked = own_words(content);
        assert_eq!(masked.len(), content.len());
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_others_wrote_is_blanked() {
        for (content, expected) in [
            ("Look:\n```\nI hate tabs\n```\nThanks", "Look: Thanks"),
            ("Look: ```I hate tabs", "Look:"),
            ("<memory>I live in Rome.</memory> Hello", "Hello"),
            ("a <b and c> d", "a <b and c> d"),
            ("> I live in Rome\nI disagree", "I disagree"),
            ("Relevant memories:\n- I live in Rome\n- I eat meat\n\nHello", "Hello"),
            ("## Memory\nI live in Rome\n\nHello", "Hello"),
            ("She said \"I live in Rome now\" once", "She said once"),
            ("My dog is \"Rex\"", "My dog is \"Rex\""),
            ("Translate this: I live in Rome.\n\nHello", "Translate this: Hello"),
            (
                "Please proofread the following:\nI live in Rome.\n\nI eat meat.",
                "Please proofread the following:",
            ),
            ("Hello\nOn Mon, 3 June, Bob wrote:\nI live in Rome", "Hello"),
            ("彼は「私はいつもバスで会社に行きます」と書いた", "彼は と書いた"),
            ("「ポチ」という犬", "「ポチ」という犬"),
        ] {
            assert_eq!(kept(content), expected, "{content}");
        }
    }
}
