//! Which drafts become rows, and which rows.

use domain::entities::Interaction;
use domain::time::NEVER_EXPIRES;

use super::*;
use crate::formatting::EvidenceTurn;

const NOW: i64 = 1_750_000_000;

/// t1 user (earlier), t2 user, t3 assistant, t4 assistant with a tool.
fn shown() -> EvidenceMap {
    let mut map = EvidenceMap::default();
    let turns = [
        ("User", "I like tea"),
        ("User", "No, coffee. And t4.micro please"),
        ("Assistant", "Noted: tea"),
        ("Assistant", ""),
    ];
    for (n, (role, content)) in turns.into_iter().enumerate() {
        let mut interaction = Interaction {
            interaction_id: 10 + n as i64,
            role: role.into(),
            content: content.into(),
            ..Interaction::default()
        };
        if n == 3 {
            interaction
                .tools_used
                .push(domain::entities::ToolUsed { tool_name: "crm".into(), ..Default::default() });
        }
        map.push(EvidenceTurn::of(format!("t{}", n + 1), &interaction, n > 0));
    }
    map
}

fn context() -> RowContext {
    RowContext {
        user_id: UserId::new("ana").unwrap(),
        request_id: RequestId::new("r1").unwrap(),
        source: Some("web".into()),
        status: None,
        now: NOW,
    }
}

fn draft(content: &str, refs: &[&str]) -> ProfileDraft {
    ProfileDraft {
        content: Some(content.into()),
        time_to_live: Some("one_day".into()),
        evidence_refs: refs.iter().map(|text| (*text).to_owned()).collect(),
        ..ProfileDraft::default()
    }
}

fn convert(profiles: Vec<ProfileDraft>) -> ProfileRows {
    let mut n = 0;
    profiles_from_answer(&ProfileAnswer { profiles }, &shown(), &context(), || {
        n += 1;
        ProfileId::new(&format!("p{n}")).unwrap()
    })
}

#[test]
fn a_draft_becomes_a_row_with_its_evidence_in_columns() {
    let draft = ProfileDraft {
        reasoning: Some("said so".into()),
        source_span: Some(" No, coffee ".into()),
        notes: Some("sure [t2]".into()),
        ..draft("Prefers coffee", &["t2", "t1"])
    };
    let rows = convert(vec![draft]).rows;
    let row = &rows[0];
    assert_eq!((row.profile_id.as_str(), row.content.as_str()), ("p1", "Prefers coffee"));
    assert_eq!((row.last_modified_timestamp, row.expiration_timestamp), (NOW, 1_750_086_400));
    assert_eq!(row.source_interaction_ids, [11, 10]);
    assert_eq!((row.source_span.as_deref(), row.notes.as_deref()), (Some("No, coffee"), Some("sure")));
    assert_eq!((row.generated_from_request_id.as_str(), row.source.as_deref()), ("r1", Some("web")));
    assert_eq!((&row.custom_features, &row.extractor_names, &row.tags), (&None, &None, &None));
}

#[test]
fn each_fault_of_a_draft_rejects_it_alone() {
    use ProfileRejection as R;
    let ttl = |text: &str| ProfileDraft { time_to_live: Some(text.into()), ..draft("Likes a", &["t2"]) };
    let cases = [
        (draft("  ", &["t2"]), R::MissingContent),
        (draft("[t2]", &["t2"]), R::MissingContent),
        (ProfileDraft { content: None, ..draft("", &["t2"]) }, R::MissingContent),
        (draft(&"x".repeat(PROFILE_CONTENT_CHARS_MAX + 1), &["t2"]), R::ContentTooLong),
        (ttl("forever"), R::UnknownTimeToLive),
        (draft("Likes a", &[]), R::MissingEvidence),
        (draft("Likes a", &[" "]), R::MissingEvidence),
        (draft("Likes a", &["t9"]), R::UnknownEvidenceRef),
        (draft("Likes tea", &["t1"]), R::OnlyEarlierEvidence),
        (draft("Likes tea", &["t3"]), R::OnlyAgentWords),
        (draft("Likes a as t3 says", &["t2"]), R::TurnReferenceInProse),
    ];
    for (faulty, reason) in cases {
        let outcome = convert(vec![faulty.clone(), draft("Good", &["t2"])]);
        assert_eq!(outcome.rejected, BTreeMap::from([(reason, 1)]), "{faulty:?}");
        assert_eq!(outcome.rows.len(), 1, "{faulty:?}");
    }
}

#[test]
fn content_is_accepted_up_to_its_limit() {
    for (length, ok) in [(1_999, true), (2_000, true), (2_001, false)] {
        let rows = convert(vec![draft(&"日".repeat(length), &["t2"])]).rows;
        assert_eq!(rows.len() == 1, ok, "{length}");
    }
}

#[test]
fn an_unknown_reference_beside_a_good_one_is_ignored() {
    let rows = convert(vec![draft("Likes a", &["t9", "t2"])]).rows;
    assert_eq!(rows[0].source_interaction_ids, [11]);
}

#[test]
fn a_tool_result_is_evidence_and_a_word_of_the_user_that_looks_like_a_label_is_kept() {
    assert_eq!(convert(vec![draft("Is a gold member", &["t4"])]).rows.len(), 1);
    assert_eq!(convert(vec![draft("Wants t4.micro", &["t2"])]).rows[0].content, "Wants t4.micro");
}

#[test]
fn a_passage_that_no_cited_turn_says_is_not_kept() {
    for span in ["Noted: tea", "no coffee", ""] {
        let draft = ProfileDraft { source_span: Some(span.into()), ..draft("Prefers coffee", &["t2"]) };
        assert_eq!(convert(vec![draft]).rows[0].source_span, None, "{span}");
    }
}

#[test]
fn the_same_fact_twice_in_one_answer_is_stored_once() {
    let outcome = convert(vec![draft("Prefers Coffee", &["t2"]), draft("prefers coffee ", &["t2"])]);
    assert_eq!(outcome.rows.len(), 1);
    assert_eq!(outcome.rejected, BTreeMap::from([(ProfileRejection::Repeated, 1)]));
}

#[test]
fn an_answer_yields_rows_up_to_the_limit() {
    for count in [49, 50, 51] {
        let outcome = convert((0..count).map(|n| draft(&format!("Likes {n}"), &["t2"])).collect());
        assert_eq!(outcome.rows.len(), count.min(ROWS_PER_WINDOW_MAX));
    }
}

#[test]
fn a_time_to_live_is_read_in_any_case() {
    let endless = ProfileDraft { time_to_live: Some(" Infinity".into()), ..draft("Is Ana", &["t2"]) };
    assert_eq!(convert(vec![endless]).rows[0].expiration_timestamp, NEVER_EXPIRES);
}
