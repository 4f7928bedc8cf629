//! Schedules, and the rule that follows one on a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::eventbridge::EventBridgeEvent;
use domain::time::{Clock, EpochMillis};
use jiff::Timestamp;
use tokio::sync::{Semaphore, mpsc, watch};

use super::{Rule, Schedule, ScheduleError};
use crate::cloud::clock::ManualClock;
use crate::cloud::handlers::ScheduleHandler;

/// 2025-06-15T15:06:40Z, a Sunday.
const START_MS: EpochMillis = 1_750_000_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn ms(text: &str) -> EpochMillis {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn next(expression: &str, after: &str) -> Option<String> {
    let schedule = Schedule::parse(expression).unwrap();
    let next = schedule.next_after(ms(after), ms(after))?;
    Some(Timestamp::from_millisecond(next).unwrap().to_string())
}

#[test]
fn a_rate_is_a_number_from_one_and_a_unit_in_the_right_form() {
    let minutes = |n: i64| Ok(Schedule::Rate(n * 60_000));
    assert_eq!(Schedule::parse("rate(1 minute)"), minutes(1));
    assert_eq!(Schedule::parse("rate(2 minutes)"), minutes(2));
    assert_eq!(Schedule::parse("rate(1 hour)"), minutes(60));
    assert_eq!(Schedule::parse("rate(2 days)"), minutes(2 * 1440));
    let bad = [
        "1 minutes",
        "2 minute",
        "0 minutes",
        "-1 minutes",
        "1 second",
        "1.5 hours",
        "minute",
        "1  minute",
        "",
    ];
    for rate in bad {
        let parsed = Schedule::parse(&format!("rate({rate})"));
        assert!(matches!(parsed, Err(ScheduleError::Rate(_))), "{rate:?}");
    }
    assert!(matches!(Schedule::parse("at(2025-01-01T00:00:00)"), Err(ScheduleError::Unknown(_))));
}

#[test]
fn a_rate_counts_from_its_start() {
    let schedule = Schedule::parse("rate(5 minutes)").unwrap();
    let at = |after_ms: EpochMillis| schedule.next_after(1_000, after_ms).unwrap();
    assert_eq!(at(1_000), 301_000);
    assert_eq!(at(300_999), 301_000);
    assert_eq!(at(301_000), 601_000);
    assert_eq!(at(0), 301_000, "a clock that was set back waits for the first time");
}

#[test]
fn cron_knows_lists_ranges_steps_and_names() {
    let cases = [
        ("cron(0 10 * * ? *)", "2025-06-15T09:59:59Z", "2025-06-15T10:00:00Z"),
        ("cron(0 10 * * ? *)", "2025-06-15T10:00:00Z", "2025-06-16T10:00:00Z"),
        ("cron(15,45 * * * ? *)", "2025-06-15T10:20:00Z", "2025-06-15T10:45:00Z"),
        ("cron(0/10 * * * ? *)", "2025-06-15T10:51:00Z", "2025-06-15T11:00:00Z"),
        ("cron(*/10 8-17 ? * MON-FRI *)", "2025-06-15T10:00:00Z", "2025-06-16T08:00:00Z"),
        ("cron(0 8 1 * ? *)", "2025-06-15T10:00:00Z", "2025-07-01T08:00:00Z"),
        ("cron(0 8 ? * 1 *)", "2025-06-15T10:00:00Z", "2025-06-22T08:00:00Z"),
        ("cron(0 0 29 feb ? *)", "2025-06-15T10:00:00Z", "2028-02-29T00:00:00Z"),
        ("cron(0 0 31 * ? *)", "2025-08-31T00:00:00Z", "2025-10-31T00:00:00Z"),
        ("cron(0 18 ? JAN,dec SAT 2026-2027)", "2025-06-15T10:00:00Z", "2026-01-03T18:00:00Z"),
    ];
    for (expression, after, expected) in cases {
        assert_eq!(next(expression, after).as_deref(), Some(expected), "{expression} after {after}");
    }
    assert_eq!(next("cron(0 0 30 2 ? *)", "2025-06-15T10:00:00Z"), None, "a day that never comes");
    assert_eq!(next("cron(0 0 1 1 ? 2025)", "2025-06-15T10:00:00Z"), None, "a year that has passed");
}

#[test]
fn a_cron_expression_that_cannot_be_obeyed_is_refused_and_its_field_named() {
    let fields = [
        ("60 * * * ? *", "minutes"),
        ("* 24 * * ? *", "hours"),
        ("* * 0 * ? *", "day-of-month"),
        ("* * L * ? *", "day-of-month"),
        ("* * 3W * ? *", "day-of-month"),
        ("* * * 13 ? *", "month"),
        ("* * ? * 8 *", "day-of-week"),
        ("* * ? * MON#1 *", "day-of-week"),
        ("* * * * ? 2200", "year"),
        ("5-1 * * * ? *", "minutes"),
        ("*/0 * * * ? *", "minutes"),
        ("1,,2 * * * ? *", "minutes"),
    ];
    for (cron, expected) in fields {
        let parsed = Schedule::parse(&format!("cron({cron})"));
        assert!(
            matches!(parsed, Err(ScheduleError::Field { field, .. }) if field == expected),
            "{cron}: {parsed:?}"
        );
    }
    for cron in ["* * * * * *", "* * ? * ? *"] {
        assert_eq!(Schedule::parse(&format!("cron({cron})")), Err(ScheduleError::Days));
    }
    assert!(matches!(Schedule::parse("cron(* * * ? *)"), Err(ScheduleError::Fields(_))));
}

struct Bench {
    clock: Arc<ManualClock>,
    stop: watch::Sender<bool>,
    rule: tokio::task::JoinHandle<()>,
    told: mpsc::UnboundedReceiver<EventBridgeEvent>,
    gate: Arc<Semaphore>,
}

/// A rule whose runs wait for a permit.
fn bench(expression: &str, permits: usize) -> Bench {
    let clock = Arc::new(ManualClock::new(START_MS));
    let (tell, told) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(permits));
    let handler: ScheduleHandler = {
        let gate = gate.clone();
        Arc::new(move |event| {
            tell.send(event).unwrap();
            let gate = gate.clone();
            Box::pin(async move {
                gate.acquire().await?.forget();
                Ok(())
            })
        })
    };
    let rule = Rule {
        name: "SweepFunctionEveryMinute".to_owned(),
        schedule: Schedule::parse(expression).unwrap(),
        timeout: MINUTE,
        handler,
        clock: clock.clone(),
    };
    let stop = watch::Sender::new(false);
    let rule = tokio::spawn(rule.run(stop.subscribe()));
    Bench { clock, stop, rule, told, gate }
}

async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

impl Bench {
    async fn fired(&mut self) -> usize {
        settle().await;
        std::iter::from_fn(|| self.told.try_recv().ok()).count()
    }
}

#[tokio::test]
async fn a_rate_fires_one_period_after_the_start_and_every_period_from_then_on() {
    let mut bench = bench("rate(1 minute)", 100);
    assert_eq!(bench.fired().await, 0);
    bench.clock.advance(MINUTE - Duration::from_millis(1));
    assert_eq!(bench.fired().await, 0);
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(bench.fired().await, 1);
    for _ in 0..3 {
        bench.clock.advance(MINUTE);
        assert_eq!(bench.fired().await, 1);
    }
}

#[tokio::test]
async fn the_event_is_the_one_that_eventbridge_sends() {
    let mut bench = bench("rate(1 minute)", 1);
    settle().await;
    bench.clock.advance(MINUTE);
    let event = serde_json::to_value(bench.told.recv().await.unwrap()).unwrap();
    assert_eq!(event["version"], "0");
    assert_eq!(event["detail-type"], "Scheduled Event");
    assert_eq!(event["source"], "aws.events");
    assert_eq!(event["account"], "000000000000");
    assert_eq!(event["time"], "2025-06-15T15:07:40Z");
    let rule = "arn:aws:events:us-east-1:000000000000:rule/retrospect-SweepFunctionEveryMinute";
    assert_eq!(event["resources"], serde_json::json!([rule]));
    assert_eq!(event["detail"], serde_json::json!({}));
}

#[tokio::test]
async fn times_that_passed_during_a_run_or_a_jump_are_not_made_up_for() {
    let mut bench = bench("rate(1 minute)", 1);
    settle().await;
    bench.clock.advance(MINUTE * 10);
    assert_eq!(bench.fired().await, 1);
    bench.clock.advance(MINUTE);
    assert_eq!(bench.fired().await, 1, "back in step; this run hangs");
    bench.clock.advance(Duration::from_secs(59));
    assert_eq!(bench.fired().await, 0);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(bench.fired().await, 0, "stopped at its time-out, as the minute passes");
    bench.clock.advance(MINUTE);
    assert_eq!(bench.fired().await, 1);
}

#[tokio::test]
async fn a_run_that_fails_or_panics_does_not_end_the_schedule() {
    let clock = Arc::new(ManualClock::new(START_MS));
    let (tell, mut told) = mpsc::unbounded_channel();
    let handler: ScheduleHandler = Arc::new(move |_| {
        tell.send(()).unwrap();
        Box::pin(async { panic!("as a test") })
    });
    let schedule = Schedule::parse("rate(1 minute)").unwrap();
    let rule = Rule { name: "R".to_owned(), schedule, timeout: MINUTE, handler, clock: clock.clone() };
    let stop = watch::Sender::new(false);
    tokio::spawn(rule.run(stop.subscribe()));
    for _ in 0..2 {
        settle().await;
        clock.advance(MINUTE);
        told.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_stop_ends_the_wait_at_once_and_a_run_when_it_is_done() {
    let idle = bench("rate(1 minute)", 0);
    settle().await;
    idle.stop.send_replace(true);
    idle.rule.await.unwrap();

    let mut busy = bench("rate(1 minute)", 0);
    settle().await;
    busy.clock.advance(MINUTE);
    assert_eq!(busy.fired().await, 1);
    busy.stop.send_replace(true);
    settle().await;
    assert!(!busy.rule.is_finished());
    busy.gate.add_permits(1);
    busy.rule.await.unwrap();
    assert_eq!(busy.clock.now_ms(), START_MS + 60_000);
}
