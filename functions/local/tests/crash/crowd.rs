//! One user and many publishes at once, while workers die; and users with names of every kind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use http::StatusCode;

use crate::support::chance::Chance;
use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// Publishes of one user under way at once.
const PUBLISHES: usize = 50;
/// Workers of one process.
const WORKERS: u64 = 3;
/// Kills of one run; each comes at one of so many calls.
const KILLS: u64 = 6;
const CALLS_MAX: u64 = 400;
const SEEDS: u64 = 4;

/// A publish, and whether it was answered with success.
struct Client {
    call: Publish,
    acknowledged: AtomicBool,
}

#[tokio::test(start_paused = true)]
async fn fifty_publishes_at_once_are_each_learned_once_though_workers_die() {
    let mut killed_while_learning = 0;
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let mut chance = Chance::new(seed);
        let world = World::new();
        let clients: Vec<Client> = (0..PUBLISHES)
            .map(|n| Client { call: Publish::new("ana", n, 1 + n % 3), acknowledged: AtomicBool::new(false) })
            .collect();
        for kill in 0..=KILLS {
            let process = world.start();
            if kill < KILLS {
                world.hub.kill_within(CALLS_MAX, chance.next());
            }
            live(&world, &process, &clients, &mut chance).await;
            if !world.hub.is_dead() {
                break;
            }
            killed_while_learning += u64::from(world.script.asked("profile_should_generate") > 0);
            // Some come back at once, some when every lease and message has run out.
            pass(if chance.percent(50) { 1 } else { 1_000 }).await;
        }
        let process = world.start();
        run_until_quiet(&process, &["ana"]).await;
        let calls: Vec<_> = clients.into_iter().map(|client| (client.call, Fate::Acknowledged)).collect();
        check_user(&process, "ana", &calls).await;
    }
    assert!(killed_while_learning > SEEDS, "only {killed_while_learning} kills while something was learned");
}

/// One process until every publish is answered and a while has passed, or until it dies.
async fn live(world: &World, process: &Process, clients: &[Client], chance: &mut Chance) {
    let publishing = async {
        join_all(clients.iter().map(|client| publish(process, client))).await;
        pass(120).await;
    };
    let pauses: Vec<Chance> = (0..WORKERS).map(|_| Chance::new(chance.next())).collect();
    let working = join_all(pauses.into_iter().map(|pause| work(process, pause)));
    let death = std::future::poll_fn(|_| {
        // Looked at again whenever anything else in this task moves.
        if world.hub.is_dead() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    tokio::select! {
        biased;
        () = publishing => {}
        _ = working => {}
        () = death => {}
    }
}

/// Sends until there is an answer of success, in the same words each time.
async fn publish(process: &Process, client: &Client) {
    while !client.acknowledged.load(Ordering::Relaxed) {
        match process.publish(&client.call).await {
            StatusCode::OK => client.acknowledged.store(true, Ordering::Relaxed),
            StatusCode::SERVICE_UNAVAILABLE => pass(1).await,
            other => panic!("{}: {other}", client.call.request),
        }
    }
}

async fn work(process: &Process, mut pause: Chance) {
    loop {
        process.work_within(20).await;
        tokio::time::sleep(Duration::from_millis(pause.between(1, 500))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn users_with_names_of_every_kind_are_kept_apart_and_learned_once() {
    let longest = "n".repeat(1_000);
    let longest_wide = "名".repeat(1_000);
    let names = [
        "ana",
        "Ana",
        "ana b",
        "ana  b",
        "ana::b",
        "ana#b",
        "ana/b",
        "O#self-host-org#U#ana",
        "HEAD",
        "-",
        "\u{1}ana\u{2}",
        "ana\u{200b}",
        "ana\u{feff}",
        "e\u{301}",
        "\u{e9}",
        "\u{202e}ana",
        "👩‍👩‍👧‍👦",
        "\u{10ffff}",
        "%00",
        "../ana",
        &longest,
        &longest_wide,
        &longest[1..],
    ];
    let world = World::new();
    let process = world.start();
    let calls: Vec<Publish> = names
        .iter()
        .enumerate()
        // Every other one in a session that all of them share.
        .map(|(n, name)| Publish {
            user: (*name).to_owned(),
            session: if n % 2 == 0 { "shared".to_owned() } else { format!("{n} :: # \u{1}") },
            ..Publish::new(&format!("user{n}"), 0, 9)
        })
        .collect();
    for call in &calls {
        assert_eq!(process.publish(call).await, StatusCode::OK, "{:?}", call.user);
    }
    assert_eq!(process.drain().await, names.len());
    for call in &calls {
        // The ninth interaction waits for more, until its session is over.
        assert_eq!(process.learned(&call.user).await, 8, "{:?}", call.user);
        assert!(process.finalize(&call.user, &call.session).await, "{:?}", call.user);
    }
    assert_eq!(process.drain().await, names.len());
    run_until_quiet(&process, &names).await;
    for call in calls {
        check_user(&process, &call.user.clone(), &[(call, Fate::Acknowledged)]).await;
    }
    let mut too_long = Publish::new("x", 0, 1);
    too_long.user = "n".repeat(1_001);
    assert_eq!(process.publish(&too_long).await, StatusCode::UNPROCESSABLE_ENTITY);
}
