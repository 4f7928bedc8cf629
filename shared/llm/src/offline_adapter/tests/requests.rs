//! Which tool is called, what is refused, and what an answer costs.

use super::*;

#[tokio::test]
async fn the_tool_is_the_forced_one_or_the_only_one_or_the_one_that_finishes() {
    let tool =
        |name: &str| ToolSpec { name: name.to_owned(), description: String::new(), parameters: json!({}) };
    let forced = |name: &str| ToolChoice::Tool(name.to_owned());
    for (tools, choice, expected) in [
        (vec!["a", "b"], forced("b"), Ok(Some("b"))),
        (vec!["a"], ToolChoice::Required, Ok(Some("a"))),
        (vec!["search", FINISH_TOOL], ToolChoice::Auto, Ok(Some(FINISH_TOOL))),
        (vec![], ToolChoice::Auto, Ok(None)),
        (vec!["a"], ToolChoice::None, Ok(None)),
        (vec!["a", "b"], ToolChoice::Required, Err(())),
        (vec!["a"], forced("b"), Err(())),
    ] {
        let tools = tools.into_iter().map(tool).collect();
        let request = ChatRequest { tools, tool_choice: choice, ..request("profile_update_main", FACTS) };
        assert_eq!(finishing_tool(&request).map_err(|_| ()), expected, "{:?}", request.tool_choice);
    }
}

#[tokio::test]
async fn an_unknown_prompt_is_refused_by_name() {
    let error = OfflineChat::new().chat(&request("unheard_of", FACTS)).await.unwrap_err();
    assert!(matches!(&error, ChatError::BadRequest { detail } if detail.contains("unheard_of")), "{error:?}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_prompt_that_cannot_be_read_is_refused_and_never_answered_with_nothing() {
    let cut = FACTS.replace("[t4] Assistant: ```", "[t4] Assistant: ");
    let rows = include_str!("../fixtures/deduplication.txt").replace("| TTL: one_day", "| TTL: one_hour");
    for (purpose, prompt, words) in [
        ("profile_update_main", "no block", "holds no block conversation"),
        ("profile_update_main", cut.as_str(), "line 11 of the block conversation"),
        ("playbook_extraction_main_expert", RULES, "holds no block comparisons"),
        ("profile_deduplication", rows.as_str(), "row 0 of the block new_profiles"),
        ("playbook_consolidation", RULES, "holds no block new_playbooks"),
        ("profile_should_generate", "<conversation>\nI like figs\n</conversation>", "line 1"),
    ] {
        let error = OfflineChat::new().chat(&extraction(purpose, prompt)).await.unwrap_err();
        assert!(matches!(error, ChatError::BadRequest { .. }) && error.detail().contains(words), "{error:?}");
        assert!(!error.detail().contains("figs"));
    }
}

#[tokio::test]
async fn usage_is_estimated_from_all_that_was_read_and_written() {
    let gate = include_str!("../fixtures/facts_gate.txt");
    let answer = ask(&ChatRequest::new("profile_should_generate", vec![Message::user(gate)])).await;
    let input_tokens = gate.chars().count().div_ceil(4) as u64;
    assert_eq!(answer.usage, Usage { input_tokens, output_tokens: 1, cached_tokens: 0 });
    for (chars, expected) in [(0, 0), (3, 1), (4, 1), (5, 2)] {
        assert_eq!(tokens(chars), expected);
    }
}

#[test]
fn the_model_says_what_it_is() {
    assert_eq!((OfflineChat::new().provider(), OfflineChat::new().model_name()), ("offline", "offline"));
}
