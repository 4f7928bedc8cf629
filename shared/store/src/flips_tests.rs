//! Flips of one user against a plain reference: whatever is written, flipped, rewritten by parts and begun again, what
//! readers are shown is what a table of names and statuses says.

use std::collections::BTreeMap;

use domain::versions::Direction;
use proptest::prelude::*;

use super::*;
use crate::attributes::{ItemBuilder, number};
use crate::keys::Key;

const VERSIONS: [&str; 2] = ["v1", "v2"];

/// What a reader is to see: agent version and status of each row.
type Expected = BTreeMap<u8, (usize, Option<Status>)>;

/// One thing that happens to a user.
#[derive(Debug, Clone)]
enum Step {
    /// A caller, a rerun or a worker writes a row, whatever there was.
    Write { row: u8, version: usize, status: Option<Status> },
    /// A row is deleted.
    Delete { row: u8 },
    /// The versions change.
    Flip { change: VersionChange, version: Option<usize> },
    /// Some worker rewrites a few rows and dies: every so many of them.
    Rewrite { every: usize },
    /// Some worker rewrites all rows, as another one did that came before, and clears the record.
    Finish,
}

/// A user as it is stored.
#[derive(Debug, Default)]
struct User {
    rows: BTreeMap<u8, Item>,
    state: FlipState,
}

impl User {
    fn put(&mut self, row: u8, version: usize, status: Option<Status>) {
        let key = Key::from_parts("O#o#U#u", &format!("{}{row:012}", row_prefix(LearningKind::Playbook)));
        let item = ItemBuilder::new(&key)
            .text(AGENT_VERSION, VERSIONS[version])
            .text_if(STATUS, status.map(Status::as_str));
        self.rows.insert(row, item.build());
    }

    fn flip(&mut self, change: VersionChange, version: Option<usize>) {
        let scope = version.map_or(RowScope::All, |v| RowScope::AgentVersion(VERSIONS[v].to_owned()));
        self.state.number += 1;
        self.state.flip = Some(Flip {
            operation_id: "op".to_owned(),
            number: self.state.number,
            kind: LearningKind::Playbook,
            change,
            scope,
        });
    }

    /// What the transactions of a flip do to every so many of the rows that are not rewritten yet.
    fn rewrite(&mut self, every: usize) {
        let Some(flip) = &self.state.flip else { return };
        let becomes = |item: &Item| flip.becomes(item).unwrap();
        let rest: Vec<u8> = self
            .rows
            .iter()
            .filter(|(_, item)| becomes(item) != Becomes::Same)
            .map(|(row, _)| *row)
            .collect();
        for row in rest.into_iter().step_by(every) {
            let item = self.rows.get_mut(&row).unwrap();
            match flip.becomes(item).unwrap() {
                Becomes::Same => unreachable!("it is not rewritten yet"),
                Becomes::Gone => {
                    self.rows.remove(&row);
                    continue;
                }
                Becomes::Current => {
                    item.remove(STATUS);
                }
                Becomes::Archived => {
                    item.insert(STATUS.to_owned(), text(Status::Archived.as_str()));
                }
            }
            item.insert(FLIP_STAMP.to_owned(), number(flip.number));
        }
    }

    fn finish(&mut self) {
        self.rewrite(1);
        self.state.flip = None;
    }

    fn shown(&self) -> Expected {
        let shown = self.state.show(self.rows.values().cloned().collect()).unwrap();
        let row = |item: &Item| {
            let reader = ItemReader(item);
            let row = reader.text(SK).unwrap()[2..].parse().unwrap();
            let version = VERSIONS.iter().position(|v| Some(*v) == reader.text_opt(AGENT_VERSION)).unwrap();
            (row, (version, status(reader).unwrap()))
        };
        shown.iter().map(row).collect()
    }
}

/// The reference, in words of its own.
fn change_expected(expected: &mut Expected, change: VersionChange, version: Option<usize>) {
    let upgrade = change.direction == Direction::Upgrade;
    expected.retain(|_, (of, status)| {
        if version.is_some_and(|version| version != *of) {
            return true;
        }
        let before = *status;
        if before == Some(Status::ArchiveInProgress) {
            *status = Some(Status::Archived);
        } else if upgrade {
            if before == Some(Status::Archived) && change.archive_current {
                return false;
            }
            if before == Some(Status::Pending) {
                *status = None;
            } else if before.is_none() && change.archive_current {
                *status = Some(Status::Archived);
            }
        } else if before.is_none() {
            *status = Some(Status::Archived);
        } else if before == Some(Status::Archived) {
            *status = None;
        }
        true
    });
}

fn any_status() -> impl Strategy<Value = Option<Status>> {
    prop_oneof![
        4 => Just(None),
        4 => Just(Some(Status::Pending)),
        3 => Just(Some(Status::Archived)),
        2 => proptest::sample::select(Status::ALL.to_vec()).prop_map(Some),
    ]
}

fn any_change() -> impl Strategy<Value = VersionChange> {
    let changes = vec![VersionChange::UPGRADE, VersionChange::ADDING_UPGRADE, VersionChange::DOWNGRADE];
    proptest::sample::select(changes)
}

fn any_step() -> impl Strategy<Value = Step> {
    let version = || proptest::option::of(0..VERSIONS.len());
    prop_oneof![
        6 => (0..24_u8, 0..VERSIONS.len(), any_status())
            .prop_map(|(row, version, status)| Step::Write { row, version, status }),
        1 => (0..24_u8).prop_map(|row| Step::Delete { row }),
        3 => (any_change(), version()).prop_map(|(change, version)| Step::Flip { change, version }),
        4 => (1..5_usize).prop_map(|every| Step::Rewrite { every }),
        1 => Just(Step::Finish),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn readers_see_what_the_reference_says_after_every_step(
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        let (mut user, mut expected) = (User::default(), Expected::new());
        for step in steps {
            match &step {
                Step::Write { row, version, status } => {
                    user.finish();
                    user.put(*row, *version, *status);
                    expected.insert(*row, (*version, *status));
                }
                Step::Delete { row } => {
                    user.finish();
                    user.rows.remove(row);
                    expected.remove(row);
                }
                Step::Flip { change, version } => {
                    user.finish();
                    user.flip(*change, *version);
                    change_expected(&mut expected, *change, *version);
                }
                Step::Rewrite { every } => user.rewrite(*every),
                Step::Finish => user.finish(),
            }
            prop_assert_eq!(&user.shown(), &expected, "after {:?}", step);
        }
    }

    #[test]
    fn a_version_stays_restorable_until_the_next_upgrade(
        rows in proptest::collection::btree_map(0..24_u8, any_status(), 0..24),
        rewritten in 1..5_usize,
    ) {
        let mut user = User::default();
        for (row, status) in rows {
            user.put(row, 0, status);
        }
        let mut flipped = |change: VersionChange| {
            user.flip(change, None);
            user.rewrite(rewritten);
            let shown = user.shown();
            user.finish();
            assert_eq!(user.shown(), shown, "nobody sees a flip being finished");
            shown
        };
        let upgraded = flipped(VersionChange::UPGRADE);
        let restored = flipped(VersionChange::DOWNGRADE);
        prop_assert_eq!(flipped(VersionChange::DOWNGRADE), upgraded);
        prop_assert_eq!(flipped(VersionChange::DOWNGRADE), restored);
    }
}
