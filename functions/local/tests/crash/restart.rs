//! A local server that is started again over the data of one that was killed.

use std::sync::Arc;

use http::StatusCode;
use store::AgentKeys;
use sweep::GRACE_SECONDS;
use tempfile::TempDir;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::{VirtualClock, pass};
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::world::{World, hash, keys, org};

const GRACE: u64 = GRACE_SECONDS.unsigned_abs();
/// How long a lease lasts, in seconds.
const LEASE_SECONDS: u64 = 300;

#[tokio::test(start_paused = true)]
async fn what_a_killed_server_was_learning_is_learned_by_the_next_without_waiting_for_its_lease() {
    let data = TempDir::new().unwrap();
    let clock: Arc<VirtualClock> = Arc::new(VirtualClock::new());
    let call = Publish::new("ana", 0, 8);
    let killed = World::in_directory(data.path(), clock.clone());
    {
        let process = killed.start();
        assert_eq!(process.publish(&call).await, StatusCode::OK);
        killed.script.on("ana-", Mood::Hold);
        tokio::select! {
            biased;
            _ = process.work_once() => panic!("the model thinks"),
            () = killed.script.held() => {}
        }
    }
    drop(killed);
    pass(1).await;
    let world = World::in_directory(data.path(), clock);
    let process = world.start();
    process.app.services.store.void_earlier_leases();
    pass(GRACE).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    assert_eq!(process.drain().await, 1);
    assert_eq!(process.learned("ana").await, 8);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn leases_of_before_are_void_and_leases_from_now_on_are_not() {
    let world = World::new();
    let process = world.start();
    let store = &process.app.services.store;
    let (org, user) = (org(), hash("ana"));
    let keys = keys(&org, &user);
    store.take_lease(&keys, "dead").await.unwrap();
    pass(1).await;
    assert!(store.is_leased(&keys).await.unwrap());
    store.void_earlier_leases();
    assert!(!store.is_leased(&keys).await.unwrap());
    let lease = store.take_lease(&keys, "alive").await.unwrap();
    assert_eq!(lease.epoch, 2, "what the dead one prepared can never be committed");
    store.take_lease(&keys, "another").await.unwrap_err();
    pass(LEASE_SECONDS - 1).await;
    assert!(store.is_leased(&keys).await.unwrap());
    pass(1).await;
    assert!(!store.is_leased(&keys).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn leases_of_aggregations_of_before_are_void_and_those_from_now_on_are_not() {
    let world = World::new();
    let process = world.start();
    let store = &process.app.services.store;
    let org = org();
    let keys = AgentKeys { org: &org, agent_version: "v1" };
    store.take_aggregation(&keys, "dead").await.unwrap();
    pass(1).await;
    store.take_aggregation(&keys, "alive").await.unwrap_err();
    assert!(store.is_aggregating(&keys).await.unwrap());
    store.void_earlier_leases();
    assert!(!store.is_aggregating(&keys).await.unwrap());
    let lease = store.take_aggregation(&keys, "alive").await.unwrap();
    assert_eq!(lease.epoch, 2, "what the dead one prepared can never be committed");
    store.take_aggregation(&keys, "another").await.unwrap_err();
    pass(LEASE_SECONDS - 1).await;
    assert!(store.is_aggregating(&keys).await.unwrap());
    pass(1).await;
    assert!(!store.is_aggregating(&keys).await.unwrap());
}
