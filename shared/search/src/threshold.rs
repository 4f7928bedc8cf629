//! From which cosine on two texts count as similar. It differs from model to model.

/// Cosine above which a row counts as similar when nothing is known of the embedding model.
pub const DEFAULT_COSINE_THRESHOLD: f32 = 0.45;

/// The threshold above which the cosines of a model speak of similarity. A threshold belongs to its model.
#[must_use]
pub fn default_cosine_threshold(model: &str) -> f32 {
    let model = model.to_ascii_lowercase();
    let known = [("minilm", 0.30), ("nomic", 0.70), ("e5", 0.799_381_5)];
    let named = |name: &str| model.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == name);
    known
        .into_iter()
        .find(|(name, _)| named(name))
        .map_or(DEFAULT_COSINE_THRESHOLD, |(_, threshold)| threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_belongs_to_its_model() {
        assert_eq!(default_cosine_threshold("local/minilm-l6-v2"), 0.30);
        assert_eq!(default_cosine_threshold("sentence-transformers/all-MiniLM-L6-v2"), 0.30);
        assert_eq!(default_cosine_threshold("nomic-embed-text"), 0.70);
        assert_eq!(default_cosine_threshold("intfloat/multilingual-e5-small"), 0.799_381_5);
        assert_eq!(default_cosine_threshold("code5-large"), 0.45);
    }
}
