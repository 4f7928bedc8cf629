use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn the_usual_slips_are_mended() {
    for (text, value) in [
        ("{'a': 'b', 'c': True, 'd': None,}", json!({"a": "b", "c": true, "d": null})),
        ("{a: 1, b_c: [1, 2,], \"d\": -0.5}", json!({"a": 1, "b_c": [1, 2], "d": -0.5})),
        ("{\"a\": 1 \"b\": 2}", json!(null)),
        ("{\"a\": 1\n \"b\": 2}", json!({"a": 1, "b": 2})),
        ("{\"a\": \"x\"\n \"b\": \"y\"}", json!({"a": "x", "b": "y"})),
        ("[\"a\"\n\"b\"]", json!(["a", "b"])),
        ("{\"a\": \"one\ntwo\u{1}\"}", json!({"a": "one\ntwo\u{1}"})),
        ("{\"a\": \"say \"hi\" now\"}", json!({"a": "say \"hi\" now"})),
        ("{\"a\": \"say \"hi\", then go\", \"b\": 1}", json!({"a": "say \"hi\", then go", "b": 1})),
        ("{\"a\": \"5\" tall\"}", json!({"a": "5\" tall"})),
        ("{'a': 'it's fine'}", json!({"a": "it's fine"})),
        ("{\"a\": \"C:\\Users\"}", json!({"a": "C:\\Users"})),
        ("{\"a\": \"\\ud83d\\ude00 \\ud83d x\"}", json!({"a": "😀 \u{fffd} x"})),
        ("{// why\n\"a\": 1, # so\n/* x */ \"b\": 2 // end\n}", json!({"a": 1, "b": 2})),
        ("{“a”: “b”}", json!({"a": "b"})),
        ("{\"a\": hello world}", json!({"a": "hello world"})),
        ("{\"n\": [007, .5, 1., +3, NaN]}", json!({"n": [7, 0.5, 1, 3, null]})),
        ("{\"a\": 1} and so on", json!({"a": 1})),
    ] {
        assert_eq!(repair(text).unwrap_or_default(), value, "{text}");
    }
}

#[test]
fn what_ends_too_early_or_leaves_something_out_is_not_mended() {
    for text in [
        "{\"a\": 1",
        "{\"a\": \"x",
        "[1, 2",
        "{\"a\": [1}",
        "{\"a\"}",
        "{name}",
        "[1, ...]",
        "[\"\">",
        "",
        "x",
        "{\"a\":",
    ] {
        assert_eq!(repair(text), None, "{text}");
    }
}

#[test]
fn nesting_is_read_to_its_limit() {
    for (depth, ok) in [(DEPTH_MAX - 1, true), (DEPTH_MAX, true), (DEPTH_MAX + 1, false)] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(repair(&text).is_some(), ok, "{depth}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z ,.:{}\\[\\]äß漢😀\\n\\t\\\\/]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z ]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn good_json_reads_as_itself(value in any_json()) {
        let value = json!({"v": value});
        prop_assert_eq!(repair(&value.to_string()), Some(value.clone()));
        prop_assert_eq!(repair(&serde_json::to_string_pretty(&value).unwrap()), Some(value));
    }

    #[test]
    fn no_beginning_of_good_json_is_made_whole(value in any_json(), cut in 0.0f64..1.0) {
        let text = json!({"v": [value]}).to_string();
        let end = (text.chars().count() as f64 * cut) as usize;
        let part: String = text.chars().take(end).collect();
        prop_assert_eq!(repair(&part), None);
    }

    #[test]
    fn any_text_ends(text in "[\\[\\]{}\"'\\\\:,`<>/*#a0. \n]{0,200}") {
        let _value = repair(&text);
    }
}
