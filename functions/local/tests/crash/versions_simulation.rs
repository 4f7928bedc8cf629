//! Random lives of several users: rows written and replaced, windows learned, versions changed in every way, processes
//! that die in the middle. After each step every user is as a plain reference says. A failure names its seed;
//! `CRASH_SEED=<seed>` runs that one alone.

use std::collections::BTreeMap;

use domain::entities::Status;
use domain::learning::LearningKind;
use learning::versions::{Progress, go_on};
use serde_json::{Value, json};
use store::VersionCounts;

use crate::support::chance::Chance;
use crate::support::check::run_until_quiet;
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::rows::{NewRow, Shown, downgrade, listed, row, shown, try_add, upgrade};
use crate::support::world::{Process, World, org};

/// Seeds in all, a part in each test so that the parts run side by side.
const SEEDS: u64 = 24;
const PARTS: u64 = 2;
const STEPS: u64 = 14;
const USERS: [&str; 3] = ["ana", "bo", "cy"];
/// A kill comes at one of so many calls.
const CALLS_MAX: u64 = 40;
/// Time of a function that goes on, in milliseconds.
const RUN_MS: i64 = 600_000;

#[tokio::test(start_paused = true)]
async fn versions_follow_the_reference_whatever_happens_first_part() {
    run_part(0).await;
}

#[tokio::test(start_paused = true)]
async fn versions_follow_the_reference_whatever_happens_second_part() {
    run_part(1).await;
}

async fn run_part(part: u64) {
    let chosen: Option<u64> = std::env::var("CRASH_SEED").ok().map(|seed| seed.parse().unwrap());
    let (mut kills, mut changes) = (0, 0);
    for seed in (0..SEEDS).filter(|seed| seed % PARTS == part) {
        if chosen.is_none_or(|chosen| chosen == seed) {
            println!("seed {seed}");
            let mut life = Life::new(seed);
            for step in 0..STEPS {
                life.step(step).await;
            }
            kills += life.kills;
            changes += life.changes;
        }
    }
    assert!(chosen.is_some() || (kills > 5 && changes > 20), "{kills} kills, {changes} changes: too tame");
}

/// A change of versions, as a caller asks for it.
#[derive(Debug, Clone)]
struct Wish {
    is_upgrade: bool,
    archive_current: bool,
    only_affected: bool,
    user: Option<&'static str>,
    ids: Option<Vec<String>>,
}

impl Wish {
    fn any(kind: LearningKind, names: &[String], chance: &mut Chance) -> Self {
        let is_profile = kind == LearningKind::Profile;
        let some = |chance: &mut Chance| {
            // The id of a learned profile is not its content.
            let written = names.iter().filter(|name| !name.starts_with("Said"));
            let picked = written.filter(|_| chance.percent(40)).cloned().collect();
            Some(picked)
        };
        Self {
            is_upgrade: chance.percent(55),
            archive_current: is_profile || chance.percent(70),
            only_affected: is_profile && chance.percent(40),
            user: (is_profile && chance.percent(25)).then_some(USERS[(chance.next() % 3) as usize]),
            ids: if is_profile && chance.percent(25) { some(chance) } else { None },
        }
    }

    fn body(&self, kind: LearningKind) -> Value {
        match kind {
            LearningKind::Profile => json!({
                "only_affected_users": self.only_affected, "user_id": self.user, "profile_ids": self.ids,
            }),
            LearningKind::Playbook => json!({ "archive_current": self.archive_current }),
        }
    }

    fn concerns(&self, user: &str, name: &str) -> bool {
        self.user.is_none_or(|wanted| wanted == user)
            && self.ids.as_ref().is_none_or(|ids| ids.iter().any(|id| id == name))
    }

    fn promoted(&self) -> Option<Status> {
        Some(if self.is_upgrade { Status::Pending } else { Status::Archived })
    }
}

/// What is expected of one kind.
#[derive(Debug, Clone, Default)]
struct Reference(BTreeMap<&'static str, Shown>);

impl Reference {
    /// Changes versions; what it counts, or nothing when nobody has a row that would become current.
    fn change(&mut self, wish: &Wish) -> Option<VersionCounts> {
        let promoted = wish.promoted();
        let has_promoted = |user: &str, rows: &Shown| {
            rows.iter().any(|(name, status)| *status == promoted && wish.concerns(user, name))
        };
        if !self.0.iter().any(|(user, rows)| has_promoted(user, rows)) {
            return None;
        }
        let mut counts = VersionCounts::default();
        for (user, rows) in &mut self.0 {
            if wish.only_affected && !has_promoted(user, rows) {
                continue;
            }
            rows.retain(|name, status| {
                if !wish.concerns(user, name) {
                    return true;
                }
                let before = *status;
                let archives = !wish.is_upgrade || wish.archive_current;
                if before == promoted {
                    *status = None;
                    counts.promoted += 1;
                } else if before.is_none() && archives || before == Some(Status::ArchiveInProgress) {
                    *status = Some(Status::Archived);
                    counts.archived += 1;
                } else if before == Some(Status::Archived) && archives {
                    counts.deleted += 1;
                    return false;
                }
                true
            });
        }
        Some(counts)
    }
}

/// One seed's world, and what is expected of it.
struct Life {
    seed: u64,
    chance: Chance,
    world: World,
    process: Process,
    profiles: Reference,
    playbooks: Reference,
    published: usize,
    kills: u64,
    changes: u64,
}

impl Life {
    fn new(seed: u64) -> Self {
        let world = World::new();
        let process = world.start();
        let users = || Reference(USERS.iter().map(|user| (*user, Shown::new())).collect());
        Self {
            seed,
            chance: Chance::new(seed),
            world,
            process,
            profiles: users(),
            playbooks: users(),
            published: 0,
            kills: 0,
            changes: 0,
        }
    }

    fn reference(&mut self, kind: LearningKind) -> &mut Reference {
        match kind {
            LearningKind::Profile => &mut self.profiles,
            LearningKind::Playbook => &mut self.playbooks,
        }
    }

    async fn step(&mut self, step: u64) {
        let kind = LearningKind::ALL[usize::from(self.chance.percent(50))];
        let user = USERS[(self.chance.next() % 3) as usize];
        match self.chance.between(0, 9) {
            0..4 => self.write(kind, user, step).await,
            4 => self.learn(user).await,
            _ => self.change(kind, step).await,
        }
        self.check(step).await;
    }

    /// Rows of any status; names of profiles are their ids, and some are written again.
    async fn write(&mut self, kind: LearningKind, user: &'static str, step: u64) {
        let mut rows: Vec<NewRow> = Vec::new();
        for n in 0..self.chance.between(1, 6) {
            let status = match self.chance.between(0, 9) {
                0..3 => None,
                3..6 => Some(Status::Pending),
                6..8 => Some(Status::Archived),
                8 => Some(Status::Superseded),
                _ => Some(Status::ArchiveInProgress),
            };
            rows.push(row(format!("{user} {step} {n}"), status));
        }
        if kind == LearningKind::Profile {
            let known: Vec<String> = self.profiles.0[user].keys().cloned().collect();
            let again =
                known.into_iter().filter(|name| name.starts_with(user)).find(|_| self.chance.percent(30));
            rows.extend(again.map(|name| row(name, None)));
        }
        assert_eq!(try_add(&self.process, kind, user, &rows).await, 200);
        let expected = self.reference(kind).0.get_mut(user).unwrap();
        expected.extend(rows.into_iter().map(|row| (row.name, row.status)));
    }

    /// A window of each kind: one current row each.
    async fn learn(&mut self, user: &'static str) {
        let mut call = Publish::new(user, self.published, 2);
        call.force = true;
        self.published += 1;
        assert_eq!(self.process.publish(&call).await, 200);
        run_until_quiet(&self.process, &[user]).await;
        for kind in LearningKind::ALL {
            let seen = shown(&self.process, kind, user).await;
            let expected = self.reference(kind).0.get_mut(user).unwrap();
            let new: Vec<_> = seen.into_iter().filter(|(name, _)| !expected.contains_key(name)).collect();
            assert_eq!(new.len(), 1, "one row is learned: {new:?}");
            assert_eq!(new[0].1, None, "and it is current");
            expected.extend(new);
        }
    }

    /// An upgrade or downgrade, often with a death in between, and whatever comes after it.
    async fn change(&mut self, kind: LearningKind, step: u64) {
        let names: Vec<String> = self.reference(kind).0.values().flat_map(Shown::keys).cloned().collect();
        let wish = Wish::any(kind, &names, &mut self.chance);
        let mut after = self.reference(kind).clone();
        let expected = after.change(&wish);
        let run_before = self.run(kind).await;
        if self.chance.percent(60) {
            let seed = self.chance.next();
            self.world.hub.kill_within(CALLS_MAX, seed);
        }
        let change = async {
            if wish.is_upgrade {
                upgrade(&self.process, kind, wish.body(kind)).await
            } else {
                downgrade(&self.process, kind, wish.body(kind)).await
            }
        };
        let (status, answer) = change.await;
        let died = self.world.hub.is_dead();
        self.world.hub.revive();
        self.process = self.world.start();
        let run_after = self.run(kind).await;
        let has_begun = run_before != run_after;
        let label = format!("seed {} step {step}: {wish:?} {answer}", self.seed);
        if has_begun {
            let counts = self.deliver_again(kind, &run_after.unwrap()).await;
            assert_eq!(Some(counts), expected, "{label}");
            *self.reference(kind) = after;
            self.changes += 1;
        } else {
            assert!(died || expected.is_none(), "{label}");
        }
        if died {
            self.kills += 1;
        } else {
            assert_eq!(
                (status.as_u16(), answer["success"].as_bool()),
                (200, Some(expected.is_some())),
                "{label}"
            );
        }
    }

    async fn run(&self, kind: LearningKind) -> Option<String> {
        let progress = self.process.app.services.store.version_progress(&org(), kind).await.unwrap();
        progress.map(|progress| progress.operation.operation_id)
    }

    /// The wake comes, later or at once, and perhaps again.
    async fn deliver_again(&mut self, kind: LearningKind, run: &str) -> VersionCounts {
        pass(self.chance.between(0, 400)).await;
        loop {
            let services = &self.process.app.services;
            let deadline = services.clock.now_ms() + RUN_MS;
            let done = go_on(services, &org(), kind, run, deadline).await.unwrap();
            match done {
                Progress::Done(_) if self.chance.percent(20) => {}
                Progress::Done(counts) => return counts,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Every user is as expected, in their own memory and in the lists over all users.
    async fn check(&self, step: u64) {
        let kinds = [(LearningKind::Profile, &self.profiles), (LearningKind::Playbook, &self.playbooks)];
        for (kind, reference) in kinds {
            let lists = listed(&self.process, kind).await;
            for (user, expected) in &reference.0 {
                let seen = shown(&self.process, kind, user).await;
                assert_eq!(seen, *expected, "seed {} step {step}: {kind:?} of {user}", self.seed);
                let listed = lists.get(*user).cloned().unwrap_or_default();
                let is_listed = |status: &Option<Status>| {
                    matches!(status, None | Some(Status::Pending | Status::Archived))
                };
                let mut ordinary = expected.clone();
                ordinary.retain(|_, status| is_listed(status));
                assert_eq!(listed, ordinary, "seed {} step {step}: the list of {user}", self.seed);
            }
        }
    }
}
