use proptest::prelude::*;

use super::*;

fn index(texts: &[&str]) -> LexicalIndex {
    let documents: Vec<Vec<(String, f32)>> =
        texts.iter().map(|text| vec![((*text).to_owned(), 1.0)]).collect();
    LexicalIndex::build(documents.iter().map(Vec::as_slice))
}

fn found(index: &LexicalIndex, query: &str) -> Vec<usize> {
    index.search(&ParsedQuery::parse(query)).iter().map(|found| found.document).collect()
}

fn worthy(index: &LexicalIndex, query: &str) -> Vec<usize> {
    let matches = index.search(&ParsedQuery::parse(query));
    matches.iter().filter(|found| found.worthy).map(|found| found.document).collect()
}

fn share(index: &LexicalIndex, query: &str, document: usize) -> f32 {
    let matches = index.search(&ParsedQuery::parse(query));
    matches.iter().find(|found| found.document == document).map_or(0.0, |found| found.share)
}

#[test]
fn the_score_is_bm25_over_its_ideal() {
    let index = index(&["red apple", "green pear tree in bloom", "apple apple pie"]);
    // "apple" in 2 of (at least) 10 documents cancels out: lengths 2, 5, 3; average 10/3.
    let expected =
        |frequency: f32, length: f32| frequency / (frequency + 1.2 * (0.25 + 0.75 * length / (10.0 / 3.0)));
    assert!((share(&index, "apple", 0) - expected(1.0, 2.0)).abs() < 1e-6);
    assert!((share(&index, "apple", 2) - expected(2.0, 3.0)).abs() < 1e-6);
    assert_eq!(share(&index, "apple", 1), 0.0);
}

#[test]
fn a_weighted_field_counts_for_more_at_the_same_length() {
    let documents: [Vec<(String, f32)>; 2] = [
        vec![("clicked book".into(), 1.0), ("opened page".into(), 2.0)],
        vec![("opened page".into(), 1.0), ("clicked book".into(), 2.0)],
    ];
    let index = LexicalIndex::build(documents.iter().map(Vec::as_slice));
    assert!(share(&index, "book", 1) > share(&index, "book", 0));
}

#[test]
fn fields_without_a_positive_weight_are_left_out() {
    let documents = [vec![("alpha".to_owned(), 0.0), ("beta".into(), f32::NAN), ("gamma".into(), 1.0)]];
    let index = LexicalIndex::build(documents.iter().map(Vec::as_slice));
    assert_eq!(found(&index, "alpha beta"), [] as [usize; 0]);
    assert_eq!(found(&index, "gamma"), [0]);
}

#[test]
fn the_last_word_finds_longer_ones_and_stemming_does_not_stand_in_the_way() {
    let index = index(&["Vegetarian and vegan meals", "goes running", "a runway"]);
    assert_eq!(found(&index, "vege"), [0]);
    assert_eq!(found(&index, "runni"), [1]);
    assert_eq!(found(&index, "ru"), [1, 2]);
    assert_eq!(found(&index, "vege meals"), [0]);
    assert_eq!(found(&index, "r"), [] as [usize; 0]);
}

#[test]
fn a_longer_word_is_not_worth_showing_when_the_word_itself_is_known() {
    let index = index(&["bought a car", "bought a carpet"]);
    assert_eq!(found(&index, "car"), [0, 1]);
    assert_eq!(worthy(&index, "car"), [0]);
    assert_eq!(worthy(&index, "carp"), [1]);
}

#[test]
fn phrases_must_stand_as_they_are_and_inside_one_field() {
    let documents: [Vec<(String, f32)>; 3] = [
        vec![("hotels near the beach".into(), 1.0)],
        vec![("the beach is near".into(), 1.0)],
        vec![("hotels near".into(), 1.0), ("the beach".into(), 1.0)],
    ];
    let index = LexicalIndex::build(documents.iter().map(Vec::as_slice));
    assert_eq!(found(&index, "\"near the beach\""), [0]);
    assert_eq!(found(&index, "\"beach near\""), [] as [usize; 0]);
    assert_eq!(found(&index, "\"the beach\""), [0, 1, 2]);
}

#[test]
fn boolean_queries_decide_what_matches() {
    let index = index(&["hotel by the beach", "hotel in town", "beach towel"]);
    assert_eq!(found(&index, "hotel AND beach"), [0]);
    assert_eq!(found(&index, "hotel OR towel"), [0, 1, 2]);
    assert_eq!(found(&index, "hotel NOT beach"), [1]);
    assert_eq!(found(&index, "(hotel OR towel) AND beach"), [0, 2]);
    assert_eq!(found(&index, "hotel AND"), [] as [usize; 0]);
    assert_eq!(worthy(&index, "hotel OR zebra OR giraffe OR lion OR ape OR gnu"), [0, 1]);
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let index =
        index(&["saw ERR_TIMEOUT-42 today", "saw ERR_TIMEOUT-43 today", "user_id is 7", "v1.2.3 and v1.2.4"]);
    assert!(share(&index, "ERR_TIMEOUT-42", 0) > 1.5 * share(&index, "ERR_TIMEOUT-42", 1));
    assert_eq!(found(&index, "timeout"), [0, 1]);
    assert_eq!(found(&index, "user-id"), [2]);
    assert_eq!(found(&index, "v1.2.3"), [3]);
    assert_eq!(found(&index, "ERR_TIMEOUT-42 AND saw"), [0]);
}

#[test]
fn a_stray_word_of_a_longer_question_is_not_worth_showing() {
    let index =
        index(&["Prefers window seats on flights", "Vegetarian and vegan meals", "Asks for window blinds"]);
    assert_eq!(worthy(&index, "bullet points"), [] as [usize; 0]);
    let question = "which deployment target, compiler window, linker flags and symbols were chosen";
    assert_eq!(found(&index, question), [0, 2]);
    assert_eq!(worthy(&index, question), [] as [usize; 0]);
    assert_eq!(worthy(&index, "seats near window"), [0, 2]);
}

#[test]
fn one_of_two_words_is_worth_showing_unless_it_is_everywhere() {
    let texts =
        ["Answer with numbered points", "Keep answers below five lines", "Offer a follow-up question"];
    assert_eq!(worthy(&index(&texts), "bullet points"), [0]);
    let everywhere = ["user asks a", "user asks b", "user asks c", "user asks d", "user asks e"];
    assert_eq!(found(&index(&everywhere), "user timezone").len(), 5);
    assert_eq!(worthy(&index(&everywhere), "user timezone"), [] as [usize; 0]);
}

#[test]
fn stop_words_alone_are_worth_showing_only_all_together() {
    let index = index(&["who are you", "what you want", "are we there"]);
    assert_eq!(worthy(&index, "who are you"), [0]);
    assert_eq!(found(&index, "who are you"), [0, 1, 2]);
}

#[test]
fn a_single_han_character_is_found_inside_words() {
    let index = index(&["我喜欢喝绿茶", "她喜欢咖啡", "茶"]);
    assert_eq!(found(&index, "茶"), [0, 2]);
    assert_eq!(worthy(&index, "茶"), [0, 2]);
    assert!(share(&index, "茶", 2) > share(&index, "茶", 0));
}

#[test]
fn an_empty_index_answers_with_nothing() {
    let empty = index(&[]);
    assert_eq!(found(&empty, "anything AND \"at all\""), [] as [usize; 0]);
    assert_eq!(found(&index(&["", "…"]), "anything"), [] as [usize; 0]);
}

proptest! {
    #[test]
    fn the_share_lies_between_0_and_1(
        texts in proptest::collection::vec("([a-e]{1,2} ){0,12}|[东京塔茶]{0,6}", 0..12),
        query in "([a-e\"]{1,3} ?|AND |OR |NOT |东京|茶){0,8}",
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let index = index(&texts);
        let mut last = None;
        for found in index.search(&ParsedQuery::parse(&query)) {
            prop_assert!(found.share > 0.0 && found.share <= 1.0, "{}", found.share);
            prop_assert!(last < Some(found.document));
            last = Some(found.document);
        }
    }

    #[test]
    fn two_neighbouring_characters_of_a_text_without_spaces_find_it(text in "[一-丟あ-んア-ン가-갛]{2,12}", at in 0usize..11) {
        let characters: Vec<char> = text.chars().collect();
        let at = at.min(characters.len() - 2);
        let word: String = characters[at..at + 2].iter().collect();
        let index = index(&["something else", &text, "别的东西"]);
        prop_assert!(found(&index, &word).contains(&1));
        prop_assert!(worthy(&index, &word).contains(&1));
    }

    #[test]
    fn the_beginning_of_a_word_finds_it(word in "[a-z]{3,10}", length in 2usize..10, before in "[a-z]{0,5}") {
        let index = index(&["unrelated entry", &word]);
        let prefix = &word[..length.min(word.len())];
        let rows = found(&index, &[&before, " ", prefix].concat());
        prop_assert!(rows.contains(&1) || crate::tokenize::is_stop_word(prefix));
    }
}
