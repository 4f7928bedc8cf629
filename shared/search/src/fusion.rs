//! Ways of ranking by meaning and words together.

use std::collections::HashMap;

/// Weight of the lexical share beside the cosine. Measured: on long chats words tell more than a small
/// encoder's meaning, on paraphrases the reverse; near 1 serves both.
pub const LEXICAL_WEIGHT: f32 = 1.0;
/// How far down reciprocal rank fusion flattens ranks.
pub const RRF_K: f32 = 60.0;

/// How a hybrid search ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fusion {
    /// Cosine plus `lexical_weight` times the lexical share, see [`convex`]. The default: ranks alone would
    /// give any text with a stray common word a full vote.
    Convex {
        /// Weight of the lexical share.
        lexical_weight: f32,
    },
    /// Reciprocal rank fusion, when a caller sets its parameters.
    Rrf(RrfParameters),
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Convex { lexical_weight: LEXICAL_WEIGHT }
    }
}

/// The parameters of reciprocal rank fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RrfParameters {
    /// Added to every rank.
    pub k: f32,
    /// Weight of the full-text list.
    pub full_text_weight: f32,
    /// Weight of the vector list.
    pub vector_weight: f32,
}

impl Default for RrfParameters {
    fn default() -> Self {
        Self { k: RRF_K, full_text_weight: 1.0, vector_weight: 1.0 }
    }
}

/// Cosine plus weighted lexical share. A row that speaks against the query counts as one without a vector.
#[must_use]
pub fn convex(cosine: Option<f32>, share: f32, lexical_weight: f32) -> f32 {
    cosine.map_or(0.0, |cosine| cosine.max(0.0)) + lexical_weight * share.min(1.0)
}

/// A row of a fused ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused {
    /// The row.
    pub index: usize,
    /// `w_fts / (k + rank_fts) + w_vec / (k + rank_vec)`.
    pub score: f64,
    /// Its rank in the vector list, from 1; one more than the list's length when it is missing there. Equal
    /// scores are ordered by it.
    pub vector_rank: usize,
}

/// Reciprocal rank fusion of two ranked lists of rows without doubles. Ranks start at 1; a row that is missing
/// from a list gets the rank after its last. Ordered by score, then vector rank; what is still equal keeps the
/// order of the vector list, then of the full-text list.
#[must_use]
pub fn rrf(full_text: &[usize], vector: &[usize], parameters: &RrfParameters) -> Vec<Fused> {
    let ranks = |list: &[usize]| -> HashMap<usize, usize> {
        list.iter().enumerate().map(|(at, row)| (*row, at + 1)).collect()
    };
    let (text_ranks, vector_ranks) = (ranks(full_text), ranks(vector));
    let vote = |weight: f32, rank: usize| f64::from(weight) / (f64::from(parameters.k) + rank as f64);
    let only_in_text = full_text.iter().filter(|row| !vector_ranks.contains_key(row));
    let mut fused: Vec<Fused> = vector
        .iter()
        .chain(only_in_text)
        .map(|row| {
            let text_rank = text_ranks.get(row).copied().unwrap_or(full_text.len() + 1);
            let vector_rank = vector_ranks.get(row).copied().unwrap_or(vector.len() + 1);
            let score =
                vote(parameters.full_text_weight, text_rank) + vote(parameters.vector_weight, vector_rank);
            Fused { index: *row, score, vector_rank }
        })
        .collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.vector_rank.cmp(&b.vector_rank)));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_fused_as_documented() {
        let (a, b, c) = (0, 1, 2);
        let fused = rrf(&[a, b], &[b, c], &RrfParameters::default());
        let rounded: Vec<(usize, f64)> =
            fused.iter().map(|row| (row.index, (row.score * 1e6).round() / 1e6)).collect();
        assert_eq!(rounded, [(b, 0.032_522), (a, 0.032_266), (c, 0.032_002)]);
    }

    #[test]
    fn equal_scores_follow_the_vector_list() {
        let fused = rrf(&[0, 1], &[1, 0], &RrfParameters::default());
        assert_eq!(fused.iter().map(|row| row.index).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn weights_decide_which_list_leads() {
        let parameters = RrfParameters { full_text_weight: 2.0, ..RrfParameters::default() };
        assert_eq!(rrf(&[0], &[1], &parameters)[0].index, 0);
        let parameters = RrfParameters { vector_weight: 2.0, ..RrfParameters::default() };
        assert_eq!(rrf(&[0], &[1], &parameters)[0].index, 1);
        assert!(rrf(&[], &[], &parameters).is_empty());
    }

    #[test]
    fn a_cosine_below_zero_counts_as_none() {
        assert_eq!(convex(Some(-0.4), 0.5, 1.0), convex(None, 0.5, 1.0));
        assert_eq!(convex(Some(0.4), 0.5, 0.5), 0.65);
    }
}
