//! `GET /api/evaluations/shadow_comparisons/recent`.

use crate::validation::rules::{self, Bounds};
use crate::validation::{ValidationErrors, query_object, read_query};

/// How many of the latest verdicts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentShadowQuery {
    /// Between 1 and [`Self::LIMIT_MAX`].
    pub limit: usize,
}

impl RecentShadowQuery {
    /// When nothing is said.
    const LIMIT: i64 = 10;
    /// Most verdicts of one answer.
    pub const LIMIT_MAX: i64 = 100;

    /// Reads a query string. A limit that is too small or too large is as good as the nearest that is not.
    ///
    /// # Errors
    /// [`ValidationErrors`] when the limit is no number.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        let limit =
            read_query(&query, |fields| fields.optional("limit", Self::LIMIT, rules::integer(Bounds::NONE)))?;
        Ok(Self { limit: usize::try_from(limit.clamp(1, Self::LIMIT_MAX)).unwrap_or(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_brought_into_their_bounds() {
        let limit = |query: &str| RecentShadowQuery::parse(query).map(|query| query.limit);
        for (query, expected) in [
            ("", 10),
            ("limit=-5", 1),
            ("limit=0", 1),
            ("limit=1", 1),
            ("limit=99", 99),
            ("limit=100", 100),
            ("limit=101", 100),
            ("limit=9999", 100),
        ] {
            assert_eq!(limit(query), Ok(expected), "{query}");
        }
        assert!(limit("limit=ten").is_err());
    }
}
