//! What is said about interactions that carry nothing.

/// Most positions in the warning.
const INDEXES_MAX: usize = 10;

/// The warning about dropped rows, at their positions in the payload as sent.
pub(super) fn warning(indexes: &[usize]) -> Option<String> {
    if indexes.is_empty() {
        return None;
    }
    let shown: Vec<String> = indexes.iter().take(INDEXES_MAX).map(ToString::to_string).collect();
    let more = match indexes.len().saturating_sub(INDEXES_MAX) {
        0 => String::new(),
        more => format!(", +{more} more"),
    };
    Some(format!(
        "skipped {} empty interaction(s) that carried no content, at index(es) {}{more}",
        indexes.len(),
        shown.join(", ")
    ))
}

/// The refusal of a batch in which every row is empty; unknown fields are the likely cause.
pub(super) fn refusal(unknown: &[String]) -> String {
    let mut text = "every interaction is empty: at least one must set \"content\" (or any of: content, \
                    shadow_content, expert_content, interacted_image_url, image_encoding, tools_used, \
                    citations, retrieved_learnings, or a user_action other than \"none\")"
        .to_owned();
    if !unknown.is_empty() {
        text.push_str("; likely cause -- ");
        text.push_str(&unknown.join("; "));
    }
    text
}
