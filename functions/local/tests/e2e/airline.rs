//! Real conversations of an airline's agent (`airline/NOTICE`), learned by the offline rules and aggregated by what
//! learning sets off: no caller asks for it, since that would make everything anew.

use std::sync::{Arc, Mutex};

use llm::meter::{UsageRecord, UsageSink};
use serde_json::{Value, json};

use crate::support::{Caller, Site, with};

const SESSIONS: &str = include_str!("airline/sessions.json");
/// The session that comes last: changes of a flight that fail, as those of another user did before.
const LAST: &str = "airline-20-1";
/// What its cluster is about, and no other.
const TOPIC: &str = "update_reservation_flights fails";
const AGENT_VERSION: &str = "gpt-4o";
/// New playbooks that start a run, by default.
const TRIGGER_COUNT: usize = 2;

/// Counts what models are asked.
#[derive(Default)]
struct Calls(Mutex<Vec<&'static str>>);

impl UsageSink for Calls {
    fn record(&self, record: UsageRecord) {
        self.0.lock().unwrap().push(record.purpose);
    }
}

impl Calls {
    /// Calls since this was last asked: all, and those about clusters.
    fn take(&self) -> (usize, usize) {
        let calls = std::mem::take(&mut *self.0.lock().unwrap());
        (calls.len(), calls.iter().filter(|purpose| **purpose == "playbook_aggregation").count())
    }
}

fn sessions() -> Vec<Value> {
    serde_json::from_str(SESSIONS).unwrap()
}

/// Publishes a session and learns from it.
async fn live(site: &Site, session: &Value) {
    let id = session["session_id"].as_str().unwrap();
    let more = json!({ "request_id": id, "agent_version": AGENT_VERSION, "force_extraction": true });
    site.acme.publish(&with(session.clone(), more)).await;
    site.learn().await;
    assert_eq!(site.acme.status(id).await.0, "done");
}

/// The agent playbooks, each as the text of its row: ids, times, words.
async fn rows(caller: &Caller) -> Vec<String> {
    caller.agent_playbooks(json!({})).await.iter().map(Value::to_string).collect()
}

async fn user_playbooks(caller: &Caller) -> Vec<Value> {
    let body = json!({ "limit": 1_000, "status_filter": [null] });
    caller.ok("/api/get_user_playbooks", &body).await["user_playbooks"].as_array().unwrap().clone()
}

/// User playbooks that no run has seen.
async fn unseen(site: &Site) -> usize {
    let items = site.items().await;
    items.iter().filter(|item| item["SK"].as_s().is_ok_and(|key| key.starts_with("I#"))).count()
}

/// Makes a run due without a change: playbooks are saved as they are.
async fn make_due(site: &Site) {
    let playbooks = user_playbooks(&site.acme).await;
    for row in &playbooks[..TRIGGER_COUNT] {
        let body = json!({ "user_playbook_id": row["user_playbook_id"], "content": row["content"] });
        let answer = site.acme.put("/api/update_user_playbook", &body).await;
        assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)), "{}", answer.body);
    }
}

#[tokio::test]
async fn runs_over_real_conversations_ask_and_change_no_more_than_what_changed() {
    let site = Site::offline().await;
    let calls = Arc::new(Calls::default());
    site.deployment.app.usage.watch(calls.clone());
    let (last, first): (Vec<_>, Vec<_>) =
        sessions().into_iter().partition(|session| session["session_id"] == LAST);
    for session in &first {
        live(&site, session).await;
    }

    calls.take();
    assert!(site.aggregate().await > 0);
    let made = rows(&site.acme).await;
    assert!(made.len() >= 3, "{made:#?}");
    assert_eq!(calls.take(), (made.len(), made.len()), "one call for each cluster");
    assert_eq!(unseen(&site).await, 0);

    site.advance(3_600);
    make_due(&site).await;
    assert_eq!(unseen(&site).await, TRIGGER_COUNT);
    assert!(site.aggregate().await > 0, "edits set it off");
    assert_eq!(unseen(&site).await, 0, "it was worth a run");
    assert_eq!(calls.take(), (0, 0), "and nobody was asked");
    assert_eq!(rows(&site.acme).await, made);

    site.advance(3_600);
    live(&site, &last[0]).await;
    calls.take();
    assert!(site.aggregate().await > 0);
    assert_eq!(calls.take(), (1, 1), "about the cluster that grew");
    let now = rows(&site.acme).await;
    let gone: Vec<_> = made.iter().filter(|row| !now.contains(row)).collect();
    let new: Vec<_> = now.iter().filter(|row| !made.contains(row)).collect();
    assert!(gone.len() == 1 && gone[0].contains(TOPIC), "{gone:#?}");
    assert!(new.len() == 1 && new[0].contains(TOPIC), "{new:#?}");
    assert_eq!(now.len(), made.len());
}
