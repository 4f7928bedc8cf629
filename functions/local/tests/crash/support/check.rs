//! What must hold once everything is quiet.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::SessionId;
use domain::learning::LearningKind;
use store::RequestDocument;

use super::clock::pass;
use super::publish::Publish;
use super::world::{Process, hash, keys, org};

/// Rounds of a minute in which everything must come to rest, silent sessions aside.
const ROUNDS_MAX: usize = 60;

/// Lets the queue and the sweep run, minute after minute, until nothing is due, leased or queued.
pub(crate) async fn run_until_quiet(process: &Process, users: &[&str]) {
    for _ in 0..ROUNDS_MAX {
        process.drain().await;
        let Some(wait) = unrest(process, users).await else { return };
        pass(wait).await;
        process.sweep().await.unwrap();
    }
    panic!("still not quiet after {ROUNDS_MAX} rounds");
}

/// Seconds to wait before looking again; `None` when all is quiet.
async fn unrest(process: &Process, users: &[&str]) -> Option<u64> {
    let org = org();
    let now = process.app.services.clock.now();
    let (visible, in_flight) = process.count(&process.queue).await;
    let mut restless = visible + in_flight > 0;
    let mut next_due = None;
    for user in users {
        let user = hash(user);
        let keys = keys(&org, &user);
        restless |= process.app.services.store.is_leased(&keys).await.unwrap();
        let head = process.app.services.store.head(&keys).await.unwrap();
        next_due = next_due.into_iter().chain(head.and_then(|head| head.due_at)).min();
    }
    match next_due {
        None if !restless => None,
        // Only a silent session is waited for.
        Some(at) if !restless && at > now => Some(u64::try_from(at - now).unwrap() + 60),
        _ => Some(60),
    }
}

/// What is known of the calls that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Answered with success: it is stored.
    Acknowledged,
    /// Never answered: it is stored or not.
    Unknown,
}

/// Checks a user all of whose calls are listed.
pub(crate) async fn check_user(process: &Process, user: &str, calls: &[(Publish, Fate)]) {
    let org = org();
    let user_hash = hash(user);
    let keys = keys(&org, &user_hash);
    let store = &process.app.services.store;
    let Some(head) = store.head(&keys).await.unwrap() else {
        assert!(calls.iter().all(|(_, fate)| *fate == Fate::Unknown), "{user}: nothing is stored");
        return;
    };
    let documents = store.documents(&keys, 0, head.count).await.unwrap();
    check_documents(user, head.count, &documents, calls);
    check_sessions(process, user, &documents).await;
    assert_eq!(head.due_at, None, "{user}: nothing is due");
    assert!(!store.is_leased(&keys).await.unwrap(), "{user}: the lease is free");
    for kind in LearningKind::ALL {
        let rows = match kind {
            LearningKind::Profile => {
                store.profiles(&keys).await.unwrap().into_iter().map(|row| row.profile.content).collect()
            }
            LearningKind::Playbook => store
                .user_playbooks(&keys)
                .await
                .unwrap()
                .into_iter()
                .map(|row| row.playbook.content)
                .collect(),
        };
        let windows = check_windows(process, user, kind, &documents).await;
        check_rows(user, kind, &windows, rows);
        let eligible: usize = windows.iter().map(Vec::len).sum();
        assert_eq!(head.admitted(kind), i64::try_from(eligible).unwrap(), "{user} {kind:?}: admitted");
        assert_eq!(head.learned(kind), head.admitted(kind), "{user} {kind:?}: learned");
    }
    for document in &documents {
        let status = process.learning_status(document.request.request_id.as_str()).await;
        assert_eq!(status["status"], "done", "{user}: {status}");
    }
}

/// Every acknowledged call is stored exactly once and whole; nothing else is; positions have no gap.
fn check_documents(user: &str, count: i64, documents: &[RequestDocument], calls: &[(Publish, Fate)]) {
    let known: BTreeMap<&str, &Publish> =
        calls.iter().map(|(call, _)| (call.request.as_str(), call)).collect();
    let (mut position, mut seen, mut ids) = (0, BTreeSet::new(), BTreeSet::new());
    for document in documents {
        let id = document.request.request_id.as_str();
        assert_eq!(document.first_position, position, "{user}: positions have no gap");
        position = document.end_position();
        assert!(seen.insert(id.to_owned()), "{user}: {id} is stored twice");
        let call = known[id];
        let said: Vec<_> = document.interactions.iter().map(|turn| turn.content.clone()).collect();
        assert_eq!(said, (0..call.size).map(|index| call.mark(index)).collect::<Vec<_>>(), "{user}: {id}");
        assert!(
            document.interactions.iter().all(|turn| ids.insert(turn.interaction_id)),
            "{user}: unique ids"
        );
    }
    assert_eq!(position, count, "{user}: the head counts what is stored");
    for (call, fate) in calls {
        let stored = seen.contains(&call.request);
        assert!(stored || *fate == Fate::Unknown, "{user}: acknowledged {} is lost", call.request);
    }
}

/// Each session counts the requests that are in it.
async fn check_sessions(process: &Process, user: &str, documents: &[RequestDocument]) {
    let mut counts: BTreeMap<&SessionId, i64> = BTreeMap::new();
    for document in documents {
        *counts.entry(&document.request.session_id).or_default() += 1;
    }
    let org = org();
    let user_hash = hash(user);
    for (session, requests) in counts {
        let record =
            process.app.services.store.session(&keys(&org, &user_hash), session).await.unwrap().unwrap();
        assert_eq!(record.requests, requests, "{user}: session {session}");
    }
}

/// Every eligible interaction is new in exactly one window. The marks of each window's new interactions.
async fn check_windows(
    process: &Process,
    user: &str,
    kind: LearningKind,
    documents: &[RequestDocument],
) -> Vec<Vec<String>> {
    let org = org();
    let user_hash = hash(user);
    let keys = keys(&org, &user_hash);
    let store = &process.app.services.store;
    let eligible: BTreeMap<i64, String> = documents
        .iter()
        .filter(|document| document.policy.of(kind).eligible)
        .flat_map(|document| (document.first_position..).zip(&document.interactions))
        .map(|(position, turn)| (position, turn.content.clone()))
        .collect();
    let receipts = store.window_receipts(&keys, kind, 0).await.unwrap();
    let mut windows = Vec::new();
    let mut end = 0;
    for receipt in &receipts {
        assert!(receipt.start >= end, "{user} {kind:?}: windows overlap: {receipts:?}");
        let passed_over = eligible.range(end..receipt.start).count();
        assert_eq!(passed_over, 0, "{user} {kind:?}: a gap before {receipt:?}");
        end = receipt.end;
        let new: Vec<String> = eligible.range(receipt.start..end).map(|(_, mark)| mark.clone()).collect();
        assert_eq!(
            receipt.new_interactions,
            i64::try_from(new.len()).unwrap(),
            "{user} {kind:?}: {receipt:?}"
        );
        assert_eq!((receipt.added, receipt.gate), (1, true), "{user} {kind:?}: {receipt:?}");
        windows.push(new);
    }
    assert_eq!(eligible.range(end..).count(), 0, "{user} {kind:?}: not learned after {end}");
    let cursor = store.cursor(&keys, kind).await.unwrap();
    assert_eq!(cursor.learned, i64::try_from(eligible.len()).unwrap(), "{user} {kind:?}: {cursor:?}");
    assert!((cursor.attempts, cursor.parked) == (0, false), "{user} {kind:?}: {cursor:?}");
    windows
}

/// There is exactly one row for each window, and it names what was new in it.
fn check_rows(user: &str, kind: LearningKind, windows: &[Vec<String>], rows: Vec<String>) {
    let verb = match kind {
        LearningKind::Profile => "Said",
        LearningKind::Playbook => "Heed",
    };
    // A model sees a window session by session: the order of the words is not that of the positions.
    let in_order = |mut words: Vec<String>| {
        words.sort();
        words
    };
    let expected = windows.iter().map(|new| in_order(new.iter().cloned().chain([verb.to_owned()]).collect()));
    let found = rows.iter().map(|row| in_order(row.split(' ').map(str::to_owned).collect()));
    let (mut expected, mut found): (Vec<_>, Vec<_>) = (expected.collect(), found.collect());
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "{user} {kind:?}");
}
