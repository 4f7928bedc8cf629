//! Whether a window is worth a model's extraction at all.

use domain::entities::Interaction;

/// Beginnings of user turns that are prompts of an extractor, published by mistake.
const EXTRACTOR_PROMPTS: [&str; 4] =
    ["you are a detector", "you are an user signal", "you are a signal detection", "you are an extractor"];

/// What is known before any model is asked.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// Whether the run follows the stream, as opposed to a manual run or a rerun.
    pub auto_run: bool,
    /// Whether a request asked for learning without further questions.
    pub force_extraction: bool,
    /// Whether the configuration leaves the gate out.
    pub skip_should_run_check: bool,
    /// The interactions of the window.
    pub interactions: &'a [&'a Interaction],
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateDecision {
    /// Extract.
    Run,
    /// Nothing to learn; the cursor advances.
    Skip(SkipReason),
    /// Ask a model, and read its answer with [`parse_gate_answer`].
    AskModel,
}

/// Why a window is not worth asking about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// There is nothing in it.
    NoInteractions,
    /// A user turn is a prompt of an extractor.
    ExtractorPromptEcho,
    /// The user only gave slash commands.
    AllSlashCommands,
}

impl SkipReason {
    /// The outcome in logs and receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoInteractions => "skip_no_interactions",
            Self::ExtractorPromptEcho => "skip_cheap_extractor_prompt_echo",
            Self::AllSlashCommands => "skip_cheap_all_slash_commands",
        }
    }
}

/// Decides without a model where that is possible.
#[must_use]
pub fn decide(input: &GateInput<'_>) -> GateDecision {
    if !input.auto_run || input.force_extraction || input.skip_should_run_check {
        return GateDecision::Run;
    }
    if input.interactions.is_empty() {
        return GateDecision::Skip(SkipReason::NoInteractions);
    }
    match cheap_rejection(input.interactions) {
        Some(reason) => GateDecision::Skip(reason),
        None => GateDecision::AskModel,
    }
}

/// Rejects what no model need see. Short turns are not rejected: "no, use euros" is worth learning; and neither are
/// windows without a turn of the user, which may hold a tool failure.
#[must_use]
pub fn cheap_rejection(interactions: &[&Interaction]) -> Option<SkipReason> {
    let user_texts: Vec<&str> =
        interactions.iter().filter(|turn| turn.is_by_user()).map(|turn| turn.content.trim()).collect();
    let echoes = |text: &&str| {
        let lower = text.to_lowercase();
        EXTRACTOR_PROMPTS.iter().any(|prompt| lower.starts_with(prompt))
    };
    if user_texts.iter().any(echoes) {
        return Some(SkipReason::ExtractorPromptEcho);
    }
    let all_commands = !user_texts.is_empty() && user_texts.iter().all(|text| is_slash_command(text));
    all_commands.then_some(SkipReason::AllSlashCommands)
}

/// A slash, a word, and nothing behind it.
fn is_slash_command(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
    text.strip_prefix('/').is_some_and(|word| !word.is_empty() && word.chars().all(allowed))
}

/// Reads the model's answer: exactly `true` or `false`, in any case, with white space around it. `None` is anything
/// else: the caller asks once more, and then extracts.
#[must_use]
pub fn parse_gate_answer(answer: &str) -> Option<bool> {
    match answer.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Which sources of interactions a run reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFilter {
    /// All.
    Any,
    /// These.
    Only(Vec<String>),
    /// The extractor takes no part.
    Skip,
}

/// The sources that a run reads which was triggered by a request of `trigger_source`, or by none.
#[must_use]
pub fn source_filter(
    request_sources_enabled: Option<&[String]>,
    trigger_source: Option<&str>,
) -> SourceFilter {
    match (request_sources_enabled, trigger_source) {
        (None | Some([]), _) => SourceFilter::Any,
        (Some(enabled), None) => SourceFilter::Only(enabled.to_vec()),
        (Some(enabled), Some(source)) if enabled.iter().any(|allowed| allowed == source) => {
            SourceFilter::Only(vec![source.to_owned()])
        }
        (Some(_), Some(_)) => SourceFilter::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &str, content: &str) -> Interaction {
        Interaction { role: role.into(), content: content.into(), ..Interaction::default() }
    }

    fn decide_on(turns: &[Interaction]) -> GateDecision {
        let interactions: Vec<&Interaction> = turns.iter().collect();
        decide(&GateInput {
            auto_run: true,
            force_extraction: false,
            skip_should_run_check: false,
            interactions: &interactions,
        })
    }

    #[test]
    fn manual_forced_and_unchecked_runs_ask_nobody() {
        for (auto_run, force_extraction, skip_should_run_check) in
            [(false, false, false), (true, true, false), (true, false, true)]
        {
            let input = GateInput { auto_run, force_extraction, skip_should_run_check, interactions: &[] };
            assert_eq!(decide(&input), GateDecision::Run);
        }
    }

    #[test]
    fn a_window_is_skipped_only_for_the_cheap_reasons() {
        let cases = [
            (vec![], GateDecision::Skip(SkipReason::NoInteractions)),
            (vec![said("User", "no, use euros")], GateDecision::AskModel),
            (vec![said("Assistant", "done")], GateDecision::AskModel),
            (
                vec![said("user", " You are an EXTRACTOR of facts"), said("User", "hi")],
                GateDecision::Skip(SkipReason::ExtractorPromptEcho),
            ),
            (vec![said("Assistant", "You are an extractor")], GateDecision::AskModel),
            (
                vec![said("User", "/clear "), said("Assistant", "ok"), said("User", "/mcp:run-it")],
                GateDecision::Skip(SkipReason::AllSlashCommands),
            ),
            (vec![said("User", "/clear"), said("User", "/remind me")], GateDecision::AskModel),
            (vec![said("User", "/")], GateDecision::AskModel),
            (vec![said("User", "/über")], GateDecision::AskModel),
        ];
        for (turns, expected) in cases {
            assert_eq!(decide_on(&turns), expected, "{turns:?}");
        }
    }

    #[test]
    fn only_an_exact_answer_counts() {
        for (answer, read) in [
            ("true", Some(true)),
            (" False\n", Some(false)),
            ("TRUE", Some(true)),
            ("not true", None),
            ("untrue", None),
            ("true.", None),
            ("", None),
        ] {
            assert_eq!(parse_gate_answer(answer), read, "{answer:?}");
        }
    }

    #[test]
    fn a_run_reads_the_source_that_triggered_it() {
        let enabled = ["web".to_owned(), "app".to_owned()];
        assert_eq!(source_filter(None, Some("mail")), SourceFilter::Any);
        assert_eq!(source_filter(Some(&enabled), None), SourceFilter::Only(enabled.to_vec()));
        assert_eq!(source_filter(Some(&enabled), Some("app")), SourceFilter::Only(vec!["app".into()]));
        assert_eq!(source_filter(Some(&enabled), Some("mail")), SourceFilter::Skip);
    }
}
