//! Recorded exchanges with the client: each request of `cases.jsonl` is sent in order, as later ones build on
//! what earlier ones stored, and each recorded answer is compared with ours.
//!
//! Values that differ from run to run (`volatile`) are passed over, times are shifted to now, and where an
//! answer depends on what a model says (`shape_only`) its keys and types must agree, not its values.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod compare;
mod replay;

use replay::{Case, Replay};

/// Every line is a case.
const CASES: &str = include_str!("cases.jsonl");

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_are_answered_as_recorded() {
    let mut replay = Replay::start().await;
    let mut compared = 0;
    let mut differing = Vec::new();
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let answer = replay.send(&case).await;
        let Some(expected) = &case.expected else { continue };
        compared += 1;
        let found = compare::differences(expected, &answer);
        if !found.is_empty() {
            differing.push(format!("{}: {}", case.id, found.join(" | ")));
        }
    }
    replay.stop().await;
    assert!(compared > 100, "only {compared} cases were compared");
    assert!(differing.is_empty(), "{} of {compared} differ:\n{}", differing.len(), differing.join("\n"));
}
