//! Random lives of an organisation: conversations, previews, upgrades, edits, deletes, workers that die, messages
//! that come twice. After each step callers see what a plain reference model says, and after a death either that or
//! what was there before. A failure names its seed; `CRASH_SEED=<seed>` runs that one alone.

mod caller;
mod reference;

use reference::{Kind, Reference, Step, Verdict};

use crate::support::chance::Chance;
use crate::support::clock::pass;
use crate::support::world::{Process, World, hash, keys, org};
use store::DUE_SHARDS;

/// Sequences in all, a part in each test so that the parts run side by side. `CRASH_SEQUENCES=10000` runs more.
const SEQUENCES: u64 = 1_900;
const PARTS: u64 = 4;
/// Steps of one sequence.
const STEPS_MIN: u64 = 3;
const STEPS_MAX: u64 = 8;
/// Interactions of one publish: fewer than a stride, so that each is one window.
const SIZE_MAX: u64 = 3;
/// A kill comes at one of so many calls of a step.
const CALLS_MAX: u64 = 40;
/// Rounds in which everything must come to rest, and how long each is, in seconds.
const ROUNDS_MAX: usize = 60;
const ROUND_SECONDS: u64 = 90;
/// What is due within this time, in seconds, is waited for; sessions that may fall silent are not.
const SOON_SECONDS: i64 = 3_600;
/// Share of steps amid which the process dies, in percent.
const KILL_PERCENT: u64 = 15;
/// Share of steps that a sweep meets, in percent.
const SWEEP_PERCENT: u64 = 25;
/// Share of messages that come twice, in percent.
const TWICE_PERCENT: u64 = 20;

#[tokio::test(start_paused = true)]
async fn callers_see_what_the_reference_says_first_part() {
    run_part(0).await;
}

#[tokio::test(start_paused = true)]
async fn callers_see_what_the_reference_says_second_part() {
    run_part(1).await;
}

#[tokio::test(start_paused = true)]
async fn callers_see_what_the_reference_says_third_part() {
    run_part(2).await;
}

#[tokio::test(start_paused = true)]
async fn callers_see_what_the_reference_says_fourth_part() {
    run_part(3).await;
}

async fn run_part(part: u64) {
    let chosen: Option<u64> = std::env::var("CRASH_SEED").ok().map(|seed| seed.parse().unwrap());
    let mut deaths = 0;
    let sequences = std::env::var("CRASH_SEQUENCES").map_or(SEQUENCES, |count| count.parse().unwrap());
    for seed in (0..sequences).filter(|seed| seed % PARTS == part) {
        if chosen.is_none_or(|chosen| chosen == seed) {
            // Shown when the test fails.
            println!("seed {seed}");
            deaths += run_sequence(seed).await;
        }
    }
    assert!(chosen.is_some() || deaths >= sequences / PARTS / 10, "{deaths} deaths: too tame");
}

/// Runs one sequence; returns how often the process died.
async fn run_sequence(seed: u64) -> u64 {
    let mut chance = Chance::new(seed);
    let world = World::new();
    let users: &[&'static str] = if chance.percent(50) { &["ana"] } else { &["ana", "bo"] };
    let mut reference = Reference::new(users);
    let mut process = world.start();
    let mut deaths = 0;
    for n in 0..usize::try_from(chance.between(STEPS_MIN, STEPS_MAX)).unwrap() {
        let step = next_step(&process, &reference, users, n, &mut chance).await;
        println!("  {step:?}");
        let after = reference.after(&step);
        process.double_messages(TWICE_PERCENT, chance.next());
        if chance.percent(KILL_PERCENT) {
            world.hub.kill_within(CALLS_MAX, chance.next());
        }
        tokio::select! {
            biased;
            () = live(&process, &step, n, chance.percent(SWEEP_PERCENT)) => {}
            () = world.death() => {}
        }
        let died = world.hub.is_dead();
        if died {
            deaths += 1;
            // Some processes come back at once, some when every lease and message has run out.
            pass(if chance.percent(50) { chance.between(0, 20) } else { chance.between(300, 1000) }).await;
            process = world.start();
        } else {
            // A kill that did not come is called off.
            world.hub.revive();
        }
        settle(&process, users, died).await;
        let mut seen = caller::seen(&process, users).await;
        // Nobody knows whether a verdict was taken; repeating it changes nothing.
        let is_verdict = matches!(step, Step::Judge { .. });
        if died && (is_verdict || is_seen(&reference, &seen) && !is_seen(&after, &seen)) {
            // It never came to be: the client asks again.
            assert!(caller::send(&process, &step, n).await, "{step:?} is answered");
            settle(&process, users, false).await;
            seen = caller::seen(&process, users).await;
        }
        assert!(is_seen(&after, &seen), "after {step:?} (died: {died})\nexpected {after:#?}\nseen {seen:#?}");
        check_agent_playbooks(&process, &after).await;
        reference = after;
    }
    deaths
}

/// A step and the work that follows from it. Of a process that dies on the way, what it still does is nothing.
async fn live(process: &Process, step: &Step, n: usize, sweeps: bool) {
    caller::send(process, step, n).await;
    process.drain_all().await;
    if sweeps {
        // One that fails is made up for by the next.
        let _ = process.sweep().await;
    }
}

/// Lets queues and sweep run until nothing is under way or due soon. Only where a process died, leases and messages
/// may be left with it.
async fn settle(process: &Process, users: &[&'static str], died: bool) {
    for _ in 0..ROUNDS_MAX {
        process.drain_all().await;
        let is_restless = is_due(process).await || died && is_held(process, users).await;
        if !is_restless {
            return;
        }
        pass(ROUND_SECONDS).await;
        process.sweep().await.unwrap();
    }
    panic!("still not quiet after {ROUNDS_MAX} rounds");
}

async fn is_due(process: &Process) -> bool {
    let store = &process.app.services.store;
    let soon = process.app.services.clock.now() + SOON_SECONDS;
    for shard in 0..DUE_SHARDS {
        if !store.due_entries(shard, soon, 1).await.unwrap().is_empty() {
            return true;
        }
    }
    false
}

/// Whether a lease or a message is with somebody.
async fn is_held(process: &Process, users: &[&'static str]) -> bool {
    let org = org();
    for user in users {
        if process.app.services.store.is_leased(&keys(&org, &hash(user))).await.unwrap() {
            return true;
        }
    }
    process.has_messages().await
}

/// What people looked at stands as they left it; of the rest there is at most one, since all rules are alike to the
/// scripted embedder, and it is none that was rejected.
async fn check_agent_playbooks(process: &Process, reference: &Reference) {
    let rows = caller::agent_playbooks(process).await.unwrap();
    let status = |row: &serde_json::Value| row["playbook_status"].as_str().unwrap().to_owned();
    for (content, verdict) in &reference.judged {
        let expected = if *verdict == Verdict::Approved { "approved" } else { "rejected" };
        let found: Vec<_> = rows.iter().filter(|row| row["content"] == *content).map(status).collect();
        assert_eq!(found, [expected], "{content}: {rows:#?}");
    }
    let pending: Vec<_> = rows.iter().filter(|row| status(row) == "pending").collect();
    assert!(pending.len() <= 1, "{rows:#?}");
}

type Seen = std::collections::BTreeMap<&'static str, std::collections::BTreeMap<Kind, reference::Versions>>;

fn is_seen(reference: &Reference, seen: &Seen) -> bool {
    reference
        .users
        .iter()
        .all(|(user, expected)| Kind::ALL.iter().all(|kind| expected.of(*kind) == seen[user][kind]))
}

/// What may come next.
async fn next_step(
    process: &Process,
    reference: &Reference,
    users: &[&'static str],
    n: usize,
    chance: &mut Chance,
) -> Step {
    let user = users[usize::try_from(chance.between(0, users.len() as u64 - 1)).unwrap()];
    let kind = Kind::ALL[usize::try_from(chance.between(0, 1)).unwrap()];
    let current = reference.users[user].of(kind).current;
    let row = |chance: &mut Chance| {
        current[usize::try_from(chance.between(0, current.len() as u64 - 1)).unwrap()].clone()
    };
    let roll = chance.between(0, 99);
    if roll >= 94 {
        let rows = caller::agent_playbooks(process).await.unwrap();
        let pending = rows.iter().find(|row| row["playbook_status"] == "pending");
        if let Some(row) = pending {
            let content = row["content"].as_str().unwrap().to_owned();
            let verdict = if chance.percent(50) { Verdict::Approved } else { Verdict::Rejected };
            return Step::Judge { content, verdict };
        }
    }
    match roll {
        0..20 => publish(user, n, chance),
        20..38 => Step::Rerun { kind },
        38..46 => Step::Manual { kind },
        46..66 => Step::Upgrade {
            kind,
            // Part of one of the two routes each.
            only_affected_users: kind == Kind::Profile && chance.percent(50),
            archive_current: kind == Kind::Profile || chance.percent(70),
        },
        66..80 => Step::Downgrade { kind, only_affected_users: kind == Kind::Profile && chance.percent(50) },
        80..87 => Step::Add { user, kind, content: format!("written at {n}") },
        87..91 if !current.is_empty() => {
            Step::Edit { user, kind, old: row(chance), new: format!("edited at {n}") }
        }
        91.. if !current.is_empty() => Step::Delete { user, kind, content: row(chance) },
        _ => publish(user, n, chance),
    }
}

fn publish(user: &'static str, n: usize, chance: &mut Chance) -> Step {
    let marks = (0..chance.between(1, SIZE_MAX)).map(|index| format!("t{n}-{index}")).collect();
    Step::Publish { user, marks }
}
