//! Regular expressions that are compiled when first used.

use regex::Regex;

/// Compiles a constant pattern that ignores case. The engine is linear in the text, whatever the pattern.
#[expect(clippy::unwrap_used, reason = "the patterns are constants, and every one is compiled by a test")]
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).unwrap()
}

/// Declares lazily compiled patterns that ignore case.
macro_rules! patterns {
    ($($(#[$meta:meta])* $name:ident = $pattern:expr;)+) => {
        $($(#[$meta])* static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| crate::pattern::regex(&$pattern));)+
    };
}
pub(crate) use patterns;
