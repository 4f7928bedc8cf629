use proptest::prelude::*;

use super::*;

/// Leaves as text: `word`, `word*` for a prefix, `"a b"` for a phrase; stems where stemming changes something.
fn leaves(query: &str) -> Vec<String> {
    ParsedQuery::parse(query).leaves.iter().map(written).collect()
}

fn written(leaf: &Leaf) -> String {
    match leaf {
        Leaf::Term { term, prefix } => format!("{}{}", term.stem, if *prefix { "*" } else { "" }),
        Leaf::Phrase(terms) => {
            let words: Vec<&str> = terms.iter().map(|term| term.stem.as_str()).collect();
            format!("\"{}\"", words.join(" "))
        }
    }
}

fn rule(query: &str) -> String {
    let parsed = ParsedQuery::parse(query);
    match &parsed.rule {
        Rule::Nothing => "nothing".into(),
        Rule::Any => "any".into(),
        Rule::Expression(expression) => shown(expression, &parsed.leaves),
    }
}

fn shown(expression: &Expression, leaves: &[Leaf]) -> String {
    let all = |parts: &[Expression], sign: &str| {
        parts.iter().map(|part| shown(part, leaves)).collect::<Vec<_>>().join(sign)
    };
    match expression {
        Expression::Leaf(at) => written(&leaves[*at]),
        Expression::And(parts) => format!("({})", all(parts, " & ")),
        Expression::Or(parts) => format!("({})", all(parts, " | ")),
        Expression::Not(wanted, unwanted) => {
            format!("({} - {})", shown(wanted, leaves), shown(unwanted, leaves))
        }
    }
}

#[test]
fn the_last_word_of_a_plain_query_is_a_prefix() {
    assert_eq!(leaves("window seats"), ["window", "seat*"]);
    assert_eq!(leaves("user_id"), ["user_id*", "user", "id*"]);
    assert_eq!(rule("window seats"), "any");
}

#[test]
fn stop_words_are_dropped_when_other_words_remain() {
    assert_eq!(leaves("what is the seat of the user?"), ["seat", "user*"]);
    assert_eq!(leaves("to be or not to be"), ["to", "be*", "or", "not"]);
    assert!(ParsedQuery::parse("to be or not to be").stop_words_only);
    assert!(!ParsedQuery::parse("to be a pilot").stop_words_only);
}

#[test]
fn phrases_keep_their_stop_words() {
    assert_eq!(leaves("hotels \"near the beach\""), ["hotel", "\"near the beach\""]);
    assert_eq!(leaves("“near the beach”"), ["\"near the beach\""]);
    assert_eq!(leaves("\"beach\""), ["beach"]);
}

#[test]
fn single_characters_of_an_identifier_are_no_terms_of_their_own() {
    assert_eq!(leaves("v1.2.3 works"), ["v1.2.3", "v1", "work*"]);
}

#[test]
fn operators_in_capitals_are_honoured() {
    assert_eq!(rule("hotel AND beach"), "(hotel & beach*)");
    assert_eq!(rule("hotel OR beach city"), "(hotel | (beach & citi*))");
    assert_eq!(rule("hotel NOT beach"), "(hotel - beach*)");
    assert_eq!(rule("hotel AND NOT beach"), "(hotel - beach*)");
    assert_eq!(rule("(a1 OR b1) AND \"c d\""), "((a1 | b1) & \"c d\")");
    assert_eq!(rule("hotel and beach"), "any");
    assert_eq!(rule("user_id AND 東京都"), "(\"user id\" & \"東京 京都\")");
}

#[test]
fn near_is_dropped() {
    assert_eq!(leaves("hotel NEAR beach"), ["hotel", "beach*"]);
    assert_eq!(rule("hotel NEAR/5 beach AND sea"), "(hotel & beach & sea*)");
}

#[test]
fn a_query_that_cannot_be_parsed_finds_nothing() {
    for query in [
        "AND",
        "hotel AND",
        "OR hotel",
        "NOT hotel",
        "hotel AND OR beach",
        "(hotel AND beach",
        "hotel) AND beach",
        "() AND x",
        "\"hotel AND beach",
        "hotel AND \"near",
        "",
        "  ",
        "?!",
        "\"\"",
    ] {
        assert_eq!(rule(query), "nothing", "{query:?}");
    }
}

#[test]
fn an_unclosed_quote_in_a_plain_query_is_punctuation() {
    assert_eq!(leaves("a 27\" monitor"), ["27", "monitor*"]);
    assert_eq!(leaves("(hotel"), ["hotel*"]);
}

#[test]
fn a_plain_query_stops_at_the_most_terms_and_a_boolean_one_is_refused() {
    for (count, kept) in [
        (MAX_QUERY_TERMS - 1, MAX_QUERY_TERMS - 1),
        (MAX_QUERY_TERMS, MAX_QUERY_TERMS),
        (MAX_QUERY_TERMS + 1, MAX_QUERY_TERMS),
    ] {
        let words: Vec<String> = (0..count).map(|n| format!("w{n}")).collect();
        assert_eq!(leaves(&words.join(" ")).len(), kept);
        assert_eq!(rule(&words.join(" OR ")) == "nothing", count > MAX_QUERY_TERMS);
    }
}

#[test]
fn brackets_nest_to_the_limit() {
    for (depth, parsed) in [(MAX_NESTING - 1, true), (MAX_NESTING, true), (MAX_NESTING + 1, false)] {
        let query = format!("{}a1 OR b1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(rule(&query) != "nothing", parsed, "{depth}");
    }
}

proptest! {
    #[test]
    fn any_query_is_read(query in "\\PC{0,60}|([a-c\"() ]|AND |OR |NOT |NEAR |東京){0,30}") {
        let parsed = ParsedQuery::parse(&query);
        prop_assert!(parsed.leaves.len() <= MAX_QUERY_TERMS);
        prop_assert_eq!(parsed.leaves.is_empty(), parsed.rule == Rule::Nothing);
    }
}
