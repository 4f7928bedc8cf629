//! What a session is, as far as the judgement of its learnings is concerned, in one digest.

use domain::entities::{Interaction, RetrievedLearningKind};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Characters of a content that count.
pub const FINGERPRINT_CONTENT_CHARS_MAX: usize = 64_000;

/// Hex SHA-256 of the interactions, which stand in the order of their times and ids: id, attached learnings of known
/// kinds, role and content of each, as JSON without spaces and in ASCII.
#[must_use]
pub fn fingerprint<'a>(interactions: impl IntoIterator<Item = &'a Interaction>) -> String {
    let mut digest = Sha256::new();
    digest.update("[");
    for (index, interaction) in interactions.into_iter().enumerate() {
        if index > 0 {
            digest.update(",");
        }
        digest.update(ascii(&entry(interaction)));
    }
    digest.update("]");
    hex::encode(digest.finalize())
}

fn entry(interaction: &Interaction) -> String {
    let attached = &interaction.retrieved_learnings;
    let known = attached.iter().filter(|one| RetrievedLearningKind::parse(&one.kind).is_some());
    let mut refs: Vec<[&str; 2]> = known.map(|one| [one.kind.as_str(), one.learning_id.as_str()]).collect();
    refs.sort_unstable();
    let role = if interaction.role.is_empty() { "User" } else { &interaction.role };
    let content =
        learning::formatting::text::first_chars(&interaction.content, FINGERPRINT_CONTENT_CHARS_MAX);
    json!([interaction.interaction_id, refs, role, content]).to_string()
}

/// JSON text with everything beyond printable ASCII escaped.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, ' '..='~') {
            out.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use domain::entities::RetrievedLearning;

    use super::*;

    fn interaction(id: i64, refs: &[(&str, &str)], role: &str, content: &str) -> Interaction {
        let attached = refs.iter().map(|(kind, id)| RetrievedLearning {
            kind: (*kind).into(),
            learning_id: (*id).into(),
            exposure_receipt_digest: None,
        });
        Interaction {
            interaction_id: id,
            role: role.into(),
            content: content.into(),
            retrieved_learnings: attached.collect(),
            ..Interaction::default()
        }
    }

    #[test]
    fn the_recorded_session_has_its_recorded_fingerprint() {
        let session =
            [interaction(1, &[], "User", "hello é"), interaction(2, &[("profile", "p1")], "Assistant", "hi")];
        assert_eq!(fingerprint(&session), "31261c5cc15c392778766c056a5ab5ca710f4441f9d1db8de673ac3a8f63626a");
    }

    #[test]
    fn text_is_escaped_as_ascii_with_surrogates_in_lower_case() {
        let json = entry(&interaction(1, &[], "", "é\u{7f}\u{1}\n\"😀"));
        assert_eq!(ascii(&json), r#"[1,[],"User","\u00e9\u007f\u0001\n\"\ud83d\ude00"]"#);
    }

    #[test]
    fn learnings_count_in_any_order_and_unknown_kinds_not_at_all() {
        let one =
            [interaction(1, &[("user_playbook", "7"), ("profile", "b"), ("profile", "a")], "User", "x")];
        let two = [interaction(
            1,
            &[("profile", "a"), ("rule", "9"), ("profile", "b"), ("user_playbook", "7")],
            "User",
            "x",
        )];
        assert_eq!(fingerprint(&one), fingerprint(&two));
        assert_ne!(fingerprint(&one), fingerprint(&[interaction(1, &[("profile", "a")], "User", "x")]));
    }

    #[test]
    fn content_counts_up_to_its_bound() {
        let print = |chars: usize, end: &str| {
            fingerprint(&[interaction(1, &[], "User", &format!("{}{end}", "é".repeat(chars)))])
        };
        let max = FINGERPRINT_CONTENT_CHARS_MAX;
        assert_ne!(print(max - 1, "a"), print(max - 1, "b"));
        assert_eq!(print(max, "a"), print(max, "b"));
        assert_eq!(print(max + 1, ""), print(max, ""));
    }
}
