//! Verdicts on learnings whose judgement dies, fails, is overtaken or doubles: readers see those of before or those of
//! after, whole, and in the end those of after.

use domain::ids::{RequestId, SessionId};
use domain::judging::RetrievedLearningStatus as Status;
use evaluation::retrieved::{RetrievedError, RetrievedOutcome, evaluate_retrieved_learnings};
use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};
use store::UserKeys;

use crate::support::model::Mood;
use crate::support::world::{Process, World, hash, org};

const USER: &str = "ana";
const SESSION: &str = "s1";
const RELEVANCE: &str = "retrieved_learning_relevance";
/// More than one transaction writes.
const MANY: usize = 100;

fn names(many: usize) -> Vec<String> {
    (0..many).map(|n| format!("p{n:03}")).collect()
}

async fn call(process: &Process, path: &str, body: &Value) -> Value {
    let (status, answer) = process.call("POST", path, Some(body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn add_profiles(process: &Process, names: &[String]) {
    for names in names.chunks(50) {
        let row = |name: &String| {
            json!({
                "profile_id": name, "user_id": USER, "content": name, "generated_from_request_id": "r0",
                "last_modified_timestamp": 1_750_000_000,
            })
        };
        let rows: Vec<Value> = names.iter().map(row).collect();
        call(process, "/api/add_user_profile", &json!({ "user_profiles": rows })).await;
    }
}

async fn publish(process: &Process, request_id: &str, names: &[String]) {
    let attached = names.iter().map(|name| json!({ "kind": "profile", "learning_id": name }));
    let turn = json!({
        "role": "Assistant", "content": "x", "retrieved_learnings": attached.collect::<Vec<_>>(),
    });
    let body = json!({
        "user_id": USER, "request_id": request_id, "session_id": SESSION, "evaluation_only": true,
        "interaction_data_list": [turn],
    });
    assert_eq!(process.publish_body(&body).await, StatusCode::OK);
}

async fn judge(process: &Process, through: Option<&str>) -> Result<RetrievedOutcome, RetrievedError> {
    let (org, user) = (org(), hash(USER));
    let keys = UserKeys { org: &org, user: &user };
    let through = through.map(|id| RequestId::new(id).unwrap());
    let session = SessionId::new(SESSION).unwrap();
    evaluate_retrieved_learnings(&process.app.services, &keys, &session, through.as_ref()).await
}

async fn status(process: &Process) -> Status {
    judge(process, None).await.unwrap().status
}

/// How many verdicts are in force, by each way of reading them; none twice.
async fn listed(process: &Process) -> usize {
    let mut counts = Vec::new();
    for filter in
        [json!({}), json!({ "user_id": USER }), json!({ "session_id": SESSION }), json!({ "start_time": 0 })]
    {
        let mut body = filter;
        body["limit"] = json!(1_000);
        let answer = call(process, "/api/get_retrieved_learning_evaluation_results", &body).await;
        let rows = answer["results"].as_array().unwrap();
        let mut ids: Vec<String> =
            rows.iter().map(|row| format!("{}{}", row["interaction_id"], row["learning_id"])).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), rows.len(), "no verdict twice");
        counts.push(rows.len());
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    counts[0]
}

/// A session that was judged, and one more request of it.
async fn changed(world: &World) -> Process {
    let process = world.start();
    add_profiles(&process, &names(MANY)).await;
    publish(&process, "r1", &names(3)).await;
    assert_eq!(status(&process).await, Status::Complete);
    publish(&process, "r2", &names(MANY)).await;
    assert_eq!(listed(&process).await, 3);
    process
}

#[tokio::test(start_paused = true)]
async fn a_judge_killed_at_any_call_leaves_all_or_nothing_and_the_next_run_finishes() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = changed(&world).await;
            world.hub.kill_after(nth, moment);
            let ran = judge(&process, None).await;
            let died = world.hub.is_dead();
            assert!(died || ran.is_ok(), "{ran:?}");
            drop(process);
            let process = world.start();
            let seen = listed(&process).await;
            assert!(seen == 3 || seen == MANY + 3, "{moment:?} {nth}: {seen}");
            assert_eq!(status(&process).await, Status::Complete, "{moment:?} {nth}");
            assert_eq!(listed(&process).await, MANY + 3, "{moment:?} {nth}");
            if !died {
                assert!(nth > 8, "only {nth} calls");
                break;
            }
            assert!(nth < 100);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_is_lost_is_known_to_be_made() {
    for lost in 1..=4 {
        let world = World::new();
        let process = changed(&world).await;
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("TransactWriteItems");
        world.hub.set_faults(FaultPlan::new(1).rule(rule.first(lost)));
        let ran = judge(&process, None).await;
        world.hub.clear_faults();
        assert!(ran.is_ok_and(|outcome| outcome.status == Status::Complete), "{lost} answers lost");
        assert_eq!(listed(&process).await, MANY + 3);
        let asked = world.script.asked(RELEVANCE);
        assert_eq!((status(&process).await, world.script.asked(RELEVANCE)), (Status::Complete, asked));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_during_the_judgement_makes_it_stale_and_it_is_judged_again() {
    let world = World::new();
    let process = changed(&world).await;
    world.script.on("\"learning_ref\"", Mood::Hold);
    let mut run = std::pin::pin!(judge(&process, None));
    tokio::select! {
        biased;
        _ = &mut run => panic!("it is held"),
        () = world.script.held() => {}
    }
    publish(&process, "r3", &names(1)).await;
    world.script.release();
    assert_eq!(run.await.unwrap().status, Status::Complete);
    assert_eq!(listed(&process).await, MANY + 4, "that of the request in between is among them");
}

/// Runs until the judges think, and changes the session meanwhile; then they answer.
async fn publish_while_held(
    world: &World,
    process: &Process,
    mut run: std::pin::Pin<&mut impl Future<Output = Result<RetrievedOutcome, RetrievedError>>>,
    request_id: &str,
) {
    tokio::select! {
        biased;
        _ = &mut run => panic!("it is held"),
        () = world.script.held() => {}
    }
    // Both judges were held: the second one left word as well.
    tokio::select! {
        biased;
        () = world.script.held() => {}
        () = std::future::ready(()) => {}
    }
    publish(process, request_id, &names(1)).await;
    world.script.release();
}

#[tokio::test(start_paused = true)]
async fn a_session_that_changes_under_every_attempt_is_left_pending_with_its_verdicts_of_before() {
    let world = World::new();
    let process = world.start();
    // Few enough for one question to each judge.
    add_profiles(&process, &names(3)).await;
    publish(&process, "r1", &names(3)).await;
    assert_eq!(status(&process).await, Status::Complete);
    publish(&process, "r2", &names(3)).await;
    world.script.on("\"learning_ref\"", Mood::Hold);
    let mut run = std::pin::pin!(judge(&process, None));
    publish_while_held(&world, &process, run.as_mut(), "r3").await;
    world.script.on("\"learning_ref\"", Mood::Hold);
    publish_while_held(&world, &process, run.as_mut(), "r4").await;
    let outcome = run.await.unwrap();
    assert_eq!((outcome.status, outcome.error_type.as_deref()), (Status::Pending, Some("stale_snapshot")));
    assert_eq!(listed(&process).await, 3);
    assert_eq!(status(&process).await, Status::Complete);
    assert_eq!(listed(&process).await, 8);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_one_overtook_changes_nothing_when_it_goes_on() {
    let world = World::new();
    let process = changed(&world).await;
    world.script.on("\"learning_ref\"", Mood::Hold);
    let mut zombie = std::pin::pin!(judge(&process, None));
    tokio::select! {
        biased;
        _ = &mut zombie => panic!("it is held"),
        () = world.script.held() => {}
    }
    world.script.calm();
    let other = world.start();
    publish(&other, "r3", &names(2)).await;
    assert_eq!(status(&other).await, Status::Complete);
    world.script.release();
    assert_eq!(zombie.await.unwrap().status, Status::Superseded);
    assert_eq!(listed(&other).await, MANY + 5);
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_concern_what_is_judged_do_not_make_it_stale() {
    let world = World::new();
    let process = changed(&world).await;
    world.script.on("\"learning_ref\"", Mood::Hold);
    let asked = world.script.asked(RELEVANCE);
    let mut run = std::pin::pin!(judge(&process, Some("r1")));
    tokio::select! {
        biased;
        // It was judged so far already.
        outcome = &mut run => { assert_eq!(outcome.unwrap().status, Status::Complete); }
        () = world.script.held() => panic!("nothing is asked"),
    }
    assert_eq!(world.script.asked(RELEVANCE), asked);
    let mut run = std::pin::pin!(judge(&process, Some("r2")));
    tokio::select! {
        biased;
        _ = &mut run => panic!("it is held"),
        () = world.script.held() => {}
    }
    crate::support::clock::pass(1).await;
    publish(&process, "r3", &names(1)).await;
    world.script.release();
    assert_eq!(run.await.unwrap().status, Status::Complete);
    assert_eq!(listed(&process).await, MANY + 3);
    assert_eq!(world.script.asked(RELEVANCE), asked + (MANY + 3_usize).div_ceil(25), "asked once");
}
