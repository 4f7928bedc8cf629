//! Tool calls that failed, and what made them work.

use std::collections::BTreeSet;

use domain::entities::BlockingIssueKind::{
    self, ExternalDependency, MissingTool, PermissionDenied, PolicyRestriction,
};
use serde_json::Value;

use crate::pattern::patterns;
use crate::text::{Language, cut_chars};
use crate::turn::EvidenceKind::{ObservedFailure, VerifiedSuccess};
use crate::turn::{PlaybookDraft, ToolCallView, Turn};

/// Calls after a failure in which its remedy is looked for.
const REMEDY_CALLS_MAX: usize = 20;
/// Calls after a failure in which another tool counts as its replacement.
const REPLACEMENT_CALLS_MAX: usize = 4;
/// Characters of an error that are quoted.
const ERROR_CHARS_MAX: usize = 120;
/// Characters of an output that are looked at.
const OUTPUT_CHARS_MAX: usize = 4_000;

patterns! {
    BAD_STATUS = r"^(?:error(?:ed)?|fail(?:ed|ure)?|time(?:d)?[ _-]?out|exception|denied|rejected|forbidden|unauthorized|invalid|not[ _]found|aborted|crashed|4\d\d|5\d\d)\b";
    GOOD_STATUS = r"^(?:ok|success(?:ful)?|succeeded|completed?|done|200|201)\b";
    BAD_OUTPUT = r#"^[\s"'\[(]*(?:(?:[a-z]+)?(?:error|exception)|failed|failure|fatal|timeout|timed out|permission denied|access denied|unauthorized|forbidden|not found|command not found|no such [a-z]+|invalid [a-z]+|エラー|失敗)(?:\s*[:：!(-]|\s*$| \d| while | code | to )|^\s*traceback \(|^\s*\{\s*"error"\s*:\s*["{]"#;
    ERROR_LEAD = r#"^[\s"'{\[(]*(?:error|exception|failed|failure|fatal|エラー)\s*[:：-]?\s*"#;
    IDENTIFIER = r"\b(?-i:[A-Z]*\d[\w-]*)\b";
    THINKING = r"^(?:think|thinking|reason|plan|scratchpad|note|calculate|calculator)$";
    READING = r"^(?:get|list|read|search|find|fetch|lookup|look|check|describe|query)_";
    DENIED = r"permission|unauthori[sz]ed|forbidden|denied|not allowed|403|401|credential|scope";
    NO_TOOL = r"unknown (?:tool|function|command)|no such (?:tool|function|command)|command not found|not (?:implemented|supported)|tool .{0,40}(?:not found|unavailable|does not exist)";
    OUTSIDE = r"time[d ]*out|timeout|unavailable|connection|network|rate limit|too many requests|\b(?:429|502|503|504)\b|overloaded|dns";
    POLICY = r"cannot be used|not eligible|polic(?:y|ies)|not permitted|restricted|quota|exceeds? (?:the )?limit";
}

struct Call<'a> {
    label: &'a str,
    call: &'a ToolCallView<'a>,
    error: Option<String>,
}

/// One rule per kind of failure.
pub(super) fn playbooks(turns: &[Turn<'_>], language: Language) -> Vec<PlaybookDraft> {
    let calls: Vec<Call<'_>> = turns.iter().flat_map(calls_of).collect();
    let mut found: Vec<PlaybookDraft> = Vec::new();
    for (place, failed) in calls.iter().enumerate() {
        let Some(error) = &failed.error else { continue };
        let draft = judge(&calls, place, error, language);
        match found.iter_mut().find(|known| known.trigger == draft.trigger) {
            // The same failure again: the attempt that was mended tells more.
            Some(known)
                if draft.evidence_kind == VerifiedSuccess && known.evidence_kind != VerifiedSuccess =>
            {
                *known = draft;
            }
            Some(_) => {}
            None => found.push(draft),
        }
    }
    found
}

fn calls_of<'a>(turn: &'a Turn<'_>) -> impl Iterator<Item = Call<'a>> {
    turn.tools.iter().map(|call| Call { label: turn.label, call, error: error_of(call) })
}

/// The error of a call, without what only this call had: numbers and names of things.
fn error_of(call: &ToolCallView<'_>) -> Option<String> {
    let output = cut_chars(call.output.trim(), OUTPUT_CHARS_MAX);
    let status = call.status.trim();
    let message = message_of(output);
    if !(BAD_STATUS.is_match(status)
        || (!GOOD_STATUS.is_match(status) && (message.is_some() || BAD_OUTPUT.is_match(output))))
    {
        return None;
    }
    let text = message.unwrap_or_else(|| output.to_owned());
    let line = text.lines().next().unwrap_or_default();
    let line = ERROR_LEAD.replace(line, "");
    let line = line.split(['"', '\\', '{', '}', '`']).next().unwrap_or_default();
    let line = line.split(", ").next().unwrap_or_default().trim_end_matches(['.', ',', ':', ' ']);
    let said = match line.chars().count() {
        0..3 if status.is_empty() => "an error",
        0..3 => status,
        _ => line,
    };
    Some(cut_chars(said.trim(), ERROR_CHARS_MAX).to_owned())
}

/// The message in a JSON object that reports an error.
fn message_of(output: &str) -> Option<String> {
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(output) else { return None };
    let failed = object.get("success") == Some(&Value::Bool(false))
        || object.get("ok") == Some(&Value::Bool(false))
        || object.get("status").and_then(Value::as_str).is_some_and(|status| BAD_STATUS.is_match(status));
    match object.get("error") {
        Some(Value::String(text)) if !text.is_empty() => return Some(text.clone()),
        Some(Value::Object(error)) => {
            return Some(error.get("message").and_then(Value::as_str).unwrap_or("error").to_owned());
        }
        _ => {}
    }
    failed.then(|| object.get("message").and_then(Value::as_str).unwrap_or("failed").to_owned())
}

fn judge(calls: &[Call<'_>], place: usize, error: &str, language: Language) -> PlaybookDraft {
    let failed = &calls[place];
    let later = &calls[place + 1..calls.len().min(place + 1 + REMEDY_CALLS_MAX)];
    let name = failed.call.name;
    let quoted = IDENTIFIER.replace_all(error, "…").into_owned();
    let words = Words { name, error: &quoted, language };
    let retried = later.iter().position(|call| call.call.name == name && call.error.is_none());
    let replaced = later
        .iter()
        .take(REPLACEMENT_CALLS_MAX)
        .position(|call| call.error.is_none() && replaces(name, call.call.name));
    let (content, remedy) = match (retried, replaced) {
        (Some(at), _) => {
            (words.retried(&between(&later[..at]), &changed(failed.call, later[at].call)), Some(at))
        }
        (None, Some(at)) => (words.replaced(later[at].call.name), Some(at)),
        (None, None) => (words.unmended(), None),
    };
    let mut evidence = vec![failed.label.to_owned()];
    if let Some(label) = remedy.map(|at| later[at].label).filter(|label| *label != failed.label) {
        evidence.push(label.to_owned());
    }
    PlaybookDraft {
        trigger: words.trigger(),
        content,
        rationale: words.rationale(remedy.is_some()),
        evidence_kind: if remedy.is_some() { VerifiedSuccess } else { ObservedFailure },
        evidence,
        source_span: error.to_owned(),
        blocking_issue: if remedy.is_some() {
            None
        } else {
            blocking(error).map(|kind| (kind, format!("{name}: {quoted}")))
        },
    }
}

/// Whether a success of `other` can make up for a failure of `failed`: both change or both read, and their names
/// share half of their words.
fn replaces(failed: &str, other: &str) -> bool {
    if failed == other || THINKING.is_match(other) || READING.is_match(failed) != READING.is_match(other) {
        return false;
    }
    let parts = |name: &str| {
        name.to_lowercase()
            .split(['_', '-', '.'])
            .filter(|part| part.len() > 3)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let (failed, other) = (parts(failed), parts(other));
    let common = failed.intersection(&other).count();
    common > 0 && common * 2 >= failed.union(&other).count()
}

/// Other tools that were used in between, each once.
fn between<'a>(calls: &'a [Call<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for call in calls {
        let name = call.call.name;
        if call.error.is_none() && !THINKING.is_match(name) && !names.contains(&name) && names.len() < 3 {
            names.push(name);
        }
    }
    names
}

/// Arguments that differ between the failed call and the one that worked.
fn changed(failed: &ToolCallView<'_>, worked: &ToolCallView<'_>) -> Vec<String> {
    let (Ok(Value::Object(before)), Ok(Value::Object(after))) =
        (serde_json::from_str::<Value>(&failed.input), serde_json::from_str::<Value>(&worked.input))
    else {
        return Vec::new();
    };
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter(|key| before.get(*key) != after.get(*key)).take(4).cloned().collect()
}

fn blocking(error: &str) -> Option<BlockingIssueKind> {
    if NO_TOOL.is_match(error) {
        Some(MissingTool)
    } else if DENIED.is_match(error) {
        Some(PermissionDenied)
    } else if OUTSIDE.is_match(error) {
        Some(ExternalDependency)
    } else {
        POLICY.is_match(error).then_some(PolicyRestriction)
    }
}

struct Words<'a> {
    name: &'a str,
    error: &'a str,
    language: Language,
}

impl Words<'_> {
    fn trigger(&self) -> String {
        let Self { name, error, .. } = self;
        match self.language {
            Language::English => format!("When {name} fails with “{error}”"),
            Language::Japanese => format!("{name} が「{error}」で失敗したとき"),
        }
    }

    fn retried(&self, between: &[&str], changed: &[String]) -> String {
        let name = self.name;
        match self.language {
            Language::English => {
                let first = if between.is_empty() {
                    String::new()
                } else {
                    format!("call {} first, then ", between.join(" and "))
                };
                let what = if changed.is_empty() {
                    String::new()
                } else {
                    format!("correct {} and ", changed.join(", "))
                };
                crate::text::capitalised(&format!("{first}{what}call {name} again; that worked."))
            }
            Language::Japanese => {
                let first = if between.is_empty() {
                    String::new()
                } else {
                    format!("先に {} を呼び、", between.join("、"))
                };
                let what = if changed.is_empty() {
                    String::new()
                } else {
                    format!("{} を直して", changed.join("、"))
                };
                format!("{first}{what}もう一度 {name} を呼ぶと成功した。")
            }
        }
    }

    fn replaced(&self, other: &str) -> String {
        match self.language {
            Language::English => format!("Use {other} instead of {}; that worked.", self.name),
            Language::Japanese => format!("{} の代わりに {other} を使うと成功した。", self.name),
        }
    }

    fn unmended(&self) -> String {
        let name = self.name;
        match self.language {
            Language::English => format!(
                "Do not repeat the same {name} call. Check its conditions beforehand, tell the user what stands in the way, and offer another way."
            ),
            Language::Japanese => format!(
                "同じ {name} の呼び出しを繰り返さず、条件を先に確かめ、できない理由と別の方法をユーザーに伝える。"
            ),
        }
    }

    fn rationale(&self, mended: bool) -> String {
        match (self.language, mended) {
            (Language::English, true) => "The call failed and worked after this change.".to_owned(),
            (Language::English, false) => "The call failed and nothing that was tried mended it.".to_owned(),
            (Language::Japanese, true) => "一度失敗し、この変更のあとで成功したため。".to_owned(),
            (Language::Japanese, false) => "失敗し、そのあとも解決しなかったため。".to_owned(),
        }
    }
}

/// Whether a turn holds a tool call that failed.
pub(crate) fn has_failure(turn: &Turn<'_>) -> bool {
    turn.tools.iter().any(|call| error_of(call).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(name: &'a str, status: &'a str, input: &'a str, output: &'a str) -> ToolCallView<'a> {
        ToolCallView { name, status, input: input.into(), output: output.into() }
    }

    fn learn(calls: Vec<ToolCallView<'_>>) -> Vec<PlaybookDraft> {
        let turn = Turn { id: 1, label: "t1", role: "assistant", content: "", tools: calls, created_at: 0 };
        playbooks(&[turn], Language::English)
    }

    #[test]
    fn a_retry_that_worked_tells_what_was_changed() {
        let found = learn(vec![
            call(
                "create_invoice",
                "",
                r#"{"currency":"usd","total":5}"#,
                "Error: unknown currency usd, use ISO codes",
            ),
            call("list_currencies", "", "{}", "[]"),
            call("create_invoice", "", r#"{"currency":"USD","total":5}"#, "{\"id\": 7}"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].trigger, "When create_invoice fails with “unknown currency usd”");
        assert_eq!(
            found[0].content,
            "Call list_currencies first, then correct currency and call create_invoice again; that worked."
        );
        assert_eq!(found[0].evidence_kind, VerifiedSuccess);
        assert_eq!(found[0].source_span, "unknown currency usd");
    }

    #[test]
    fn another_tool_that_worked_replaces_the_failed_one() {
        let found = learn(vec![
            call("send_mail_smtp", "timeout", "{}", ""),
            call("send_mail_api", "success", "{}", "sent"),
        ]);
        assert_eq!(found[0].content, "Use send_mail_api instead of send_mail_smtp; that worked.");
    }

    #[test]
    fn what_stays_broken_names_what_stands_in_the_way() {
        for (output, kind) in [
            ("Error: permission denied for role guest", Some(PermissionDenied)),
            ("Error: unknown tool", Some(MissingTool)),
            (r#"{"error": "connection timed out"}"#, Some(ExternalDependency)),
            (r#"{"success": false, "message": "voucher cannot be used here"}"#, Some(PolicyRestriction)),
            ("Error: the date is wrong", None),
        ] {
            let found = learn(vec![call("do_it", "", "{}", output)]);
            assert_eq!(found[0].evidence_kind, ObservedFailure, "{output}");
            assert_eq!(found[0].blocking_issue.as_ref().map(|(kind, _)| *kind), kind, "{output}");
        }
    }

    #[test]
    fn successes_teach_nothing() {
        let found = learn(vec![
            call("a", "success", "{}", "Error handling guide"),
            call("b", "", "{}", r#"{"error": null, "rows": 3}"#),
            call("c", "", "{}", "3 errors fixed"),
        ]);
        assert_eq!(found, []);
    }
}
