use proptest::prelude::*;
use serde_json::json;

use super::*;

fn first(text: &str) -> Option<Value> {
    candidates(text).into_iter().next()
}

#[test]
fn thoughts_before_the_answer_are_left_out_and_tags_inside_the_answer_are_not() {
    assert_eq!(first("<think>maybe {\"a\": 0}?</think>\n{\"a\": 1}"), Some(json!({"a": 1})));
    assert_eq!(first("the user wants {\"a\": 0}</think>{\"a\": 1}"), Some(json!({"a": 1})));
    assert_eq!(first("<thinking>hm</thinking>{\"a\": 1}"), Some(json!({"a": 1})));
    assert_eq!(
        first("{\"a\": \"use <think>x</think> tags\"}"),
        Some(json!({"a": "use <think>x</think> tags"}))
    );
    assert_eq!(first("<think>never done {\"a\": 0}"), None);
}

#[test]
fn a_fence_around_the_json_is_left_out_and_one_inside_a_string_is_kept() {
    let text = "Here it is:\n```json\n{\"a\": \"run\\n```sh\\nls\\n```\\nthen go on {here}\"}\n```\nDone.";
    assert_eq!(first(text), Some(json!({"a": "run\n```sh\nls\n```\nthen go on {here}"})));
    assert_eq!(first("```\n[1, 2]\n```"), Some(json!([1, 2])));
}

#[test]
fn prose_with_brackets_does_not_hide_the_answer() {
    let text =
        "As in [1], for {name} I found:\n{\"profiles\": [{\"content\": \"likes tea\"}]}\nHope that helps :]";
    assert_eq!(first(text), Some(json!({"profiles": [{"content": "likes tea"}]})));
}

#[test]
fn what_is_almost_json_is_repaired() {
    for (text, value) in [
        ("{'a': 'it is', 'b': True, 'c': None,}", json!({"a": "it is", "b": true, "c": null})),
        ("{a: 1}", json!({"a": 1})),
        ("{\"a\": \"line one\nline two\t!\"}", json!({"a": "line one\nline two\t!"})),
        ("{\"a\": \"\u{1}\"}", json!({"a": "\u{1}"})),
        ("{\"a\": 1} // done", json!({"a": 1})),
        ("\u{feff}{\"a\": 1}", json!({"a": 1})),
    ] {
        assert_eq!(first(text), Some(value), "{text:?}");
    }
}

#[test]
fn a_cut_text_is_never_made_whole() {
    let whole = json!({"profiles": [{"content": "likes \"tea\"", "n": 1}, {"content": "b"}]}).to_string();
    for end in 1..whole.len() {
        let cut = &whole[..end];
        assert!(looks_cut(cut), "{cut}");
        assert_eq!(first(cut), None, "{cut}");
    }
}

#[test]
fn many_brackets_are_neither_slow_nor_deep() {
    let many = "[".repeat(200_000);
    assert_eq!(first(&many), None);
    assert_eq!(first(&"{\"a\":".repeat(50_000)), None);
    let nested = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(first(&nested), None);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,80}", cut in "[\\[\\]{}\"'\\\\:,`<>/a-z0-9 \n]{0,80}") {
        let _one = candidates(&text);
        let _two = candidates(&cut);
    }

    #[test]
    fn an_answer_survives_fences_and_prose_around_it(content in "\\PC{0,40}", before in "[A-Za-z ,.\n]{0,20}") {
        let value = json!({"content": content, "list": [content]});
        let fenced = format!("{before}\n```json\n{value}\n```\n");
        prop_assert_eq!(first(&fenced), Some(value));
    }
}
