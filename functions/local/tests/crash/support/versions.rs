//! Users whose versions change, and what brings a change to its end.

use std::collections::BTreeMap;

use domain::entities::Status;
use domain::learning::LearningKind;
use learning::versions::{Progress, go_on};
use store::VersionCounts;

use super::rows::{NewRow, Shown, add, count, row, shown};
use super::world::{Process, org};

/// Time of a function that goes on, in milliseconds.
const RUN_MS: i64 = 600_000;

pub(crate) const USERS: [&str; 3] = ["ana", "bo", "cy"];
pub(crate) const PENDING: Option<Status> = Some(Status::Pending);
pub(crate) const ARCHIVED: Option<Status> = Some(Status::Archived);

/// So many archived rows, a few of each other status, and a tombstone.
pub(crate) fn some_rows(user: &str, archived: usize) -> Vec<NewRow> {
    let mut rows = vec![row(format!("{user} merged"), Some(Status::Merged))];
    for (word, status, many) in
        [("current", None, 3), ("pending", PENDING, 4), ("archived", ARCHIVED, archived)]
    {
        rows.extend((0..many).map(|n| row(format!("{user} {word} {n}"), status)));
    }
    rows
}

/// Users with rows of each status, all of them or all but one with pending ones.
pub(crate) async fn populated(process: &Process, kind: LearningKind) -> BTreeMap<&'static str, Shown> {
    // A deleted row takes two items: Ana's fill more than one transaction.
    for (user, archived) in [("ana", 46), ("bo", 2)] {
        add(process, kind, user, &some_rows(user, archived)).await;
    }
    add(process, kind, "cy", &[row("cy current", None), row("cy archived", ARCHIVED)]).await;
    all_shown(process, kind).await
}

pub(crate) async fn all_shown(process: &Process, kind: LearningKind) -> BTreeMap<&'static str, Shown> {
    let mut all = BTreeMap::new();
    for user in USERS {
        all.insert(user, shown(process, kind, user).await);
    }
    all
}

/// Whoever was left is finished by a wake that comes again, as often as it comes.
pub(crate) async fn redeliver(process: &Process, kind: LearningKind) -> Option<VersionCounts> {
    let store = &process.app.services.store;
    let progress = store.version_progress(&org(), kind).await.unwrap()?;
    let run = progress.operation.operation_id;
    let mut counts = None;
    for _ in 0..2 {
        let deadline = process.app.services.clock.now_ms() + RUN_MS;
        match go_on(&process.app.services, &org(), kind, &run, deadline).await.unwrap() {
            Progress::Done(done) => {
                assert!(counts.is_none_or(|counts| counts == done), "a second delivery counted again");
                counts = Some(done);
            }
            other => panic!("{other:?}"),
        }
    }
    counts
}

pub(crate) fn expected_counts(before: &BTreeMap<&str, Shown>) -> VersionCounts {
    let sum = |status| before.values().map(|rows| count(rows, status)).sum();
    VersionCounts { promoted: sum(PENDING), archived: sum(None), deleted: sum(ARCHIVED), skipped_users: 0 }
}
