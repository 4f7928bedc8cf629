//! Sessions that are judged while timers are lost, come twice or early, and workers die.

use std::collections::BTreeMap;

use domain::time::EpochSeconds;
use http::StatusCode;
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};

use crate::support::chance::Chance;
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// How long a session must be silent, in seconds.
const DELAY: i64 = 600;
/// What a judge may be late by, in seconds.
const LATE_MAX: i64 = 60;
/// A session whose judge died is free again after this, in seconds: the time-out of the function and its grace.
const LEASE: i64 = 750;

/// This part of sessions is judged by itself; jobs judge all there are, ten at once.
async fn configure(process: &Process, sampling_rate: f64) {
    let config = json!({
        "agent_success_config": { "success_definition_prompt": "They got it.", "sampling_rate": sampling_rate },
        "eval_sample_n_per_stratum": 10_000, "eval_concurrency_limit": 10,
    });
    let (status, answer) = process.call("POST", "/api/update_config", Some(&config)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

async fn publish(process: &Process, session: usize, request: usize) {
    let mut publish = Publish::new(&format!("u{session}"), request, 1);
    publish.evaluation_only = true;
    publish.session = format!("s{session}");
    assert_eq!(process.publish(&publish).await, StatusCode::OK);
}

/// A share of names, in percent, that the name alone decides; shares that begin at different places do not overlap.
fn is_among(name: &str, from: u64, percent: u64) -> bool {
    let sum = name.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    (from..from + percent).contains(&(Chance::new(sum).next() % 100))
}

/// When each session is active: bursts of requests with more than ten minutes between them.
fn bursts(chance: &mut Chance, sessions: usize) -> Vec<Vec<Vec<i64>>> {
    (0..sessions)
        .map(|_| {
            let mut at = i64::try_from(chance.between(0, 40_000)).unwrap();
            (0..chance.between(1, 3))
                .map(|_| {
                    let burst: Vec<i64> = (0..chance.between(1, 3))
                        .map(|step| {
                            at += if step == 0 { 0 } else { i64::try_from(chance.between(1, 250)).unwrap() };
                            at
                        })
                        .collect();
                    at += i64::try_from(chance.between(2_000, 12_000)).unwrap();
                    burst
                })
                .collect()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_of_a_thousand_sessions_is_judged_once_per_quiet_period_and_in_time() {
    const SESSIONS: usize = 1_000;
    const STEP: i64 = 20;
    const SEED: u64 = 20_261_130;
    println!("seed {SEED}");
    let mut chance = Chance::new(SEED);
    let world = World::new();
    let mut process = world.start();
    configure(&process, 1.0).await;
    let activity = bursts(&mut chance, SESSIONS);
    let mut requests: Vec<(i64, usize)> = activity
        .iter()
        .enumerate()
        .flat_map(|(session, bursts)| bursts.iter().flatten().map(move |at| (*at, session)))
        .collect();
    requests.sort_unstable();
    let last = requests.last().unwrap().0;
    let before = world.hub.counters().snapshot();
    let start = world.clock.now();
    let (mut sent, mut deaths, mut numbers) = (0, 0, BTreeMap::<usize, usize>::new());
    // When each session was last active, by its quiet periods, by the clock of the system.
    let mut quiet_since: BTreeMap<String, Vec<EpochSeconds>> = BTreeMap::new();
    while world.clock.now() - start < last + DELAY + 3 * LEASE {
        let now = world.clock.now() - start;
        while let Some((_, session)) = requests.get(sent).filter(|(at, _)| *at <= now) {
            let number = numbers.entry(*session).or_default();
            publish(&process, *session, *number).await;
            *number += 1;
            let periods = quiet_since.entry(format!("s{session}")).or_default();
            let at = world.clock.now();
            match periods.last_mut() {
                Some(previous) if at - *previous < DELAY => *previous = at,
                _ => periods.push(at),
            }
            sent += 1;
        }
        world.timers().lose(|name| is_among(name, 0, 5));
        world.fire_timers(|name| is_among(name, 5, 5));
        process.double_messages(5, chance.next());
        if now % 60 < STEP {
            process.sweep().await.unwrap();
        }
        if deaths < 5 && chance.percent(2) {
            world.hub.kill_after(chance.between(1, 20), Moment::After);
        }
        world.evaluate_with(&process, 10).await;
        deaths += usize::from(world.hub.is_dead());
        // Whoever was to die and had nothing to do lives on.
        process = world.start();
        let spent = world.clock.now() - start - now;
        pass(u64::try_from((STEP - spent).max(1)).unwrap()).await;
    }
    let judged = world.script.judges.verdicts();
    let periods: usize = quiet_since.values().map(Vec::len).sum();
    let mut late = 0;
    for (session, quiet) in &quiet_since {
        let verdicts = judged.get(session).unwrap_or_else(|| panic!("{session} was never judged"));
        assert_eq!(verdicts.len(), quiet.len(), "{session}: {quiet:?} {verdicts:?}");
        for (since, at) in quiet.iter().zip(verdicts) {
            let silence = at - since;
            assert!(silence >= DELAY, "{session} was judged after {silence} s");
            late += usize::from(silence > DELAY + LATE_MAX);
            assert!(silence <= DELAY + LATE_MAX + LEASE + 5 * 60, "{session} was judged after {silence} s");
        }
    }
    let calls = &world.hub.counters().snapshot() - &before;
    let set = calls.calls("scheduler", "CreateSchedule");
    println!("{periods} quiet periods, {deaths} deaths, {late} late, {set} timers set");
    assert!(deaths > 0, "no worker died");
    // Who was being judged when a worker died waits for the lease; ten are judged at once.
    assert!(late <= 10 * deaths, "{late} of {periods} were late");
    assert!(set <= 2 * u64::try_from(periods).unwrap(), "{set} timers for {periods} quiet periods");
}

async fn regenerate(process: &Process, world: &World) -> String {
    let span = json!({ "from_ts": 0, "to_ts": world.clock.now() });
    let (status, answer) = process.call("POST", "/api/evaluations/regenerate", Some(&span)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer["job_id"].as_str().unwrap().to_owned()
}

async fn job(process: &Process, id: &str) -> Value {
    process.call("GET", &format!("/api/evaluations/regenerate/{id}"), None).await.1
}

#[tokio::test(start_paused = true)]
async fn a_thousand_sessions_are_judged_anew_ten_at_a_time_whoever_dies() {
    const SESSIONS: usize = 1_000;
    let world = World::new();
    let mut process = world.start();
    configure(&process, 0.0).await;
    for session in 0..SESSIONS {
        publish(&process, session, 0).await;
    }
    let id = regenerate(&process, &world).await;
    let again = json!({ "from_ts": 0, "to_ts": 9 });
    assert_eq!(
        process.call("POST", "/api/evaluations/regenerate", Some(&again)).await.0,
        StatusCode::CONFLICT
    );
    let mut deaths = 0;
    for _ in 0..200 {
        if deaths < 3 {
            world.hub.kill_after(700 + 300 * deaths, Moment::After);
        }
        // More hands than lanes.
        world.evaluate_with(&process, 15).await;
        deaths += u64::from(world.hub.is_dead());
        process = world.start();
        if job(&process, &id).await["status"] != "running" {
            break;
        }
        pass(60).await;
        process.sweep().await.unwrap();
    }
    let done = job(&process, &id).await;
    assert_eq!(deaths, 3);
    assert_eq!(done["status"], "completed", "{done}");
    let counts = ["total", "sampled_count", "completed", "failed"].map(|name| done[name].as_i64().unwrap());
    assert_eq!(counts, [1_000, 1_000, 1_000, 0]);
    assert!(world.script.judges.at_once() <= 10, "{} at once", world.script.judges.at_once());
    let verdicts = world.script.judges.count();
    // A death costs at most the sessions that were being judged.
    assert!((SESSIONS..=SESSIONS + 10 * 3).contains(&verdicts), "{verdicts} verdicts");
    let body = json!({ "limit": 10_000 });
    let (_, listed) = process.call("POST", "/api/get_agent_success_evaluation_results", Some(&body)).await;
    assert_eq!(listed["agent_success_evaluation_results"].as_array().unwrap().len(), SESSIONS);
    // The next one may begin.
    regenerate(&process, &world).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_stopped_lets_what_is_being_judged_finish_and_begins_nothing_more() {
    let world = World::new();
    let process = world.start();
    configure(&process, 0.0).await;
    for session in 0..100 {
        publish(&process, session, 0).await;
    }
    let id = regenerate(&process, &world).await;
    let stop = async {
        // In the midst of the third round of judges.
        pass(5).await;
        let before = world.script.judges.count();
        let path = format!("/api/evaluations/regenerate/{id}");
        let (status, answer) = process.call("DELETE", &path, None).await;
        assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("cancelled")));
        before
    };
    let (before, ()) = tokio::join!(stop, world.evaluate_with(&process, 10));
    let after = world.script.judges.count();
    assert!(before > 0 && after <= before + 10, "{before} verdicts, then {after}");
    let done = job(&process, &id).await;
    assert_eq!((&done["status"], &done["completed"]), (&json!("cancelled"), &json!(after)));
    for _ in 0..10 {
        pass(60).await;
        process.sweep().await.unwrap();
        world.evaluate_with(&process, 10).await;
    }
    assert_eq!(job(&process, &id).await["completed"], json!(after));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_while_its_session_is_judged_has_it_judged_again() {
    let world = World::new();
    let process = world.start();
    configure(&process, 1.0).await;
    publish(&process, 0, 0).await;
    pass(600).await;
    world.fire_timers(|_| false);
    let meanwhile = async {
        pass(1).await;
        publish(&process, 0, 1).await;
    };
    let ((), ()) = tokio::join!(world.evaluate_with(&process, 1), meanwhile);
    assert_eq!(results(&process).await, [(1, "u0-0".to_owned())], "the verdict is on what was judged");
    pass(600).await;
    world.fire_timers(|_| false);
    world.evaluate_with(&process, 1).await;
    assert_eq!(results(&process).await, [(2, "u0-1".to_owned())], "one verdict is in force");
    assert_eq!(world.script.judges.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn timer_and_job_do_not_judge_a_session_at_once() {
    let world = World::new();
    let process = world.start();
    configure(&process, 1.0).await;
    publish(&process, 0, 0).await;
    pass(600).await;
    world.fire_timers(|_| false);
    let id = regenerate(&process, &world).await;
    for _ in 0..10 {
        world.evaluate_with(&process, 5).await;
        pass(60).await;
        process.sweep().await.unwrap();
    }
    assert_eq!(world.script.judges.at_once(), 1);
    assert_eq!(job(&process, &id).await["status"], "completed");
    assert_eq!(results(&process).await.len(), 1, "one verdict is in force");
}

/// Ids of the verdicts in force, and the last request that each is on.
async fn results(process: &Process) -> Vec<(i64, String)> {
    let (org, user) = (crate::support::world::org(), crate::support::world::hash("u0"));
    let keys = crate::support::world::keys(&org, &user);
    let session = domain::ids::SessionId::new("s0").unwrap().hash();
    let found = process.app.services.store.session_evaluations(&keys, &session).await.unwrap();
    found.into_iter().map(|one| (one.result_id, one.trajectory_through_request_id.to_string())).collect()
}
