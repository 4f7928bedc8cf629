//! What users should see of their memory: a plain model in place of tables, queues and workers.

use std::collections::BTreeMap;

/// Interactions that a rerun or a manual generation looks at where no window is configured.
const WINDOW: usize = 1_000;

/// What is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Profile,
    Playbook,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Profile, Self::Playbook];

    /// What the scripted model makes of a window.
    pub(super) fn learned(self, marks: &[String]) -> String {
        let verb = match self {
            Self::Profile => "Said",
            Self::Playbook => "Heed",
        };
        format!("{verb} {}", marks.join(" "))
    }
}

/// The rows of one kind of one user, by version; each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) current: Vec<String>,
    pub(super) pending: Vec<String>,
    pub(super) archived: Vec<String>,
}

impl Versions {
    fn upgrade(&mut self) {
        self.archived = std::mem::replace(&mut self.current, std::mem::take(&mut self.pending));
    }

    fn promote(&mut self) {
        self.current.append(&mut self.pending);
        self.current.sort();
    }

    fn downgrade(&mut self) {
        std::mem::swap(&mut self.current, &mut self.archived);
    }

    fn add(&mut self, content: String) {
        self.current.push(content);
        self.current.sort();
    }
}

/// One user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct User {
    /// What was said, in order.
    pub(super) marks: Vec<String>,
    pub(super) memory: BTreeMap<Kind, Versions>,
}

impl User {
    pub(super) fn of(&self, kind: Kind) -> Versions {
        self.memory.get(&kind).cloned().unwrap_or_default()
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Versions {
        self.memory.entry(kind).or_default()
    }

    fn window(&self) -> &[String] {
        &self.marks[self.marks.len().saturating_sub(WINDOW)..]
    }
}

/// What a caller does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A user says these, and they are learned from at once.
    Publish { user: &'static str, marks: Vec<String> },
    /// All users' last windows are learned from once more, as a preview.
    Rerun { kind: Kind },
    /// All users' last windows are learned from once more.
    Manual { kind: Kind },
    /// Previews become current.
    Upgrade { kind: Kind, only_affected_users: bool, archive_current: bool },
    /// The version before comes back.
    Downgrade { kind: Kind, only_affected_users: bool },
    /// A caller writes a row.
    Add { user: &'static str, kind: Kind, content: String },
    /// A caller changes a current row.
    Edit { user: &'static str, kind: Kind, old: String, new: String },
    /// A caller deletes a current row.
    Delete { user: &'static str, kind: Kind, content: String },
    /// People look at an agent playbook.
    Judge { content: String, verdict: Verdict },
}

/// What people think of an agent playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Approved,
    Rejected,
}

/// All users of an organisation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) users: BTreeMap<&'static str, User>,
    /// Agent playbooks that people looked at: none of them ever changes by itself.
    pub(super) judged: BTreeMap<String, Verdict>,
}

impl Reference {
    pub(super) fn new(users: &[&'static str]) -> Self {
        Self { users: users.iter().map(|user| (*user, User::default())).collect(), ..Self::default() }
    }

    /// The same after a step.
    pub(super) fn after(&self, step: &Step) -> Self {
        let mut next = self.clone();
        next.apply(step);
        next
    }

    fn user(&mut self, user: &'static str) -> &mut User {
        self.users.entry(user).or_default()
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Publish { user, marks } => {
                let user = self.user(user);
                user.marks.extend(marks.iter().cloned());
                for kind in Kind::ALL {
                    user.of_mut(kind).add(kind.learned(marks));
                }
            }
            Step::Rerun { kind } => self.each_who_spoke(|user| {
                let learned = kind.learned(user.window());
                let pending = &mut user.of_mut(*kind).pending;
                if *kind == Kind::Playbook {
                    pending.clear();
                }
                pending.push(learned);
                pending.sort();
            }),
            Step::Manual { kind } => self.each_who_spoke(|user| {
                let learned = kind.learned(user.window());
                user.of_mut(*kind).add(learned);
            }),
            Step::Upgrade { kind, only_affected_users, archive_current } => {
                self.upgrade(*kind, *only_affected_users, *archive_current);
            }
            Step::Downgrade { kind, only_affected_users } => self.downgrade(*kind, *only_affected_users),
            Step::Add { user, kind, content } => self.user(user).of_mut(*kind).add(content.clone()),
            Step::Edit { user, kind, old, new } => {
                let rows = self.user(user).of_mut(*kind);
                remove(&mut rows.current, old);
                rows.add(new.clone());
            }
            Step::Delete { user, kind, content } => {
                remove(&mut self.user(user).of_mut(*kind).current, content);
            }
            Step::Judge { content, verdict } => {
                self.judged.insert(content.clone(), *verdict);
            }
        }
    }

    fn each_who_spoke(&mut self, change: impl Fn(&mut User)) {
        self.users.values_mut().filter(|user| !user.marks.is_empty()).for_each(change);
    }

    fn upgrade(&mut self, kind: Kind, only_affected_users: bool, archive_current: bool) {
        if self.users.values().all(|user| user.of(kind).pending.is_empty()) {
            return;
        }
        for user in self.users.values_mut() {
            let rows = user.of_mut(kind);
            if only_affected_users && rows.pending.is_empty() {
                continue;
            }
            if archive_current { rows.upgrade() } else { rows.promote() }
        }
    }

    fn downgrade(&mut self, kind: Kind, only_affected_users: bool) {
        if self.users.values().all(|user| user.of(kind).archived.is_empty()) {
            return;
        }
        for user in self.users.values_mut() {
            let rows = user.of_mut(kind);
            if !(only_affected_users && rows.archived.is_empty()) {
                rows.downgrade();
            }
        }
    }
}

fn remove(rows: &mut Vec<String>, content: &str) {
    let place = rows.iter().position(|row| row == content).unwrap();
    rows.remove(place);
}

#[test]
fn a_downgrade_is_its_own_inverse_in_the_reference_too() {
    let mut reference = Reference::new(&["ana"]);
    for mark in ["a", "b"] {
        reference = reference.after(&Step::Publish { user: "ana", marks: vec![mark.to_owned()] });
    }
    reference = reference.after(&Step::Rerun { kind: Kind::Profile });
    let all = Step::Upgrade { kind: Kind::Profile, only_affected_users: false, archive_current: true };
    let upgraded = reference.after(&all);
    assert_ne!(upgraded, reference);
    let back = Step::Downgrade { kind: Kind::Profile, only_affected_users: false };
    assert_ne!(upgraded.after(&back), upgraded);
    assert_eq!(upgraded.after(&back).after(&back), upgraded);
}
