//! How a session ended, as a caller reports it: once, for the session as it is.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ids::{OrgId, SessionId, UserHash, UserId};
use domain::outcomes::TrajectoryHasher;
use serde_json::{Value, json};
use store::{RequestDocument, UserKeys};

use crate::support::{Caller, Site, request, with};

const DAY_SECONDS: i64 = 86_400;

pub(crate) fn report(session: &str, outcome: &str, occurred_at: i64) -> Value {
    json!({ "session_id": session, "outcome": outcome, "occurred_at": occurred_at })
}

pub(crate) async fn send(caller: &Caller, body: &Value) -> Value {
    caller.ok("/api/session_outcome", body).await
}

/// The identity in an answer.
fn identity(answer: &Value) -> Value {
    let names = ["outcome_id", "outcome_revision", "outcome_contract_digest", "finalized_trajectory_digest"];
    names
        .iter()
        .map(|name| ((*name).to_owned(), answer[*name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn now(site: &Site) -> i64 {
    site.deployment.app.services.clock.now()
}

/// The digest of what these users published in a session, made of all their documents at once.
pub(crate) async fn digest(site: &Site, users: &[&str], session: &str) -> String {
    let (org, store): (OrgId, _) = ("acme".parse().unwrap(), &site.deployment.app.services.store);
    let session = SessionId::new(session).unwrap();
    let mut documents: Vec<RequestDocument> = Vec::new();
    for user in users {
        let user = UserHash::of(&UserId::new(user).unwrap());
        documents
            .extend(store.documents(&UserKeys { org: &org, user: &user }, 0, i64::MAX >> 24).await.unwrap());
    }
    documents.retain(|document| document.request.session_id == session);
    documents.sort_by_key(|document| (document.request.created_at, document.request.request_id.clone()));
    let mut hasher = TrajectoryHasher::default();
    for document in &mut documents {
        for interaction in &mut document.interactions {
            if let Some(object) = interaction.image_object.take() {
                interaction.image_encoding =
                    String::from_utf8(store.objects().get(&object).await.unwrap()).unwrap();
            }
        }
        hasher.add(&document.request, &document.interactions).unwrap();
    }
    hasher.finish(&session)
}

/// Changes an item of the table behind the deployment's back; `None` removes it.
pub(crate) async fn put_item(site: &Site, item: crate::support::Item) {
    let dynamodb = aws_sdk_dynamodb::Client::new(&site.deployment.hub.sdk_config());
    let put = dynamodb.put_item().table_name(&site.deployment.app.settings.table);
    put.set_item(Some(item.into_iter().collect())).send().await.unwrap();
}

async fn remove_items(site: &Site, is_doomed: impl Fn(&str, &str) -> bool) {
    let dynamodb = aws_sdk_dynamodb::Client::new(&site.deployment.hub.sdk_config());
    for item in site.items().await {
        if is_doomed(item["PK"].as_s().unwrap(), item["SK"].as_s().unwrap()) {
            let delete = dynamodb.delete_item().table_name(&site.deployment.app.settings.table);
            delete.key("PK", item["PK"].clone()).key("SK", item["SK"].clone()).send().await.unwrap();
        }
    }
}

/// The item of the only outcome.
async fn outcome_item(site: &Site) -> crate::support::Item {
    let items = site.items().await;
    items.into_iter().find(|item| item["SK"].as_s().unwrap() == "OUT").unwrap()
}

#[tokio::test]
async fn a_first_outcome_is_three_reads_and_one_transaction_and_names_user_source_and_digests() {
    let site = Site::offline().await;
    site.acme
        .publish(&with(request("ana", "s1", "r1", &["hello é"]), json!({ "source": "support.chat" })))
        .await;
    let body = with(
        report("s1", "success", now(&site)),
        json!({ "label": " resolved ", "value": 1, "metadata": { "ticket": "T-1" } }),
    );
    site.acme.get("/api/whoami").await;
    let before = site.cost();
    let answer = send(&site.acme, &body).await;
    let cost = site.cost_since(&before);
    let calls = ["Query", "BatchGetItem", "TransactWriteItems"].map(|name| cost.calls("dynamodb", name));
    assert_eq!((calls, cost.all_calls()), ([2, 1, 1], 4), "{cost:?}");
    let id = answer["outcome_id"].as_str().unwrap();
    assert!(id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{id}");
    let expected = json!({
        "success": true, "recorded": true, "message": "Outcome recorded", "user_id": "ana",
        "source": "support.chat", "outcome_id": id, "outcome_revision": 1,
        "outcome_contract_digest": "e6b96e776ad287fd3fe678cad20c1f5fb0d7e806bd088b93216c80976291d40f",
        "finalized_trajectory_digest": digest(&site, &["ana"], "s1").await,
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn the_same_report_again_writes_nothing_and_another_one_is_refused_with_the_stored_identity() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let at = now(&site);
    let full = json!({ "label": "done", "value": 1.5, "metadata": { "b": "é", "a": 1 } });
    let body = with(report("s1", "success", at), full);
    let first = send(&site.acme, &body).await;
    site.advance(7);
    let items = site.stored().await;
    let again = with(body.clone(), json!({ "label": "  done", "metadata": { "a": 1, "b": "\u{e9}" } }));
    for same in [&body, &again] {
        let answer = send(&site.acme, same).await;
        let expected = with(first.clone(), json!({ "recorded": false, "message": "Outcome already exists" }));
        assert_eq!(answer, expected);
    }
    for change in [
        json!({ "outcome": "failure" }),
        json!({ "occurred_at": at + 1 }),
        json!({ "label": null }),
        json!({ "value": 1 }),
        json!({ "metadata": { "b": "é", "a": 1.0 } }),
    ] {
        let answer = send(&site.acme, &with(body.clone(), change.clone())).await;
        let expected = with(
            first.clone(),
            json!({
                "success": false, "recorded": false, "reason": "conflicting_finalization",
                "message": "Outcome was not recorded",
            }),
        );
        assert_eq!(answer, expected, "{change}");
    }
    assert_eq!(site.stored().await, items);
}

#[tokio::test]
async fn a_session_that_goes_on_after_its_outcome_is_another_one() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let body = report("s1", "success", now(&site));
    let first = send(&site.acme, &body).await;
    site.acme.publish(&request("ana", "s2", "r2", &["elsewhere"])).await;
    assert_eq!(send(&site.acme, &body).await["recorded"], false);
    assert_eq!(send(&site.acme, &body).await["success"], true);
    site.acme.publish(&request("ana", "s1", "r3", &["one more thing"])).await;
    let answer = send(&site.acme, &body).await;
    assert_eq!(answer["reason"], "conflicting_finalization");
    assert_eq!(identity(&answer), identity(&first));
}

#[tokio::test]
async fn an_outcome_is_bound_to_the_time_of_its_session() {
    let site = Site::offline().await;
    let unknown = send(&site.acme, &report("nope", "success", 5)).await;
    let expected = json!({
        "success": false, "recorded": false, "reason": "unknown_session",
        "message": "Session has no published requests",
    });
    assert_eq!(unknown, expected);
    let began = now(&site);
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    site.advance(100);
    let early = send(&site.acme, &report("s1", "success", began - 1)).await;
    let expected = json!({
        "success": false, "recorded": false, "reason": "occurred_before_session",
        "message": "Outcome occurred before the session began", "user_id": "ana", "source": "",
    });
    assert_eq!(early, expected);
    let late = send(&site.acme, &report("s1", "success", now(&site) + DAY_SECONDS + 1)).await;
    let expected = json!({
        "success": false, "recorded": false, "reason": "occurred_in_future",
        "message": "Outcome occurred too far in the future",
    });
    assert_eq!(late, expected);
    assert_eq!(send(&site.acme, &report("nope", "success", i64::MAX)).await["reason"], "occurred_in_future");
    // The last second of the one bound, then the first of the other.
    assert_eq!(send(&site.acme, &report("s1", "success", began)).await["recorded"], true);
    site.acme.publish(&request("ana", "s2", "r2", &["hello"])).await;
    let last = report("s2", "unknown", now(&site) + DAY_SECONDS);
    assert_eq!(send(&site.acme, &last).await["recorded"], true);
}

#[tokio::test]
async fn of_a_session_that_users_share_the_earliest_request_decides() {
    let site = Site::offline().await;
    site.acme.publish(&with(request("zoe", "s1", "r9", &["first"]), json!({ "source": "web" }))).await;
    site.advance(1);
    site.acme.publish(&with(request("ana", "s1", "r2", &["second"]), json!({ "source": "api" }))).await;
    site.acme.publish(&request("bo", "s1", "r1", &["third"])).await;
    let answer = send(&site.acme, &report("s1", "failure", now(&site))).await;
    assert_eq!((&answer["user_id"], &answer["source"]), (&json!("zoe"), &json!("web")));
    let expected = digest(&site, &["ana", "bo", "zoe"], "s1").await;
    assert_eq!(answer["finalized_trajectory_digest"], expected);
}

#[tokio::test]
async fn a_session_of_as_many_users_as_one_transaction_checks_and_of_one_more_has_an_outcome() {
    let checked = store::SESSION_USERS_CHECKED_MAX;
    let site = Site::offline().await;
    let names: Vec<String> = (0..=checked).map(|n| format!("user-{n:03}")).collect();
    for many in [checked - 1, checked, checked + 1] {
        let session = format!("s{many}");
        for user in &names[..many] {
            site.acme.publish(&request(user, &session, &format!("{session}-{user}"), &["hello"])).await;
        }
        let answer = send(&site.acme, &report(&session, "success", now(&site))).await;
        assert_eq!(answer["recorded"], true, "{many}: {answer}");
        let users: Vec<&str> = names[..many].iter().map(String::as_str).collect();
        assert_eq!(answer["finalized_trajectory_digest"], digest(&site, &users, &session).await, "{many}");
    }
}

#[tokio::test]
async fn a_session_of_more_users_than_can_be_looked_at_has_no_outcome() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let items = site.items().await;
    let member = items.iter().find(|item| item["SK"].as_s().unwrap().starts_with("U#")).unwrap();
    let add = async |n: usize| {
        let hash = format!("{n:064x}");
        let mut item = member.clone();
        item.insert("SK".into(), AttributeValue::S(format!("U#{hash}")));
        item.insert("uh".into(), AttributeValue::S(hash));
        put_item(&site, item).await;
    };
    for n in 1..store::SESSION_USERS_MAX {
        add(n).await;
    }
    let body = report("s1", "success", now(&site));
    assert_eq!(send(&site.acme, &body).await["recorded"], true);
    add(store::SESSION_USERS_MAX).await;
    let answer = send(&site.acme, &body).await;
    assert_eq!((&answer["success"], &answer["reason"]), (&json!(false), &json!("storage_error")), "{answer}");
}

#[tokio::test]
async fn a_session_larger_than_what_is_kept_in_memory_has_the_digest_of_the_whole() {
    let site = Site::offline().await;
    let long = "long words ".repeat(2_700);
    let many: Vec<&str> = std::iter::repeat_n(long.as_str(), 8).collect();
    for n in 0..20 {
        site.acme.publish(&request("ana", "s1", &format!("r{n}"), &many)).await;
        site.acme.publish(&request("ana", "s2", &format!("other{n}"), &["elsewhere"])).await;
    }
    let oversize = "x".repeat(store::INTERACTION_BYTES_INLINE_MAX + 1);
    let mut spilled = request("bo", "s1", "a", &[&oversize, "short"]);
    spilled["interaction_data_list"][1]["image_encoding"] = "aGVsbG8=".into();
    site.acme.publish(&spilled).await;
    let before = site.cost();
    let answer = send(&site.acme, &report("s1", "success", now(&site))).await;
    let cost = site.cost_since(&before);
    assert!(20 * 8 * long.len() > store::SESSION_BYTES_KEPT_MAX);
    assert!(cost.calls("dynamodb", "BatchGetItem") > 1, "some is read again: {cost:?}");
    assert_eq!(answer["finalized_trajectory_digest"], digest(&site, &["ana", "bo"], "s1").await);
}

#[tokio::test]
async fn once_the_requests_are_gone_a_retry_is_compared_by_what_was_reported() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let body = report("s1", "success", now(&site));
    let first = send(&site.acme, &body).await;
    remove_items(&site, |pk, _| pk.starts_with("O#acme#U#")).await;
    let answer = send(&site.acme, &body).await;
    assert_eq!((&answer["success"], &answer["recorded"]), (&json!(true), &json!(false)), "{answer}");
    assert_eq!(identity(&answer), identity(&first));
    let other = send(&site.acme, &report("s1", "failure", now(&site))).await;
    assert_eq!(other["reason"], "conflicting_finalization");
}

#[tokio::test]
async fn a_row_that_is_older_than_identities_is_compared_without_digests_and_stays_without_one() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let body = report("s1", "success", now(&site));
    send(&site.acme, &body).await;
    let mut item = outcome_item(&site).await;
    let mut row: Value = serde_json::from_str(item["doc"].as_s().unwrap()).unwrap();
    for name in ["outcome_id", "outcome_revision", "outcome_contract_digest", "finalized_trajectory_digest"] {
        row[name] = Value::Null;
    }
    item.insert("doc".into(), AttributeValue::S(row.to_string()));
    put_item(&site, item.clone()).await;
    site.acme.publish(&request("ana", "s1", "r2", &["more"])).await;
    let answer = send(&site.acme, &body).await;
    let expected = json!({
        "success": true, "recorded": false, "message": "Outcome already exists", "user_id": "ana", "source": "",
    });
    assert_eq!(answer, expected);
    let other = send(&site.acme, &report("s1", "failure", now(&site))).await;
    let expected = json!({
        "success": false, "recorded": false, "reason": "conflicting_finalization",
        "message": "Outcome was not recorded", "user_id": "ana", "source": "",
    });
    assert_eq!(other, expected);
    let listed = site.acme.ok("/api/get_session_outcomes", &json!({ "session_ids": ["s1"] })).await;
    assert!(listed["session_outcomes"][0].get("outcome_id").is_none(), "{listed}");
    row["outcome_id"] = "0123456789abcdef0123456789abcdef".into();
    item.insert("doc".into(), AttributeValue::S(row.to_string()));
    put_item(&site, item).await;
    assert_eq!(send(&site.acme, &body).await["reason"], "storage_error", "a part of an identity");
}

#[tokio::test]
async fn a_session_of_a_user_who_is_being_erased_takes_no_outcome() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    site.acme.publish(&request("bo", "s1", "r2", &["hello"])).await;
    let items = site.items().await;
    let head = |user: &str| {
        let hash = UserHash::of(&UserId::new(user).unwrap());
        let key = format!("O#acme#U#{}", hash.as_str());
        items
            .iter()
            .find(|item| item["PK"].as_s() == Ok(&key) && item["SK"].as_s().unwrap() == "HEAD")
            .unwrap()
    };
    for user in ["ana", "bo"] {
        let mut barred = head(user).clone();
        barred.insert("bar".into(), AttributeValue::Bool(true));
        put_item(&site, barred).await;
        let stored = site.stored().await;
        let answer = send(&site.acme, &report("s1", "success", now(&site))).await;
        let expected =
            json!({ "success": false, "recorded": false, "reason": "subject_not_writable", "message": "" });
        assert_eq!(answer, expected, "{user}");
        assert_eq!(site.stored().await, stored);
        put_item(&site, head(user).clone()).await;
    }
    assert_eq!(send(&site.acme, &report("s1", "success", now(&site))).await["recorded"], true);
}

#[tokio::test]
async fn a_session_with_an_integer_that_has_no_exact_spelling_is_refused_and_nothing_is_written() {
    let site = Site::offline().await;
    for (session, number, recorded) in [("s1", (1_i64 << 53) - 1, true), ("s2", 1_i64 << 53, false)] {
        let mut body = request("ana", session, session, &["hello"]);
        body["interaction_data_list"][0]["tools_used"] =
            json!([{ "tool_name": "t", "tool_data": { "n": number } }]);
        site.acme.publish(&body).await;
        let answer = send(&site.acme, &report(session, "success", now(&site))).await;
        assert_eq!(answer["recorded"], recorded, "{answer}");
        assert!(recorded || answer["reason"] == "storage_error", "{answer}");
    }
    assert_eq!(site.items().await.iter().filter(|item| item["SK"].as_s().unwrap() == "OUT").count(), 1);
}

#[tokio::test]
async fn who_is_derived_cannot_be_supplied_and_ignored_members_are_named_in_the_log() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let events = llm::testing::Events::note();
    let body = with(report("s1", "success", now(&site)), json!({ "user_id": "xyzzy", "source": "plugh" }));
    let answer = send(&site.acme, &body).await;
    assert_eq!((&answer["user_id"], &answer["source"]), (&json!("ana"), &json!("")));
    let noted = events.named("unknown_fields_ignored");
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0]["fields"], "user_id, source");
    assert!(!noted[0].values().any(|value| value.contains("xyzzy")), "{noted:?}");
}
