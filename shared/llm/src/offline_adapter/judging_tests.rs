use serde_json::{Value, json};

use super::*;
use crate::types::{ChatRequest, Message};

fn session(turns: &[(&str, &str)]) -> Value {
    let lines: Vec<String> = turns.iter().map(|(role, text)| format!("{role}: ```{text}```")).collect();
    let text = format!(
        "Judge.\n<conversation>\n=== Session: s (date: 2025-06-15) ===\n{}\n</conversation>\nGo.",
        lines.join("\n")
    );
    judge_session(&Prompt::of(&ChatRequest::new("x", vec![Message::user(text)]))).unwrap()
}

/// Turns, and of the verdict on them: success, failure type, corrections, escalation.
type Row<'a> = (&'a [(&'a str, &'a str)], bool, Value, u64, bool);

#[test]
fn a_session_is_judged_by_its_last_word() {
    let table: [Row<'_>; 9] = [
        (&[("User", "Which tea?"), ("Assistant", "Green tea.")], true, Value::Null, 0, false),
        (
            &[
                ("User", "Which tea?"),
                ("Assistant", "Coffee."),
                ("User", "No, tea!"),
                ("Assistant", "Green tea."),
            ],
            true,
            Value::Null,
            1,
            false,
        ),
        (
            &[("User", "Which tea?"), ("Assistant", "Coffee."), ("User", "No, I want tea")],
            false,
            json!("wrong_answer"),
            1,
            false,
        ),
        (&[("User", "No, wait. Which tea?"), ("Assistant", "Green tea.")], true, Value::Null, 0, false),
        (
            &[("User", "Book it"), ("Assistant", "I'm unable to book that.")],
            false,
            json!("wrong_answer"),
            0,
            false,
        ),
        (
            &[("User", "Book it"), ("Assistant", "[used tool: book({}), status: error] Sorry.")],
            false,
            json!("system_error"),
            0,
            false,
        ),
        (
            &[
                ("User", "Book it"),
                ("Assistant", "[used tool: book({}), status: error] Again."),
                ("Assistant", "[used tool: book({})] Booked."),
            ],
            true,
            Value::Null,
            0,
            false,
        ),
        (
            &[("User", "Book it"), ("Assistant", "The service is unavailable.")],
            false,
            json!("system_error"),
            0,
            false,
        ),
        (&[("User", "I want to talk to a human"), ("Assistant", "Of course.")], true, Value::Null, 0, true),
    ];
    for (turns, is_success, failure_type, corrections, is_escalated) in table {
        let verdict = session(turns);
        assert_eq!(verdict["is_success"], is_success, "{turns:?}");
        assert_eq!(verdict["failure_type"], failure_type, "{turns:?}");
        assert_eq!(verdict["failure_reason"].is_null(), is_success, "{turns:?}");
        assert_eq!(verdict["number_of_correction_per_session"], corrections, "{turns:?}");
        assert_eq!(verdict["is_escalated"], is_escalated, "{turns:?}");
    }
}

#[test]
fn a_session_that_cannot_be_read_is_refused() {
    let prompt = Prompt::of(&ChatRequest::new("x", vec![Message::user("<conversation>\n\n</conversation>")]));
    assert!(judge_session(&prompt).is_err());
}

fn learned(content: &str, answer: &str, reaction: &str) -> (Value, Value) {
    let learnings = json!([{
        "learning_ref": "2:user_playbook:1", "target_interaction_id": 2, "kind": "user_playbook", "title": "",
        "content": content, "trigger": null,
    }]);
    let text = format!(
        "Judge.\n<conversation>\n[interaction_id=1] User: Which tea?\n[interaction_id=2] Assistant: {answer}\n\
         [interaction_id=3] User: {reaction}\n</conversation>\n<learnings>\n{learnings:#}\n</learnings>\nGo."
    );
    let prompt = Prompt::of(&ChatRequest::new("x", vec![Message::user(text)]));
    (
        judge_relevance(&prompt).unwrap()["verdicts"][0].clone(),
        judge_impact(&prompt).unwrap()["verdicts"][0].clone(),
    )
}

#[test]
fn a_learning_is_relevant_by_a_word_that_it_shares_and_neutral_unless_it_was_rejected() {
    let table = [
        ("Offer teas first", "Green tea.", "Thanks", true, "neutral"),
        ("Offer green tea", "Green tea.", "No, that's not it", true, "negative"),
        ("Always ask the user", "Green tea.", "No, that's not it", false, "neutral"),
        ("Write short commits", "Green tea.", "Thanks", false, "neutral"),
    ];
    for (content, answer, reaction, is_relevant, impact) in table {
        let (relevance, verdict) = learned(content, answer, reaction);
        assert_eq!(relevance["learning_ref"], "2:user_playbook:1");
        assert_eq!(relevance["is_relevant"], is_relevant, "{content}");
        assert_eq!(verdict["impact"], impact, "{content}");
        assert_eq!(verdict["diagnosis"]["category"], "unknown");
    }
}

#[test]
fn an_answer_that_owns_up_to_a_failure_loses_and_all_others_tie() {
    let table = [
        ("Green tea.", "Black tea.", "tie", false),
        ("I'm unable to do that.", "Black tea.", "2", true),
        ("Green tea.", "An internal error occurred.", "1", true),
        ("", "Black tea.", "2", true),
        ("I could not do it.", "I couldn't do it.", "tie", false),
    ];
    for (first, second, better, is_significant) in table {
        let text = format!(
            "<conversation>\n\n</conversation>\n<first_response>\n{first}\n</first_response>\n\
             <second_response>\n{second}\n</second_response>\nGo."
        );
        let prompt = Prompt::of(&ChatRequest::new("x", vec![Message::user(text)]));
        let verdict = compare_answers(&prompt).unwrap();
        assert_eq!(verdict["better_request"], better, "{first} {second}");
        assert_eq!(verdict["is_significantly_better"], is_significant, "{first} {second}");
    }
    assert!(compare_answers(&Prompt::of(&ChatRequest::new("x", Vec::new()))).is_err());
}
