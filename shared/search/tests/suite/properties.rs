//! Rules that hold for any rows and any query.

use crate::common::{text, with_vector};
use proptest::prelude::*;
use search::{Document, Fusion, MemoryIndex, Outcome, RrfParameters, SearchMode, SearchQuery};

fn documents() -> impl Strategy<Value = Vec<Document<String>>> {
    let words =
        prop_oneof!["((red|green|blue|tea|jazz|beach|user_id|the|of) ){0,8}", "[东京塔茶ねこカフェ]{0,8}",];
    let vector = proptest::option::of(proptest::collection::vec(-1i8..=1, 3));
    let row = (words, vector, 0i64..3).prop_map(|(words, vector, newest)| {
        let document = match vector {
            None => text(0, &words),
            Some(values) => {
                let values: Vec<f32> = values.into_iter().map(f32::from).collect();
                with_vector(0, &words, &values)
            }
        };
        Document { newest, ..document }
    });
    proptest::collection::vec(row, 0..14).prop_map(|rows| {
        let numbered = rows.into_iter().enumerate();
        numbered.map(|(at, document)| Document { key: format!("k{at:03}"), ..document }).collect()
    })
}

#[derive(Debug, Clone)]
struct Asked {
    text: Option<String>,
    vector: Option<Vec<f32>>,
    mode: SearchMode,
    limit: usize,
    fusion: Fusion,
}

impl Asked {
    fn of(&self, index: &MemoryIndex<String>, filter: impl Fn(usize) -> bool) -> Outcome {
        let query = SearchQuery {
            text: self.text.as_deref(),
            vector: self.vector.as_deref(),
            mode: self.mode,
            threshold: Some(0.3),
            limit: self.limit,
            fusion: self.fusion,
        };
        index.search(&query, filter)
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let words = "((red|gre|blue|tea|jazz|beach|user_id|the|\"of the\"|NOT|AND|OR|茶|东京|ねこ) ?){0,5}";
    let mode = prop_oneof![Just(SearchMode::Vector), Just(SearchMode::Fts), Just(SearchMode::Hybrid)];
    let fusion = prop_oneof![Just(Fusion::default()), Just(Fusion::Rrf(RrfParameters::default()))];
    let vector = proptest::option::of(proptest::collection::vec(-1f32..1.0, 3));
    (proptest::option::of(words), vector, mode, 0usize..8, fusion)
        .prop_map(|(text, vector, mode, limit, fusion)| Asked { text, vector, mode, limit, fusion })
}

fn keys(index: &MemoryIndex<String>, outcome: &Outcome) -> Vec<(String, f32)> {
    outcome.hits.iter().map(|hit| (index.key(hit.index).unwrap().clone(), hit.score)).collect()
}

proptest! {
    #[test]
    fn the_order_of_the_rows_does_not_matter(documents in documents(), asked in asked(), seed in any::<u64>()) {
        let straight = MemoryIndex::build(documents.clone());
        let mut shuffled = documents;
        let length = shuffled.len();
        for at in 0..length {
            shuffled.swap(at, (seed.rotate_left(at as u32 * 5) % length as u64) as usize);
        }
        let shuffled = MemoryIndex::build(shuffled);
        let outcomes = (asked.of(&straight, |_| true), asked.of(&shuffled, |_| true));
        prop_assert_eq!(keys(&straight, &outcomes.0), keys(&shuffled, &outcomes.1));
    }

    #[test]
    fn a_filter_never_leaks_and_an_answer_is_well_formed(documents in documents(), asked in asked(), mask in any::<u16>()) {
        let index = MemoryIndex::build(documents);
        let visible = |row: usize| mask >> row & 1 == 1;
        let outcome = asked.of(&index, visible);
        prop_assert!(outcome.hits.len() <= asked.limit);
        prop_assert!(outcome.hits.is_sorted_by(|a, b| a.score >= b.score));
        let mut rows: Vec<usize> = outcome.hits.iter().map(|hit| hit.index).collect();
        rows.sort_unstable();
        prop_assert!(rows.windows(2).all(|pair| pair[0] != pair[1]));
        for hit in &outcome.hits {
            prop_assert!(visible(hit.index));
            prop_assert!((0.0..=1.0).contains(&hit.lexical));
            prop_assert!(hit.cosine.is_none_or(|cosine| (-1.0..=1.0).contains(&cosine)));
            prop_assert!(hit.score.is_finite());
        }
    }

    #[test]
    fn a_hit_matches_by_meaning_or_by_words(documents in documents(), asked in asked()) {
        let index = MemoryIndex::build(documents);
        let outcome = asked.of(&index, |_| true);
        for hit in outcome.hits {
            let similar = hit.cosine.is_some_and(|cosine| cosine > 0.3);
            let matches = match outcome.effective_mode {
                SearchMode::Vector => similar,
                SearchMode::Fts => hit.lexical > 0.0,
                SearchMode::Hybrid => similar || hit.lexical > 0.0,
            };
            prop_assert!(matches);
        }
    }

    #[test]
    fn rows_that_a_filter_hides_do_not_change_which_of_the_others_qualify_by_meaning(
        documents in documents(), asked in asked(), mask in any::<u16>(),
    ) {
        let asked = Asked { mode: SearchMode::Vector, limit: 100, ..asked };
        let index = MemoryIndex::build(documents);
        let all = asked.of(&index, |_| true);
        let some = asked.of(&index, |row| mask >> row & 1 == 1);
        if all.effective_mode == SearchMode::Vector {
            let expected: Vec<usize> = all.hits.iter().map(|hit| hit.index).filter(|row| mask >> row & 1 == 1).collect();
            prop_assert_eq!(some.hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), expected);
        }
    }
}
