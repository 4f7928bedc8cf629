//! A provider key that does not print itself.

use std::fmt;

/// Text that must not appear in logs.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key itself, for the header it belongs into.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// `text` with every occurrence of the key masked: some providers echo it in their errors.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_print_itself_and_is_masked_where_a_provider_echoes_it() {
        let key = Secret::new("sk-12345");
        assert_eq!(format!("{key:?}"), "Secret(***)");
        assert_eq!(key.redact("Incorrect API key: sk-12345."), "Incorrect API key: ***.");
        assert_eq!(Secret::default().redact("abc"), "abc");
    }
}
