//! Conversations for tests.

use offline::{PlaybookDraft, ProfileDraft, Turn, extract_playbooks, extract_profiles};

/// 2025-06-11T12:00:00Z, a Wednesday.
pub(crate) const SAID: i64 = 1_749_643_200;
const LABELS: [&str; 8] = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"];

/// Turns of `(role, content)`, labelled from t1.
pub(crate) fn turns<'a>(said: &[(&'a str, &'a str)]) -> Vec<Turn<'a>> {
    said.iter()
        .zip(LABELS)
        .zip(1..)
        .map(|(((role, content), label), id)| Turn {
            id,
            label,
            role,
            content,
            tools: Vec::new(),
            created_at: SAID,
        })
        .collect()
}

/// The profiles of a conversation.
pub(crate) fn profiles_of(said: &[(&str, &str)], existing: &[&str]) -> Vec<ProfileDraft> {
    let turns = turns(said);
    let found = extract_profiles(&turns, existing);
    for draft in &found {
        let verbatim = turns.iter().any(|turn| turn.content.contains(&draft.source_span));
        assert!(verbatim, "not verbatim: {draft:?}");
        assert!(!draft.source_span.is_empty() && !draft.evidence.is_empty(), "{draft:?}");
    }
    found
}

/// The playbooks of a conversation.
pub(crate) fn playbooks_of(said: &[(&str, &str)]) -> Vec<PlaybookDraft> {
    let turns = turns(said);
    let found = extract_playbooks(&turns);
    for draft in &found {
        let verbatim = turns.iter().any(|turn| turn.content.contains(&draft.source_span));
        assert!(verbatim && !draft.source_span.is_empty(), "not verbatim: {draft:?}");
        assert!(!draft.trigger.is_empty() && !draft.content.is_empty() && !draft.rationale.is_empty());
    }
    found
}

/// The facts of one sentence of the user.
pub(crate) fn facts(sentence: &str) -> Vec<String> {
    contents(&profiles_of(&[("user", sentence)], &[]))
}

/// The texts of drafts.
pub(crate) fn contents(drafts: &[ProfileDraft]) -> Vec<String> {
    drafts.iter().map(|draft| draft.content.clone()).collect()
}

/// Fails with every case whose answer differs from what is expected.
pub(crate) fn check<E: PartialEq + std::fmt::Debug>(cases: impl IntoIterator<Item = (String, E, E)>) {
    let wrong: Vec<String> = cases
        .into_iter()
        .filter(|(_, found, expected)| found != expected)
        .map(|(sentence, found, expected)| {
            format!("{sentence}\n   found    {found:?}\n   expected {expected:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The triggers and texts of the rules of one sentence after whatever was said before.
pub(crate) fn rules(said: &[(&str, &str)]) -> Vec<(String, String)> {
    playbooks_of(said).into_iter().map(|draft| (draft.trigger, draft.content)).collect()
}
