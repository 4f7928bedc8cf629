use domain::entities::Interaction;
use serde_json::{Value, json};

use super::*;
use crate::formatting::EvidenceTurn;
use crate::review::ReviewAnswer;

fn shown() -> EvidenceMap {
    let mut map = EvidenceMap::default();
    for label in ["t1", "t2"] {
        let interaction =
            Interaction { role: "User".into(), content: "be brief".into(), ..Interaction::default() };
        map.push(EvidenceTurn::of(label.into(), &interaction, false));
    }
    map
}

fn decision(more: Value) -> Value {
    let mut decision = json!({
        "reason": "r", "candidate_id": "CANDIDATE-0", "decision": "accept", "reason_code": "grounded_useful",
        "evidence_refs": ["t1"], "content": null, "trigger": null, "rationale": null,
    });
    decision.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    decision
}

fn judged(decisions: Value) -> Result<Verdict, String> {
    let answer: ReviewAnswer = serde_json::from_value(json!({ "decisions": decisions })).unwrap();
    judge(&answer.decisions, 0, &shown())
}

fn revision(more: Value) -> Value {
    let mut revision = json!({
        "decision": "revise", "reason_code": "compound", "content": "Be brief [t1]", "trigger": "When asked",
        "rationale": "She said so",
    });
    revision.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    decision(revision)
}

#[test]
fn a_decision_is_read() {
    let expected = Verdict::Accept { code: ReasonCode::GroundedUseful, reason: "r".into() };
    assert_eq!(judged(json!([decision(json!({}))])), Ok(expected));
    let edit =
        Edit { content: "Be brief".into(), trigger: "When asked".into(), rationale: "She said so".into() };
    let expected = Verdict::Revise { code: ReasonCode::Compound, reason: "r".into(), edit };
    assert_eq!(judged(json!([revision(json!({}))])), Ok(expected));
    let rejected = decision(json!({ "decision": "Reject", "reason_code": "GENERIC", "evidence_refs": [] }));
    assert_eq!(
        judged(json!([rejected])),
        Ok(Verdict::Reject { code: ReasonCode::Generic, reason: "r".into() })
    );
}

#[test]
fn a_fatal_code_always_rejects() {
    for code in ["absence_inference", "not_agent_decision"] {
        for word in ["accept", "revise", "reject", "?"] {
            let verdict =
                judged(json!([decision(json!({ "decision": word, "reason_code": code }))])).unwrap();
            assert!(matches!(verdict, Verdict::Reject { .. }), "{word} {code}: {verdict:?}");
        }
    }
}

#[test]
fn a_decision_that_cannot_be_relied_on_is_none() {
    let wrong = [
        json!([]),
        json!([decision(json!({ "candidate_id": "CANDIDATE-1" }))]),
        json!([decision(json!({})), decision(json!({ "decision": "reject" }))]),
        json!([decision(json!({ "decision": "keep" }))]),
        json!([decision(json!({ "reason_code": "nice" }))]),
        json!([decision(json!({ "evidence_refs": [] }))]),
        json!([decision(json!({ "evidence_refs": ["t1", "t9"] }))]),
        json!([revision(json!({ "trigger": " " }))]),
        json!([revision(json!({ "evidence_refs": ["t9"] }))]),
        json!([revision(json!({ "content": "As t2 says" }))]),
    ];
    for decisions in wrong {
        assert!(judged(decisions.clone()).is_err(), "{decisions}");
    }
}

#[test]
fn revised_texts_have_the_bounds_of_learned_ones() {
    for (chars, holds) in [
        (PLAYBOOK_CONTENT_CHARS_MAX - 1, true),
        (PLAYBOOK_CONTENT_CHARS_MAX, true),
        (PLAYBOOK_CONTENT_CHARS_MAX + 1, false),
    ] {
        let content = "é".repeat(chars);
        assert_eq!(judged(json!([revision(json!({ "content": content }))])).is_ok(), holds, "{chars}");
    }
    let long = decision(json!({ "reason": "é".repeat(REASON_CHARS_MAX + 1) }));
    let Ok(Verdict::Accept { reason, .. }) = judged(json!([long])) else { panic!("accepted") };
    assert_eq!(reason.chars().count(), REASON_CHARS_MAX);
}

#[test]
fn codes_read_back_what_they_write() {
    for code in ReasonCode::ALL {
        assert_eq!(ReasonCode::parse(code.as_str()), Some(code));
    }
}
