//! Searches whose answers are known from a recorded conversation.

use crate::common::{hybrid, index_of, rows, text, with_vector};
use search::{Document, Fusion, MemoryIndex, RrfParameters, SearchMode, SearchQuery};

const TURNS: [&str; 22] = [
    "I prefer window seats and vegetarian meals on flights",
    "Noted, I will remember that.",
    "Always reply with bullet points and keep it short",
    "Understood.",
    "book it",
    "booked",
    "async message about hotels near the beach",
    "explicit request id",
    "finish me",
    "kept",
    "for evaluation",
    "ok",
    "x",
    "Great",
    "I like tea in the morning",
    "The meeting moved to Thursday at ten",
    "Please send the invoice to the accounting team",
    "My sister lives near the station",
    "Can you summarise the quarterly report?",
    "The export keeps failing with ERR_TIMEOUT-42",
    "I speak French and German",
    "Remind me about the dentist",
];

fn found<'a>(texts: &[&'a str], query: &str) -> Vec<&'a str> {
    // Every row has a vector that resembles no query, so that only words can find it.
    let documents = texts.iter().enumerate().map(|(at, words)| with_vector(at, words, &[1.0, 0.0])).collect();
    rows(&MemoryIndex::build(documents), &hybrid(query)).into_iter().map(|row| texts[row]).collect()
}

#[test]
fn hotels_beach_finds_the_one_turn_about_it() {
    assert_eq!(found(&TURNS, "hotels beach"), ["async message about hotels near the beach"]);
    assert_eq!(found(&TURNS, "vegetarian"), [TURNS[0]]);
    assert_eq!(found(&TURNS, "explicit"), ["explicit request id"]);
    assert_eq!(found(&TURNS, "ERR_TIMEOUT-42"), [TURNS[19]]);
}

#[test]
fn bullet_points_finds_no_unrelated_profile() {
    let profiles = [
        "Prefers window seats on flights",
        "Vegetarian and vegan meals",
        "User mentioned: x",
        "User mentioned: finish me",
        "User mentioned: Understood.",
    ];
    assert_eq!(found(&profiles, "bullet points"), [] as [&str; 0]);
    assert_eq!(found(&profiles, "aisle seats"), [profiles[0]]);
    assert_eq!(found(&profiles, "example reformulated query"), [] as [&str; 0]);
}

#[test]
fn one_word_of_two_finds_a_playbook() {
    let playbooks = [
        "When the user asks for a summary Answer with numbered points",
        "When the user is on mobile Keep answers below five lines",
        "export requested Ask for the missing export tool",
        "user says something like 'x' When user says something like 'x', improve on rules about agent performance",
    ];
    assert_eq!(found(&playbooks, "bullet points"), [playbooks[0]]);
    assert_eq!(found(&playbooks, "要点 points"), [playbooks[0]]);
    assert_eq!(found(&playbooks, "example reformulated query"), [] as [&str; 0]);
    assert_eq!(found(&["summary requested Summaries use bullet points"], "bullet summary").len(), 1);
}

#[test]
fn words_that_mean_the_same_are_found_by_their_vectors() {
    let index = MemoryIndex::build(vec![
        with_vector(0, "enjoys hiking in the Alps", &[1.0, 0.1]),
        with_vector(1, "allergic to peanuts", &[0.0, 1.0]),
    ]);
    let query = SearchQuery { vector: Some(&[1.0, 0.0]), ..hybrid("mountain holidays") };
    assert_eq!(rows(&index, &query), [0]);
}

#[test]
fn the_cosine_must_be_strictly_greater_than_the_threshold() {
    let index = MemoryIndex::build(vec![with_vector(0, "a", &[1.0, 0.0])]);
    let query = |threshold| SearchQuery {
        vector: Some(&[1.0, 0.0]),
        mode: SearchMode::Vector,
        threshold: Some(threshold),
        ..SearchQuery::default()
    };
    assert_eq!(rows(&index, &query(1.0)), [] as [usize; 0]);
    assert_eq!(rows(&index, &query(0.999)), [0]);
    assert_eq!(rows(&index, &query(-1.0)), [0]);
}

#[test]
fn a_row_without_a_vector_is_found_by_its_words() {
    let index = MemoryIndex::build(vec![text(0, "likes jazz"), with_vector(1, "likes tea", &[1.0, 0.0])]);
    let outcome = index.search(&hybrid("jazz"), |_| true);
    assert_eq!(outcome.hits.iter().map(|hit| (hit.index, hit.cosine)).collect::<Vec<_>>(), [(0, None)]);
    assert_eq!((outcome.effective_mode, outcome.degraded), (SearchMode::Hybrid, false));
}

#[test]
fn without_an_embedding_a_search_falls_back_to_words_and_says_so() {
    let index = index_of(&["likes jazz", "likes tea"]);
    for mode in [SearchMode::Vector, SearchMode::Hybrid] {
        for vector in [None, Some(&[0.0, 0.0][..]), Some(&[f32::NAN, 1.0][..]), Some(&[][..])] {
            let query = SearchQuery { text: Some("jazz"), vector, mode, ..SearchQuery::default() };
            let outcome = index.search(&query, |_| true);
            assert_eq!((outcome.effective_mode, outcome.degraded), (SearchMode::Fts, true));
            assert_eq!(outcome.hits.len(), 1);
        }
    }
    let asked = SearchQuery { text: Some("jazz"), mode: SearchMode::Fts, ..SearchQuery::default() };
    assert!(!index.search(&asked, |_| true).degraded);
}

#[test]
fn vectors_of_another_dimension_are_not_compared_and_degrade_the_search() {
    let mixed = MemoryIndex::build(vec![
        with_vector(0, "likes jazz", &[1.0, 0.0]),
        with_vector(1, "likes tea", &[1.0, 0.0, 0.0]),
    ]);
    let query = SearchQuery { vector: Some(&[1.0, 0.0]), ..hybrid("tea") };
    let outcome = mixed.search(&query, |_| true);
    assert_eq!((outcome.effective_mode, outcome.degraded, outcome.hits.len()), (SearchMode::Hybrid, true, 2));
    let only_foreign = mixed.search(&query, |row| row == 1);
    assert_eq!((only_foreign.effective_mode, only_foreign.degraded), (SearchMode::Fts, true));
    let only_own = mixed.search(&query, |row| row == 0);
    assert_eq!((only_own.effective_mode, only_own.degraded), (SearchMode::Hybrid, false));
}

#[test]
fn zero_vectors_never_match() {
    let index = MemoryIndex::build(vec![with_vector(0, "likes jazz", &[0.0, 0.0])]);
    let query = SearchQuery { threshold: Some(-1.0), vector: Some(&[1.0, 0.0]), ..hybrid("tea") };
    assert_eq!(rows(&index, &query), [] as [usize; 0]);
}

#[test]
fn hidden_rows_take_no_place_of_visible_ones() {
    let texts: Vec<String> = (0..50).map(|n| format!("likes jazz {}", "jazz ".repeat(50 - n))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let index = index_of(&texts);
    let query = SearchQuery { text: Some("jazz"), mode: SearchMode::Fts, limit: 2, ..SearchQuery::default() };
    let hits = index.search(&query, |row| row >= 45).hits;
    assert_eq!(hits.len(), 2);
    assert!(hits.iter().all(|hit| hit.index >= 45));
}

#[test]
fn equal_scores_are_ordered_newest_first_then_by_key() {
    let document = |key: &str, newest| Document {
        key: key.to_owned(),
        lexical: vec![("likes jazz".into(), 1.0)],
        vector: None,
        newest,
    };
    let index = MemoryIndex::build(vec![document("b", 1), document("c", 2), document("a", 1)]);
    let query = SearchQuery { text: Some("jazz"), mode: SearchMode::Fts, ..SearchQuery::default() };
    assert_eq!(rows(&index, &query), [1, 2, 0]);
}

#[test]
fn a_search_answers_up_to_its_limit() {
    let index = index_of(&["jazz", "jazz", "jazz"]);
    for (limit, answered) in [(0, 0), (2, 2), (3, 3), (4, 3)] {
        let query = SearchQuery { limit, mode: SearchMode::Fts, ..hybrid("jazz") };
        assert_eq!(rows(&index, &query).len(), answered);
    }
}

#[test]
fn rank_fusion_is_used_when_its_parameters_are_set() {
    let index = MemoryIndex::build(vec![
        with_vector(0, "jazz jazz", &[-1.0, 1.0]),
        with_vector(1, "jazz and more than that", &[1.0, 0.1]),
        with_vector(2, "swing", &[1.0, 0.5]),
    ]);
    let fusion = Fusion::Rrf(RrfParameters::default());
    let query = SearchQuery { vector: Some(&[1.0, 0.0]), fusion, ..hybrid("jazz") };
    let outcome = index.search(&query, |_| true);
    let scores: Vec<(usize, f32)> = outcome.hits.iter().map(|hit| (hit.index, hit.score)).collect();
    assert_eq!(scores.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [1, 0, 2]);
    for ((_, score), expected) in
        scores.iter().zip([1.0 / 62.0 + 1.0 / 61.0, 1.0 / 61.0 + 1.0 / 63.0, 1.0 / 63.0 + 1.0 / 62.0])
    {
        assert!((score - expected as f32).abs() < 1e-6);
    }
}

#[test]
fn an_index_says_how_much_memory_it_takes() {
    let small = index_of(&["likes jazz"]).memory_bytes();
    let large = index_of(&TURNS).memory_bytes();
    assert!(small > 0 && large > small);
    let vector = vec![1.0; 256];
    let heavy = MemoryIndex::build(vec![with_vector(0, "likes jazz", &vector)]).memory_bytes();
    assert!(heavy >= small + 256);
    let empty = MemoryIndex::<String>::build(Vec::new());
    assert!(empty.is_empty() && empty.search(&hybrid("jazz"), |_| true).hits.is_empty());
    assert_eq!(index_of(&["a", "b"]).key(1).map(String::as_str), Some("k001"));
}
