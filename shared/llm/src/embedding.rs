//! The port for embedding models, and the rules that hold for every vector: prefixes, thresholds, length.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::ChatError;

/// Length of the vectors that hosted models yield here; longer ones are cut, shorter ones padded.
pub const HOSTED_DIMENSIONS: usize = 512;

/// Why texts could not be embedded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmbedError {
    /// The provider failed.
    #[error(transparent)]
    Provider(#[from] ChatError),
    /// There are not as many vectors as texts.
    #[error("the embedding model returned {actual} vectors for {expected} texts")]
    Count {
        /// Texts sent.
        expected: usize,
        /// Vectors received.
        actual: usize,
    },
    /// Vectors of one batch differ in length, or one is empty.
    #[error("the embedding model returned a vector of {actual} numbers where {expected} were expected")]
    Dimension {
        /// Length of the others.
        expected: usize,
        /// Length of this one.
        actual: usize,
    },
    /// A number is missing, infinite or not a number, or a vector has no length.
    #[error("the embedding model returned an unusable vector for text {index}")]
    NotFinite {
        /// Position of the text.
        index: usize,
    },
}

/// What a text is embedded for; some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    /// To be found.
    Document,
    /// To find.
    Query,
}

/// A model that turns texts into vectors of one length and of norm 1.
#[async_trait]
pub trait EmbeddingModel: Send + Sync {
    /// One vector per text, in their order; the model's prefix is added here.
    ///
    /// # Errors
    /// [`EmbedError`]: the provider failed, or its vectors are not usable.
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The name that is stored beside each vector: vectors of different names are never compared.
    fn model_name(&self) -> &str;

    /// Length of the vectors.
    fn dimensions(&self) -> usize;

    /// The cosine above which two texts count as similar in a search.
    fn similarity_threshold(&self) -> f32 {
        similarity_threshold(self.model_name())
    }

    /// The cosine above which two texts belong into one cluster.
    fn clustering_threshold(&self) -> f32 {
        clustering_threshold(self.model_name())
    }

    /// Whether it runs in this process, without a provider.
    fn is_local(&self) -> bool;
}

#[async_trait]
impl<M: EmbeddingModel + ?Sized> EmbeddingModel for Arc<M> {
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        (**self).embed(texts, purpose).await
    }

    fn model_name(&self) -> &str {
        (**self).model_name()
    }

    fn dimensions(&self) -> usize {
        (**self).dimensions()
    }

    fn similarity_threshold(&self) -> f32 {
        (**self).similarity_threshold()
    }

    fn clustering_threshold(&self) -> f32 {
        (**self).clustering_threshold()
    }

    fn is_local(&self) -> bool {
        (**self).is_local()
    }
}

enum Family {
    MiniLm,
    Nomic,
    E5,
    Other,
}

fn family(model: &str) -> Family {
    let model = model.to_lowercase();
    let has_word = |word: &str| model.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
    if model.contains("minilm") {
        Family::MiniLm
    } else if model.contains("nomic") {
        Family::Nomic
    } else if has_word("e5") {
        Family::E5
    } else {
        Family::Other
    }
}

/// The cosine above which two texts count as similar in a search.
#[must_use]
#[expect(clippy::excessive_precision, reason = "recorded constant, rounded to f32 by the compiler")]
pub fn similarity_threshold(model: &str) -> f32 {
    match family(model) {
        Family::MiniLm => 0.30,
        Family::Nomic => 0.70,
        Family::E5 => 0.799_381_494_522_094_7,
        Family::Other => 0.45,
    }
}

/// The cosine above which two texts belong into one cluster.
#[must_use]
#[expect(clippy::excessive_precision, reason = "recorded constant, rounded to f32 by the compiler")]
pub fn clustering_threshold(model: &str) -> f32 {
    match family(model) {
        Family::Nomic => 0.85,
        Family::E5 => 0.928_457_736_968_994_1,
        Family::MiniLm | Family::Other => 0.30,
    }
}

/// What the model wants before a text.
#[must_use]
pub fn prefix(model: &str, purpose: EmbeddingPurpose) -> &'static str {
    match (family(model), purpose) {
        (Family::Nomic, EmbeddingPurpose::Document) => "search_document: ",
        (Family::Nomic, EmbeddingPurpose::Query) => "search_query: ",
        (Family::E5, EmbeddingPurpose::Document) => "passage: ",
        (Family::E5, EmbeddingPurpose::Query) => "query: ",
        (Family::MiniLm | Family::Other, _) => "",
    }
}

/// Checks a batch as it came from a provider and brings every vector to `dimensions` numbers of norm 1.
///
/// # Errors
/// [`EmbedError`] when a vector is missing, differs in length from the first, or holds an unusable number.
pub fn checked(vectors: Vec<Vec<f32>>, texts: usize, dimensions: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    if vectors.len() != texts {
        return Err(EmbedError::Count { expected: texts, actual: vectors.len() });
    }
    let first = vectors.first().map_or(0, Vec::len);
    let mut fitted = Vec::with_capacity(texts);
    for (index, vector) in vectors.into_iter().enumerate() {
        if vector.len() != first || vector.is_empty() {
            return Err(EmbedError::Dimension { expected: first.max(1), actual: vector.len() });
        }
        fitted.push(fit(vector, dimensions).ok_or(EmbedError::NotFinite { index })?);
    }
    Ok(fitted)
}

/// Cuts or pads to `dimensions` and scales to norm 1; `None` when the vector has no finite length above zero.
fn fit(mut vector: Vec<f32>, dimensions: usize) -> Option<Vec<f32>> {
    if vector.iter().any(|number| !number.is_finite()) {
        return None;
    }
    vector.resize(dimensions, 0.0);
    let norm = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if norm <= f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a ratio of at most 1")]
    for number in &mut vector {
        *number = (f64::from(*number) / norm) as f32;
    }
    Some(vector)
}

#[cfg(test)]
mod tests;
