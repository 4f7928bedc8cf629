//! Random conversations, random kills, random faults: after any of it, what was acknowledged is stored once and
//! learned once. A failure names its seed; `CRASH_SEED=<seed>` runs that one alone.

use std::sync::Mutex;
use std::time::Duration;

use http::StatusCode;
use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};

use crate::support::chance::Chance;
use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// Seeds in all, a part in each test so that the parts run side by side.
const SEEDS: u64 = 200;
const PARTS: u64 = 4;
/// Kills of one run.
const KILLS_MAX: u64 = 3;
/// A kill comes at one of so many calls.
const CALLS_MAX: u64 = 160;
/// Interactions of one publish.
const SIZE_MAX: u64 = 25;
/// Workers of one process.
const WORKERS: u64 = 2;

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_learned_once_whatever_dies_first_part() {
    run_part(0).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_learned_once_whatever_dies_second_part() {
    run_part(1).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_learned_once_whatever_dies_third_part() {
    run_part(2).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_learned_once_whatever_dies_fourth_part() {
    run_part(3).await;
}

async fn run_part(part: u64) {
    let chosen: Option<u64> = std::env::var("CRASH_SEED").ok().map(|seed| seed.parse().unwrap());
    let (mut kills, mut stored) = (0, 0);
    for seed in (0..SEEDS).filter(|seed| seed % PARTS == part) {
        if chosen.is_none_or(|chosen| chosen == seed) {
            // Shown when the test fails.
            println!("seed {seed}");
            let done = run_seed(seed).await;
            kills += done.kills;
            stored += done.stored;
        }
    }
    assert!(chosen.is_some() || (kills > 50 && stored > 100), "{kills} kills, {stored} publishes: too tame");
}

/// What one seed came to.
struct Done {
    kills: u64,
    stored: usize,
}

/// One call, and how its client fared.
struct Client {
    call: Publish,
    fate: Mutex<ClientFate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientFate {
    /// Not sent yet.
    Waiting,
    /// Sent, not answered.
    Sent,
    /// Answered with success.
    Acknowledged,
    /// Never answered, and the client does not ask again.
    GivenUp,
}

async fn run_seed(seed: u64) -> Done {
    let mut chance = Chance::new(seed);
    let world = World::new();
    let users: Vec<&str> = ["ana", "bo", "cy"][..usize::try_from(chance.between(1, 2)).unwrap()].to_vec();
    let clients: Vec<Vec<Client>> = users.iter().map(|user| conversation(user, &mut chance)).collect();
    let mut kills = 0;
    loop {
        let process = world.start();
        if chance.percent(60) {
            world.hub.set_faults(faults(&mut chance));
        }
        if kills < KILLS_MAX {
            world.hub.kill_within(CALLS_MAX, chance.next());
        }
        live(&world, &process, &clients, &mut chance).await;
        world.hub.clear_faults();
        if !world.hub.is_dead() {
            break;
        }
        kills += 1;
        for client in clients.iter().flatten() {
            let mut fate = client.fate.lock().unwrap();
            if *fate == ClientFate::Sent && chance.percent(40) {
                *fate = ClientFate::GivenUp;
            }
        }
        // Some processes come back at once, some when every lease and message has run out.
        pass(if chance.percent(50) { chance.between(0, 20) } else { chance.between(300, 1000) }).await;
    }
    let process = world.start();
    run_until_quiet(&process, &users).await;
    let mut stored = 0;
    for (user, clients) in users.iter().zip(&clients) {
        let calls: Vec<(Publish, Fate)> = clients.iter().map(outcome).collect();
        stored += calls.len();
        check_user(&process, user, &calls).await;
    }
    Done { kills, stored }
}

fn outcome(client: &Client) -> (Publish, Fate) {
    let fate = match *client.fate.lock().unwrap() {
        ClientFate::Acknowledged => Fate::Acknowledged,
        ClientFate::GivenUp => Fate::Unknown,
        other => panic!("{}: {other:?}", client.call.request),
    };
    (client.call.clone(), fate)
}

/// What one user publishes, in order.
fn conversation(user: &str, chance: &mut Chance) -> Vec<Client> {
    let calls = usize::try_from(chance.between(1, 3)).unwrap();
    let client = |n| {
        let size = if chance.percent(50) { chance.between(1, 8) } else { chance.between(1, SIZE_MAX) };
        let evaluation_only = chance.percent(10);
        let call = Publish {
            session: format!("{user}-{}", chance.between(0, 1)),
            force: !evaluation_only && chance.percent(15),
            finished: chance.percent(15),
            evaluation_only,
            ..Publish::new(user, n, usize::try_from(size).unwrap())
        };
        Client { call, fate: Mutex::new(ClientFate::Waiting) }
    };
    (0..calls).map(client).collect()
}

/// Delays, so that what runs at once is interleaved, and a few failures.
fn faults(chance: &mut Chance) -> FaultPlan {
    let delay = Rule::new(Action::Delay(Duration::from_millis(chance.between(1, 40))));
    let write = ["TransactWriteItems", "UpdateItem", "PutItem"];
    let plan = FaultPlan::new(chance.next())
        .rule(delay.probability(0.3))
        .rule(Rule::new(Action::FailAfter).probability(0.02))
        .rule(Rule::new(Action::Throttle).probability(0.03))
        .rule(Rule::new(Action::FailBefore(Failure::Connection)).probability(0.02));
    write.iter().fold(plan, |plan, operation| {
        plan.rule(Rule::new(Action::TransactionConflict).operation(operation).probability(0.05))
    })
}

/// One process at work until all clients are served and a while has passed, or until it dies: then whatever it was
/// doing is dropped where it stands.
async fn live(world: &World, process: &Process, clients: &[Vec<Client>], chance: &mut Chance) {
    let death = std::future::poll_fn(|context| {
        if world.hub.is_dead() {
            return std::task::Poll::Ready(());
        }
        // Looked at again whenever anything else in this task moves.
        let _ = context;
        std::task::Poll::Pending
    });
    let seeds: Vec<u64> = (0..8).map(|_| chance.next()).collect();
    let afterwards = chance.between(5, 200);
    let serve = async {
        let users =
            clients.iter().zip(&seeds).map(|(clients, seed)| converse(process, clients, Chance::new(*seed)));
        futures::future::join_all(users).await;
        pass(afterwards).await;
    };
    let work = async {
        let workers = (0..WORKERS).map(|n| work(process, Chance::new(seeds[4] + n)));
        tokio::join!(futures::future::join_all(workers), sweep(process));
    };
    tokio::select! {
        biased;
        () = serve => {}
        () = work => {}
        () = death => {}
    }
}

/// A client sends one call after the other and repeats those that are not answered with success.
async fn converse(process: &Process, clients: &[Client], mut chance: Chance) {
    for client in clients {
        loop {
            let fate = *client.fate.lock().unwrap();
            let is_done = matches!(fate, ClientFate::Acknowledged | ClientFate::GivenUp);
            // Now and then a client did not see the answer and asks again.
            if is_done && !(fate == ClientFate::Acknowledged && chance.percent(15)) {
                break;
            }
            if !is_done {
                *client.fate.lock().unwrap() = ClientFate::Sent;
            }
            match process.publish(&client.call).await {
                StatusCode::OK => *client.fate.lock().unwrap() = ClientFate::Acknowledged,
                StatusCode::SERVICE_UNAVAILABLE => pass(1).await,
                other => panic!("{}: {other}", client.call.request),
            }
        }
        let pause = if chance.percent(20) { chance.between(30, 400) } else { chance.between(0, 3) };
        pass(pause).await;
    }
}

async fn work(process: &Process, mut chance: Chance) {
    loop {
        process.work_within(20).await;
        // A queue that is out of reach answers at once.
        tokio::time::sleep(Duration::from_millis(chance.between(1, 3000))).await;
    }
}

async fn sweep(process: &Process) {
    loop {
        pass(60).await;
        // A sweep that fails is made up for by the next.
        let _ = process.sweep().await;
    }
}
