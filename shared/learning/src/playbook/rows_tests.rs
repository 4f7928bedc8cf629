//! Which candidates become rows, and which rows.

use domain::entities::{BlockingIssueKind, Interaction};

use super::*;
use crate::formatting::EvidenceTurn;

/// t1 user (earlier), t2 user, t3 assistant.
fn shown() -> EvidenceMap {
    let mut map = EvidenceMap::default();
    for (n, (role, content)) in
        [("User", "old"), ("User", "no, in euros"), ("Assistant", "done")].into_iter().enumerate()
    {
        let interaction = Interaction {
            interaction_id: 10 + n as i64,
            role: role.into(),
            content: content.into(),
            ..Interaction::default()
        };
        map.push(EvidenceTurn::of(format!("t{}", n + 1), &interaction, n > 0));
    }
    map
}

fn draft(content: &str) -> PlaybookDraft {
    PlaybookDraft {
        rationale: Some("the user said so".into()),
        evidence_kind: Some(EvidenceKind::Correction),
        trigger: Some("when quoting a price".into()),
        content: Some(content.into()),
        evidence_refs: vec!["t2".into()],
        blocking_issue: None,
        notes: None,
    }
}

fn convert_on(shown: &EvidenceMap, playbooks: Vec<PlaybookDraft>) -> PlaybookRows {
    let context = PlaybookContext {
        user_id: UserId::new("ana").unwrap(),
        agent_version: "v7".into(),
        request_id: RequestId::new("r1").unwrap(),
        source: None,
        status: Some(Status::Pending),
        now: 77,
    };
    playbooks_from_answer(&PlaybookAnswer { playbooks }, shown, &context)
}

fn convert(playbooks: Vec<PlaybookDraft>) -> PlaybookRows {
    convert_on(&shown(), playbooks)
}

#[test]
fn a_candidate_becomes_a_row_that_cites_its_turns_alone() {
    let issue = BlockingIssue { kind: BlockingIssueKind::MissingTool, details: " no rates ".into() };
    let candidate = PlaybookDraft {
        evidence_refs: vec!["t3".into(), "t2".into(), "t2".into()],
        blocking_issue: Some(issue),
        notes: Some("sure".into()),
        ..draft("Quote in euros (t2).")
    };
    let row = &convert(vec![candidate]).rows[0];
    assert_eq!(
        (row.user_playbook_id, row.playbook_name.as_str(), row.agent_version.as_str()),
        (0, "playbook", "v7")
    );
    assert_eq!(
        (row.content.as_str(), row.trigger.as_deref()),
        ("Quote in euros.", Some("when quoting a price"))
    );
    assert_eq!(row.source_interaction_ids, [12, 11]);
    assert_eq!(
        (row.source_span.as_deref(), row.reader_angle.as_deref()),
        (Some("no, in euros"), Some("correction"))
    );
    assert_eq!((row.created_at, row.status, row.request_id.as_str()), (77, Some(Status::Pending), "r1"));
    assert_eq!(row.blocking_issue.as_ref().unwrap().details, "no rates");
}

#[test]
fn each_fault_of_a_candidate_rejects_it_alone() {
    use PlaybookRejection as R;
    let with = |change: &dyn Fn(&mut PlaybookDraft)| {
        let mut candidate = draft("x");
        change(&mut candidate);
        candidate
    };
    let refs = |labels: &[&str]| -> Vec<String> { labels.iter().map(|label| (*label).to_owned()).collect() };
    let cases = [
        (with(&|d| d.content = None), R::MissingContent),
        (with(&|d| d.content = Some("[t2]".into())), R::MissingContent),
        (with(&|d| d.trigger = Some(" ".into())), R::MissingTrigger),
        (with(&|d| d.rationale = None), R::MissingRationale),
        (with(&|d| d.evidence_kind = None), R::MissingEvidenceKind),
        (with(&|d| d.evidence_refs = vec![]), R::MissingEvidence),
        (with(&|d| d.evidence_refs = refs(&["t2", " "])), R::EmptyEvidenceRef),
        (with(&|d| d.evidence_refs = refs(&["t2", "t9"])), R::UnknownEvidenceRef),
        (with(&|d| d.evidence_refs = refs(&["t1"])), R::OnlyEarlierEvidence),
        (
            with(&|d| {
                d.evidence_kind = Some(EvidenceKind::Preference);
                d.evidence_refs = refs(&["t3"]);
            }),
            R::PreferenceWithoutDirectUserEvidence,
        ),
        (with(&|d| d.rationale = Some("because t2 says so".into())), R::TurnReferenceInPersistedProse),
        (with(&|d| d.content = Some("x".repeat(PLAYBOOK_CONTENT_CHARS_MAX + 1))), R::TooLong),
        (with(&|d| d.trigger = Some("x".repeat(TRIGGER_CHARS_MAX + 1))), R::TooLong),
    ];
    for (faulty, reason) in cases {
        let outcome = convert(vec![faulty.clone(), draft("good")]);
        assert_eq!(outcome.rejected, BTreeMap::from([(reason, 1)]), "{faulty:?}");
        assert_eq!(outcome.rows.len(), 1, "{faulty:?}");
    }
    let nothing_shown = convert_on(&EvidenceMap::default(), vec![draft("x")]);
    assert_eq!(nothing_shown.rejected, BTreeMap::from([(R::MissingEvidenceUnitMap, 1)]));
}

#[test]
fn texts_are_accepted_up_to_their_limits() {
    for (length, ok) in [(3_999, true), (4_000, true), (4_001, false)] {
        assert_eq!(convert(vec![draft(&"日".repeat(length))]).rows.len() == 1, ok, "{length}");
    }
    for (length, ok) in [(1_999, true), (2_000, true), (2_001, false)] {
        let candidate = PlaybookDraft { trigger: Some("x".repeat(length)), ..draft("x") };
        assert_eq!(convert(vec![candidate]).rows.len() == 1, ok, "{length}");
    }
    for count in [29, 30, 31] {
        let rows = convert((0..count).map(|n| draft(&format!("rule {n}"))).collect()).rows;
        assert_eq!(rows.len(), count.min(ROWS_PER_WINDOW_MAX));
    }
}

#[test]
fn the_same_rule_twice_in_one_answer_is_stored_once() {
    let other_trigger = PlaybookDraft { trigger: Some("when refunding".into()), ..draft("use euros") };
    let outcome = convert(vec![draft("Use Euros"), draft("use euros"), other_trigger]);
    assert_eq!(
        (outcome.rows.len(), &outcome.rejected),
        (2, &BTreeMap::from([(PlaybookRejection::Repeated, 1)]))
    );
}

#[test]
fn a_blocking_issue_without_words_is_none() {
    let issue = BlockingIssue { kind: BlockingIssueKind::MissingTool, details: "  ".into() };
    let rows = convert(vec![PlaybookDraft { blocking_issue: Some(issue), ..draft("x") }]).rows;
    assert_eq!(rows[0].blocking_issue, None);
}
