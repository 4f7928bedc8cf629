//! A text's vector: the mean of its tokens' rows, made unit length.

use std::sync::LazyLock;

use super::wordpiece::Vocabulary;

/// Numbers of an offline vector.
pub const OFFLINE_DIMENSIONS: usize = 256;
/// Tokens of a text that count; what follows does not change its vector.
pub const EMBEDDING_TOKENS_MAX: usize = 8_192;

/// One float32 scale per token, then one row of int8 per token; little endian, row major. See `assets/NOTICE`.
static TABLE: &[u8] = include_bytes!("../../assets/static256.bin");
static VOCABULARY: &str = include_str!("../../assets/vocab.txt");
const SCALE_BYTES: usize = 4;
const TOKENS: usize = TABLE_BYTES / (SCALE_BYTES + OFFLINE_DIMENSIONS);
const TABLE_BYTES: usize = TABLE.len();

static EMBEDDER: LazyLock<StaticEmbedder> =
    LazyLock::new(|| StaticEmbedder { vocabulary: Vocabulary::read(VOCABULARY) });

/// Vectors from a table distilled from all-MiniLM-L6-v2: for trying the system without a provider.
pub struct StaticEmbedder {
    vocabulary: Vocabulary,
}

impl std::fmt::Debug for StaticEmbedder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StaticEmbedder").field("tokens", &TOKENS).finish_non_exhaustive()
    }
}

impl StaticEmbedder {
    /// The embedder of this process. The first call reads the vocabulary (a few milliseconds).
    #[must_use]
    pub fn get() -> &'static Self {
        &EMBEDDER
    }

    /// [`OFFLINE_DIMENSIONS`] numbers of unit length; zeros for a text without a known token.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0f32; OFFLINE_DIMENSIONS];
        self.vocabulary.tokens(text, EMBEDDING_TOKENS_MAX, |id| add_row(&mut sum, usize::from(id)));
        // The mean differs from the sum by a factor, which the unit length takes away again.
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            for x in &mut sum {
                *x /= length;
            }
        }
        sum
    }
}

fn add_row(sum: &mut [f32], token: usize) {
    if token >= TOKENS {
        return;
    }
    let at = token * SCALE_BYTES;
    let scale = f32::from_le_bytes([TABLE[at], TABLE[at + 1], TABLE[at + 2], TABLE[at + 3]]);
    let start = TOKENS * SCALE_BYTES + token * OFFLINE_DIMENSIONS;
    let row = &TABLE[start..start + OFFLINE_DIMENSIONS];
    for (x, byte) in sum.iter_mut().zip(row) {
        *x += scale * f32::from(byte.cast_signed());
    }
}

/// The cosine of two vectors of unit length (or zeros), from -1 to 1.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Components 0, 1, 7, 100 and 255, computed with numpy from the same table and the tokenizer of BERT.
    const REFERENCES: [(&str, [f32; 5]); 10] = [
        ("I prefer the window seat.", [0.0125621, 0.2312872, 0.0252354, 0.0511244, -0.0098061]),
        ("Zürich café — naïve résumé!", [-0.1796012, -0.1251129, 0.0624420, -0.0467095, 0.0070615]),
        ("東京に住んでいます", [0.3879333, -0.0297208, 0.104973, 0.0151309, -0.0005185]),
        ("ワイン、ビールとコーヒー", [0.5102683, 0.1435631, 0.0829931, -0.0086665, 0.0323112]),
        (
            "unbelievably antidisestablishmentarianism $3.50",
            [0.2883222, 0.1637886, 0.0979685, 0.0012406, 0.0400215],
        ),
        ("Привет мир", [0.4501871, -0.0390091, 0.0292229, -0.1075152, -0.0129243]),
        ("한국어 텍스트", [0.6223284, 0.2520816, 0.0093377, -0.0311988, 0.0021476]),
        ("हिन्दी", [0.5436781, 0.1273265, 0.0468573, 0.0189038, 0.0148539]),
        ("a\u{200b}b soft\u{ad}hyphen", [0.2271401, 0.2780946, 0.1811004, 0.0529629, 0.0158533]),
        ("😀 smile", [-0.0426458, 0.180534, -0.0156368, -0.0668118, -0.0199014]),
    ];

    #[test]
    fn vectors_equal_those_computed_in_python() {
        for (text, expected) in REFERENCES {
            let vector = StaticEmbedder::get().embed(text);
            for (place, want) in [0, 1, 7, 100, 255].into_iter().zip(expected) {
                assert!(
                    (vector[place] - want).abs() < 1e-5,
                    "{text} [{place}]: {} not {want}",
                    vector[place]
                );
            }
        }
    }

    #[test]
    fn the_table_has_a_row_for_every_token_of_the_vocabulary() {
        assert_eq!(TOKENS, VOCABULARY.lines().count());
        assert_eq!(TABLE.len(), TOKENS * (SCALE_BYTES + OFFLINE_DIMENSIONS));
    }

    #[test]
    fn vectors_have_unit_length_and_unknown_text_has_zeros() {
        let embedder = StaticEmbedder::get();
        let vector = embedder.embed("The parcel arrived late.");
        assert_eq!(vector.len(), OFFLINE_DIMENSIONS);
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
        for text in ["", "   ", "\u{1F9EC}\u{1F9EC}"] {
            assert!(embedder.embed(text).iter().all(|x| *x == 0.0), "{text:?}");
        }
    }

    #[test]
    fn a_paraphrase_is_nearer_than_another_subject() {
        let embedder = StaticEmbedder::get();
        for (query, near, far) in [
            ("What does she eat?", "Her diet is mostly beans and rice.", "The invoice is due in March."),
            ("Where is her house?", "She lives in Lisbon.", "Prefers e-mail over phone calls."),
            ("pets of the user", "Has two dogs named Rex and Otto.", "Works nights at a hospital."),
        ] {
            let [query, near, far] = [query, near, far].map(|text| embedder.embed(text));
            assert!(cosine(&query, &near) > cosine(&query, &far));
        }
    }

    #[test]
    fn text_beyond_the_token_limit_changes_nothing() {
        let embedder = StaticEmbedder::get();
        for (words, same) in [(EMBEDDING_TOKENS_MAX - 1, false), (EMBEDDING_TOKENS_MAX, true)] {
            let text = "tea ".repeat(words);
            let longer = format!("{text}coffee");
            assert_eq!(embedder.embed(&text) == embedder.embed(&longer), same, "{words}");
        }
        // One word, many tokens or few: the same direction.
        let repeated = embedder.embed(&"tea ".repeat(EMBEDDING_TOKENS_MAX + 1));
        assert!((cosine(&repeated, &embedder.embed("tea")) - 1.0).abs() < 1e-4);
    }
}
