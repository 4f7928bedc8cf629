//! Outcomes that meet other reports, publishes, verdicts and deaths at any call: one outcome a session, and never one
//! whose digest leaves out what was published before it.

use std::time::Duration;

use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};

use crate::support::chance::Chance;
use crate::support::clock::pass;
use crate::support::outcomes::{
    Published, digest, digests_of_subsets, infer, inferable, published, report, say, stored, trajectory,
};
use crate::support::world::World;

/// Holds the `nth` call up for ten seconds; in the fifth of them something else happens.
fn hold(world: &World, nth: u64) {
    let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
    world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
}

fn conflict(answer: &Value) -> bool {
    answer["reason"] == "conflicting_finalization" && answer["success"] == false
}

/// Two reports of which the first is held up at each of its calls: the second wins, or finds the first.
#[tokio::test(start_paused = true)]
async fn of_two_reports_one_is_recorded_and_the_other_learns_its_identity() {
    for outcomes in [["success", "failure"], ["success", "success"]] {
        for nth in 1.. {
            let world = World::new();
            let (first, second) = (world.start(), world.start());
            say(&first, "ana", 0).await;
            let began = world.clock.now();
            hold(&world, nth);
            let late = async {
                pass(5).await;
                report(&second, outcomes[1], began).await
            };
            let (a, b) = tokio::join!(report(&first, outcomes[0], began), late);
            let held = world.clock.now() - began >= 10;
            world.hub.clear_faults();
            let (winner, other) = if a["recorded"] == true { (&a, &b) } else { (&b, &a) };
            assert_eq!(
                (&winner["recorded"], &other["recorded"]),
                (&json!(true), &json!(false)),
                "{nth}: {a} {b}"
            );
            if outcomes[0] == outcomes[1] {
                assert_eq!(other["success"], true, "call {nth}: {a} {b}");
            } else {
                assert!(conflict(other), "call {nth}: {a} {b}");
            }
            assert_eq!(winner["outcome_id"], other["outcome_id"], "call {nth}");
            assert_eq!(winner["finalized_trajectory_digest"], digest(&first).await, "call {nth}");
            if !held {
                assert!(nth > 4, "only {nth} calls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_eight_reports_at_once_one_is_recorded() {
    for seed in 0..8 {
        let world = World::new();
        let process = world.start();
        say(&process, "ana", 0).await;
        let now = world.clock.now();
        let plan = FaultPlan::new(seed)
            .rule(Rule::new(Action::Delay(Duration::from_millis(300))).probability(0.5))
            .rule(Rule::new(Action::TransactionConflict).operation("TransactWriteItems").probability(0.2))
            .rule(Rule::new(Action::FailAfter).operation("TransactWriteItems").probability(0.2));
        world.hub.set_faults(plan);
        let outcomes =
            ["success", "failure", "unknown", "success", "success", "failure", "unknown", "success"];
        let answers =
            futures::future::join_all(outcomes.iter().map(|outcome| report(&process, outcome, now))).await;
        world.hub.clear_faults();
        let recorded: Vec<&Value> = answers.iter().filter(|answer| answer["recorded"] == true).collect();
        assert_eq!(recorded.len(), 1, "seed {seed}: {answers:?}");
        for answer in &answers {
            assert_eq!(answer["outcome_id"], recorded[0]["outcome_id"], "seed {seed}: {answer}");
        }
    }
}

/// At each call of a report somebody publishes in the session: whose part was read, somebody new, somebody who was
/// there long ago.
#[tokio::test(start_paused = true)]
async fn what_is_published_before_the_outcome_is_written_is_in_its_digest() {
    for user in ["ana", "bo", "cy"] {
        for nth in 1.. {
            let world = World::new();
            let (reporter, publisher) = (world.start(), world.start());
            say(&reporter, "ana", 0).await;
            say(&reporter, "cy", 0).await;
            let without = digest(&reporter).await;
            let began = world.clock.now();
            hold(&world, nth);
            let late = async {
                pass(5).await;
                assert_eq!(say(&publisher, user, 1).await, StatusCode::OK);
            };
            let reporting = async {
                let answer = report(&reporter, "success", began).await;
                (answer, world.clock.now() - began >= 10)
            };
            let ((answer, held), ()) = tokio::join!(reporting, late);
            world.hub.clear_faults();
            assert_eq!(answer["recorded"], true, "{user} call {nth}: {answer}");
            let expected = if held { digest(&reporter).await } else { without };
            assert_eq!(answer["finalized_trajectory_digest"], expected, "{user} call {nth}");
            if !held {
                assert!(nth > 4, "only {nth} calls");
                break;
            }
        }
    }
}

/// The publish is held up at each of its calls while an outcome is recorded: it comes after it, or the outcome knows
/// of it.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_overtakes_a_publish_at_any_call_does_not_count_it() {
    for user in ["ana", "bo"] {
        for nth in 1.. {
            let world = World::new();
            let (reporter, publisher) = (world.start(), world.start());
            say(&reporter, "ana", 0).await;
            let without = digest(&reporter).await;
            let began = world.clock.now();
            hold(&world, nth);
            let late = async {
                pass(5).await;
                report(&reporter, "success", began).await
            };
            let (status, answer) = tokio::join!(say(&publisher, user, 1), late);
            let held = world.clock.now() - began >= 10;
            world.hub.clear_faults();
            assert_eq!(
                (status, &answer["recorded"]),
                (StatusCode::OK, &json!(true)),
                "{user} {nth}: {answer}"
            );
            if !held {
                break;
            }
            let now = digest(&reporter).await;
            assert_ne!(now, without, "{user} call {nth}: it is stored");
            // Whatever is held up after the write, such as a wake, does not hold up the write.
            let expected = [without, now];
            let found = answer["finalized_trajectory_digest"].as_str().unwrap();
            assert!(expected.iter().any(|digest| digest == found), "{user} call {nth}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_never_stands_still_has_no_outcome_after_three_attempts() {
    for user in ["ana", "crowd"] {
        let world = World::new();
        let (reporter, publisher) = (world.start(), world.start());
        say(&reporter, "ana", 0).await;
        // Publishes make no queries.
        let slow = Rule::new(Action::Delay(Duration::from_secs(10))).operation("Query");
        world.hub.set_faults(FaultPlan::new(1).rule(slow));
        let reporting = report(&reporter, "success", world.clock.now());
        let publishing = async {
            for n in 1.. {
                pass(3).await;
                let name = if user == "ana" { user.to_owned() } else { format!("{user}-{n}") };
                say(&publisher, &name, n).await;
            }
        };
        let answer = tokio::select! { answer = reporting => answer, () = publishing => unreachable!() };
        world.hub.clear_faults();
        let expected = json!({
            "success": false, "recorded": false, "reason": "storage_error",
            "message": "Session changed repeatedly while recording outcome",
        });
        assert_eq!(answer, expected, "{user}");
        assert_eq!(stored(&reporter).await, None, "{user}");
        let answer = report(&reporter, "success", world.clock.now()).await;
        assert_eq!(answer["recorded"], true, "{user}: it stands still now: {answer}");
        assert_eq!(answer["finalized_trajectory_digest"], digest(&reporter).await, "{user}");
    }
}

/// Two attempts meet a publish, the third does not.
#[tokio::test(start_paused = true)]
async fn a_session_that_stands_still_for_the_third_attempt_has_its_outcome() {
    let world = World::new();
    let (reporter, publisher) = (world.start(), world.start());
    say(&reporter, "ana", 0).await;
    let slow = Rule::new(Action::Delay(Duration::from_secs(10))).operation("Query");
    world.hub.set_faults(FaultPlan::new(1).rule(slow));
    let publishing = async {
        // Each attempt makes two queries; these fall into the second one of the first two.
        for (seconds, n) in [(15, 1), (20, 2)] {
            pass(seconds).await;
            say(&publisher, "ana", n).await;
        }
    };
    let began = world.clock.now();
    let (answer, ()) = tokio::join!(report(&reporter, "success", began), publishing);
    world.hub.clear_faults();
    assert_eq!(world.clock.now() - began, 60, "three attempts");
    assert_eq!(answer["recorded"], true, "{answer}");
    assert_eq!(answer["finalized_trajectory_digest"], digest(&reporter).await);
}

/// A report and a verdict, one of them held up at each of its calls.
#[tokio::test(start_paused = true)]
async fn a_report_that_meets_a_verdict_stands_in_the_end() {
    for report_is_held in [true, false] {
        for nth in 1.. {
            let world = World::new();
            let (reporter, judge) = (world.start(), world.start());
            say(&reporter, "ana", 0).await;
            let result = inferable(&judge).await;
            let began = world.clock.now();
            hold(&world, nth);
            let late = async |is_late: bool| {
                if is_late {
                    pass(5).await;
                }
            };
            let reporting = async {
                late(!report_is_held).await;
                report(&reporter, "failure", began).await
            };
            let inferring = async {
                late(report_is_held).await;
                infer(&judge, &result).await
            };
            let (answer, inferred) = tokio::join!(reporting, inferring);
            let held = world.clock.now() - began >= 10;
            world.hub.clear_faults();
            let label = format!("held report {report_is_held}, call {nth}: {answer} {inferred:?}");
            assert_eq!(answer["recorded"], true, "{label}");
            let row = stored(&reporter).await.unwrap();
            assert_eq!((&row["outcome"], &row["is_inferred"]), (&json!("failure"), &json!(false)), "{label}");
            let landed = inferred == evaluation::outcomes::InferredOutcome::Recorded;
            assert_eq!(row["outcome_revision"], if landed { 2 } else { 1 }, "{label}");
            assert_eq!(
                row["superseded_outcome"]["outcome"],
                if landed { json!("success") } else { Value::Null }
            );
            if !held {
                assert!(nth > 4, "only {nth} calls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_dies_at_any_call_is_recorded_once_when_it_is_sent_again() {
    for moment in [Moment::Before, Moment::After] {
        for call in 1.. {
            let world = World::new();
            let process = world.start();
            say(&process, "ana", 0).await;
            let now = world.clock.now();
            world.hub.kill_after(call, moment);
            let answer = tokio::select! {
                answer = report(&process, "success", now) => Some(answer),
                () = world.death() => None,
            };
            let died = world.hub.is_dead();
            let process = world.start();
            let was_stored = stored(&process).await.is_some();
            let again = report(&process, "success", now).await;
            assert_eq!(again["success"], true, "{moment:?} call {call}: {again}");
            assert_eq!(again["recorded"], !was_stored, "{moment:?} call {call}: {again}");
            assert_eq!(again["finalized_trajectory_digest"], digest(&process).await);
            if !died {
                assert_eq!(answer.unwrap()["recorded"], true);
                assert_eq!(call, 5, "three reads and a transaction");
                break;
            }
        }
    }
}

/// Publishes of several users and two reports in one tangle: the digest is that of the session at one moment, with all
/// that was acknowledged before the report and nothing that began after it.
#[tokio::test(start_paused = true)]
async fn in_any_tangle_the_digest_is_that_of_the_session_at_one_moment_of_the_report() {
    for seed in 0..60 {
        let world = World::new();
        let process = world.start();
        say(&process, "ana", 0).await;
        let mut plan = FaultPlan::new(seed);
        for (milliseconds, share) in [(700, 0.5), (300, 0.4), (1_900, 0.2)] {
            plan =
                plan.rule(Rule::new(Action::Delay(Duration::from_millis(milliseconds))).probability(share));
        }
        let conflict = Rule::new(Action::TransactionConflict).operation("TransactWriteItems");
        world.hub.set_faults(plan.rule(conflict.probability(0.1)));
        let mut chance = Chance::new(seed);
        let users = ["ana", "bo", "cy", "dee", "ed", "bo"];
        let starts: Vec<u64> = users.iter().map(|_| chance.between(0, 4_000)).collect();
        let reported_at = chance.between(0, 4_000);
        let publishing = users.iter().zip(&starts).enumerate().map(|(index, (user, start))| {
            published(&process, &world.clock, user, index + 1, Duration::from_millis(*start))
        });
        let reporting = async {
            tokio::time::sleep(Duration::from_millis(reported_at)).await;
            let began = world.clock.now_ms();
            let answer = report(&process, "success", world.clock.now() + 60).await;
            (began, answer, world.clock.now_ms())
        };
        let (calls, (began, answer, ended)) = tokio::join!(futures::future::join_all(publishing), reporting);
        world.hub.clear_faults();
        if answer["recorded"] != true {
            assert_eq!(answer["reason"], "storage_error", "seed {seed}: {answer}");
            assert_eq!(stored(&process).await, None, "seed {seed}");
            continue;
        }
        let all = trajectory(&process).await;
        let certain = |call: &&Published| call.acknowledged_ms < began;
        let possible = |call: &&Published| call.began_ms <= ended;
        let certain: Vec<&str> = calls.iter().filter(certain).map(|call| call.request.as_str()).collect();
        let possible: Vec<&str> = calls.iter().filter(possible).map(|call| call.request.as_str()).collect();
        let explained = digests_of_subsets(&all, &certain, &possible);
        let found = answer["finalized_trajectory_digest"].as_str().unwrap();
        assert!(explained.iter().any(|digest| digest == found), "seed {seed}: {certain:?} {possible:?}");
    }
}
