//! `POST /api/admin/cache/invalidate`.

use serde_json::Value;

use crate::validation::{ValidationErrors, read_body, rules};

/// Whose cache to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidateCache {
    /// The organisation; the caller's own when `None`. No other is allowed.
    pub org_id: Option<String>,
}

impl InvalidateCache {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] when it is no object, or the organisation no text.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(body, |fields| Some(Self { org_id: fields.nullable("org_id", rules::text)? }), |_| Ok(()))
    }
}
