//! How decisions are read.

use serde_json::json;

use super::*;

fn read(decisions: Value) -> ConsolidationAnswer {
    serde_json::from_value(json!({ "decisions": decisions })).unwrap()
}

#[test]
fn every_kind_is_read_with_its_aliases() {
    let answer = read(json!([
        {"kind": "unify", "new_id": "NEW-0", "archive_existing_ids": [0], "content": "c", "trigger": "t",
         "rationale": "r"},
        {"kind": "Merge", "new_id": ["NEW-1", "new_2", "NEW-1"], "content": "c"},
        {"kind": "reject-new", "new_id": "3", "superseded_by_existing_id": "EXISTING-1", "reason": "r"},
        {"kind": "differentiate", "new_id": ["NEW-4"], "existing_id": 2, "refined_new_trigger": "a",
         "refined_existing_trigger": "b"},
        {"kind": "independent", "new_id": 5},
    ]));
    assert_eq!(answer.unreadable, 0);
    let unify = |new, archive_existing, text: Option<&str>| Decision::Unify {
        new,
        archive_existing,
        content: "c".into(),
        trigger: text.map(|_| "t".into()),
        rationale: text.map(|_| "r".into()),
    };
    assert_eq!(
        answer.decisions,
        [
            unify(vec![0], vec![0], Some("")),
            unify(vec![1, 2], vec![], None),
            Decision::RejectNew { new: vec![3], superseded_by_existing: 1 },
            Decision::Differentiate {
                new: 4,
                existing: 2,
                refined_new_trigger: "a".into(),
                refined_existing_trigger: "b".into(),
            },
            Decision::Independent { new: vec![5] },
        ]
    );
}

#[test]
fn numbers_of_stored_rows_are_read_in_their_spellings() {
    let unify = |ids: Value| {
        let answer =
            read(json!([{"kind": "unify", "new_id": "NEW-0", "content": "c", "archive_existing_ids": ids}]));
        match &answer.decisions[..] {
            [Decision::Unify { archive_existing, .. }] => archive_existing.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(unify(json!([5, "6", "EXISTING-7", "existing_8", 5])), [5, 6, 7, 8]);
    assert_eq!(unify(json!([-1, true, null, "NEW-1", "x", 1.5, {}])), [] as [i64; 0]);
    assert_eq!(unify(Value::Null), [] as [i64; 0]);
    assert_eq!(unify(json!("EXISTING-3")), [3]);
}

#[test]
fn a_decision_that_cannot_be_read_does_not_cost_the_others() {
    let answer = read(json!([
        "independent",
        {"kind": "forget", "new_id": "NEW-0"},
        {"kind": "independent"},
        {"kind": "independent", "new_id": "EXISTING-0"},
        {"kind": "unify", "new_id": "NEW-0", "content": "  "},
        {"kind": "reject_new", "new_id": "NEW-0", "superseded_by_existing_id": -1},
        {"kind": "differentiate", "new_id": "NEW-0", "existing_id": 0, "refined_new_trigger": "a",
         "refined_existing_trigger": ""},
        {"kind": "differentiate", "new_id": ["NEW-0", "NEW-1"], "existing_id": 0, "refined_new_trigger": "a",
         "refined_existing_trigger": "b"},
        {"kind": "independent", "new_id": "NEW-1"},
    ]));
    assert_eq!((answer.decisions, answer.unreadable), (vec![Decision::Independent { new: vec![1] }], 8));
}

#[test]
fn an_answer_of_another_shape_is_not_an_empty_one() {
    for wrong in [json!({}), json!([]), json!({"decisions": null}), json!({"decisions": {"kind": "unify"}})] {
        assert!(serde_json::from_value::<ConsolidationAnswer>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn the_schema_is_strict_on_every_branch() {
    let schema = Value::from(schemars::schema_for!(ConsolidationAnswer));
    let branches = schema["properties"]["decisions"]["items"]["anyOf"].as_array().unwrap();
    assert_eq!(branches.len(), 4);
    for branch in branches {
        assert_eq!(branch["additionalProperties"], false);
        assert_eq!(
            branch["required"].as_array().unwrap().len(),
            branch["properties"].as_object().unwrap().len()
        );
    }
}
