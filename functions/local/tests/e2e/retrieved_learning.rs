//! The judgement of learnings that agents were given: what is asked, kept and listed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ids::{OrgId, RequestId, SessionId, UserHash, UserId};
use domain::judging::RetrievedLearningStatus as Status;
use evaluation::retrieved::{RetrievedOutcome, evaluate_retrieved_learnings};
use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};
use store::UserKeys;

use crate::script::provider;
use crate::support::{Caller, Site};

pub(crate) const ROUTE: &str = "/api/get_retrieved_learning_evaluation_results";

/// Which judges answer.
#[derive(Clone, Default)]
pub(crate) struct Judges(Arc<AtomicU8>);

const NO_RELEVANCE: u8 = 1;
const NO_IMPACT: u8 = 2;

impl Judges {
    fn fail(&self, which: u8) {
        self.0.store(which, Ordering::Relaxed);
    }

    /// Every learning is relevant and helped, and what is said of it names it.
    fn answer(&self, request: &ReceivedRequest) -> Scripted {
        let name = request.body["response_format"]["json_schema"]["name"].as_str().unwrap_or_default();
        let failing = self.0.load(Ordering::Relaxed);
        let prompt = request.prompt();
        let refs: Vec<&str> = prompt
            .lines()
            .filter_map(|line| line.trim().strip_prefix("\"learning_ref\": \"")?.split('"').next())
            .collect();
        let verdicts = |verdict: &dyn Fn(&str) -> Value| {
            Scripted::json(&json!({ "verdicts": refs.iter().map(|one| verdict(one)).collect::<Vec<_>>() }))
        };
        match name {
            "retrieved_learning_relevance" if failing & NO_RELEVANCE == 0 => verdicts(
                &|one| json!({ "learning_ref": one, "is_relevant": true, "relevance_reason": format!("about {one}") }),
            ),
            "retrieved_learning_impact" if failing & NO_IMPACT == 0 => verdicts(&|one| {
                json!({
                    "learning_ref": one, "impact": "positive", "impact_reason": format!("by {one}"),
                    "diagnosis": { "category": "no_issue", "reason": "followed", "evidence_interaction_ids": [] },
                })
            }),
            _ => Scripted::text("I cannot say."),
        }
    }
}

pub(crate) async fn judged_site() -> (Site, ModelServer, Judges) {
    let server = ModelServer::start().await;
    let judges = Judges::default();
    let answering = judges.clone();
    server.otherwise(Scripted::with(move |request| answering.answer(request)));
    (Site::with(provider(&server)).await, server, judges)
}

fn attached(learnings: &[(&str, &str)]) -> Value {
    let refs = learnings.iter().map(|(kind, id)| json!({ "kind": kind, "learning_id": id }));
    json!(refs.collect::<Vec<_>>())
}

/// A request with one turn of the user and one of the agent, which was given learnings.
pub(crate) fn request(user: &str, session: &str, request_id: &str, learnings: &[(&str, &str)]) -> Value {
    json!({
        "request_id": request_id, "user_id": user, "session_id": session, "agent_version": "v7",
        "evaluation_only": true,
        "interaction_data_list": [
            { "role": "User", "content": "Which tea?" },
            { "role": "Assistant", "content": "Green tea.", "retrieved_learnings": attached(learnings) },
        ],
    })
}

pub(crate) async fn add_profiles(caller: &Caller, user: &str, ids: &[&str]) {
    for ids in ids.chunks(50) {
        let row = |id: &&str| {
            json!({
                "profile_id": id, "user_id": user, "content": format!("likes {id}"),
                "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
            })
        };
        let rows: Vec<Value> = ids.iter().map(row).collect();
        caller.ok("/api/add_user_profile", &json!({ "user_profiles": rows })).await;
    }
}

async fn add_playbook(caller: &Caller, user: &str) {
    let row = json!({
        "user_id": user, "agent_version": "v7", "request_id": "r0", "content": "Name one tea only",
        "trigger": "When asked for tea",
    });
    caller.ok("/api/add_user_playbook", &json!({ "user_playbooks": [row] })).await;
}

pub(crate) async fn judge_through(
    site: &Site,
    org: &str,
    user: &str,
    session: &str,
    through: Option<&str>,
) -> RetrievedOutcome {
    let org: OrgId = org.parse().unwrap();
    let user = UserHash::of(&UserId::new(user).unwrap());
    let session = SessionId::new(session).unwrap();
    let through = through.map(|id| RequestId::new(id).unwrap());
    let keys = UserKeys { org: &org, user: &user };
    evaluate_retrieved_learnings(&site.deployment.app.services, &keys, &session, through.as_ref())
        .await
        .unwrap()
}

pub(crate) async fn judge(site: &Site, user: &str, session: &str) -> RetrievedOutcome {
    judge_through(site, "acme", user, session, None).await
}

pub(crate) async fn results(caller: &Caller, body: &Value) -> Vec<Value> {
    caller.ok(ROUTE, body).await["results"].as_array().unwrap().clone()
}

/// What the listed verdicts are about.
pub(crate) fn learning_ids(results: &[Value]) -> Vec<&str> {
    results.iter().map(|row| row["learning_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_verdict_is_listed_with_every_member_absent_ones_as_null() {
    let (site, server, _) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1"]).await;
    add_playbook(&site.acme, "ana").await;
    let learnings = [
        ("profile", "p1"),
        ("user_playbook", "1"),
        ("profile", "p1"),
        ("profile", "gone"),
        ("agent_playbook", "9"),
    ];
    site.acme.publish(&request("ana", "s1", "r1", &learnings)).await;
    let outcome = judge(&site, "ana", "s1").await;
    assert_eq!((outcome.status, outcome.resolvable_count, outcome.committed_count), (Status::Complete, 2, 2));
    assert_eq!(server.requests().len(), 2);
    let answer = site.acme.ok(ROUTE, &json!({})).await;
    assert_eq!((&answer["success"], &answer["msg"]), (&json!(true), &Value::Null));
    let rows = answer["results"].as_array().unwrap();
    let interaction = site.acme.interactions("ana").await[1].clone();
    let id = &interaction["interaction_id"];
    let requests = site.acme.ok("/api/get_requests", &json!({ "request_id": "r1" })).await;
    let began = requests["sessions"][0]["requests"][0]["request"]["created_at"].clone();
    assert_eq!(
        rows[1],
        json!({
            "result_id": 1, "user_id": "ana", "session_id": "s1", "agent_version": "v7",
            "interaction_id": id, "interaction_created_at": interaction["created_at"],
            "kind": "profile", "learning_id": "p1",
            "is_relevant": true, "relevance_reason": format!("about {id}:profile:p1"),
            "impact": "positive", "impact_reason": format!("by {id}:profile:p1"),
            "diagnosis": null, "evaluated_playbook_digest": null, "diagnosis_evidence_complete": false,
            "created_at": began,
        })
    );
    let playbook = &rows[0];
    let diagnosis = json!({ "category": "no_issue", "reason": "followed", "evidence_interaction_ids": [] });
    assert_eq!((&playbook["result_id"], &playbook["diagnosis"]), (&json!(2), &diagnosis));
    assert_eq!(playbook["evaluated_playbook_digest"].as_str().unwrap().len(), 64);
    assert_eq!(playbook["diagnosis_evidence_complete"], true);
}

#[tokio::test]
async fn a_session_is_judged_anew_only_when_it_changed() {
    let (site, server, _) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1", "p2"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "p1")])).await;
    let first = judge(&site, "ana", "s1").await;
    assert_eq!(judge(&site, "ana", "s1").await, first, "nothing is asked again");
    assert_eq!(server.requests().len(), 2);
    site.acme.publish(&request("ana", "s1", "r2", &[("profile", "p2")])).await;
    let second = judge(&site, "ana", "s1").await;
    assert_ne!(second.fingerprint, first.fingerprint);
    let rows = results(&site.acme, &json!({ "session_id": "s1" })).await;
    assert_eq!(learning_ids(&rows), ["p2", "p1"]);
    assert_eq!(rows[1]["result_id"], 2, "the verdict of before was replaced");
    let left = site.items().await.into_iter().filter(|item| item["SK"].as_s().unwrap().starts_with("RL#"));
    assert_eq!(left.count(), 2, "nothing is left of it");
}

#[tokio::test]
async fn a_session_up_to_a_request_is_judged_without_what_came_after() {
    let (site, _server, _) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1", "p2"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "p1")])).await;
    site.advance(1);
    site.acme.publish(&request("ana", "s1", "r2", &[("profile", "p2")])).await;
    let outcome = judge_through(&site, "acme", "ana", "s1", Some("r1")).await;
    assert_eq!((outcome.status, outcome.committed_count), (Status::Complete, 1));
    assert_eq!(learning_ids(&results(&site.acme, &json!({})).await), ["p1"]);
    assert_eq!(judge_through(&site, "acme", "ana", "s1", Some("r9")).await.status, Status::Skipped);
}

#[tokio::test]
async fn a_session_without_learnings_and_one_whose_learnings_are_gone_have_no_verdicts() {
    let (site, server, _) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[])).await;
    assert_eq!(judge(&site, "ana", "s1").await.status, Status::NotApplicable);
    assert_eq!(judge(&site, "ana", "unknown").await.status, Status::Skipped);
    assert_eq!(judge(&site, "bob", "s1").await.status, Status::Skipped);
    assert!(server.requests().is_empty());
    site.acme.publish(&request("ana", "s2", "r2", &[("profile", "p1")])).await;
    judge(&site, "ana", "s2").await;
    assert_eq!(results(&site.acme, &json!({})).await.len(), 1);
    let gone = site.acme.send(
        "DELETE",
        "/api/delete_profile",
        Some(("application/json", json!({ "user_id": "ana", "profile_id": "p1" }).to_string().into_bytes())),
    );
    assert_eq!(gone.await.status, 200);
    site.acme.publish(&request("ana", "s2", "r3", &[])).await;
    assert_eq!(judge(&site, "ana", "s2").await.status, Status::NotApplicable);
    assert_eq!(
        results(&site.acme, &json!({})).await,
        Vec::<Value>::new(),
        "the verdict went with its session's set"
    );
}

#[tokio::test]
async fn profiles_of_others_are_not_shown_to_the_judges() {
    let (site, server, _) = judged_site().await;
    add_profiles(&site.acme, "bob", &["b1"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "b1")])).await;
    assert_eq!(judge(&site, "ana", "s1").await.status, Status::NotApplicable);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn one_judge_that_fails_degrades_the_result_and_the_next_run_judges_all_anew() {
    let (site, _server, judges) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "p1")])).await;
    for (failing, absent, present) in
        [(NO_IMPACT, "impact", "is_relevant"), (NO_RELEVANCE, "is_relevant", "impact")]
    {
        judges.fail(failing);
        assert_eq!(judge(&site, "ana", "s1").await.status, Status::Degraded);
        let rows = results(&site.acme, &json!({})).await;
        assert!(rows[0][absent].is_null() && !rows[0][present].is_null(), "{}", rows[0]);
    }
    judges.fail(0);
    assert_eq!(judge(&site, "ana", "s1").await.status, Status::Complete);
    let rows = results(&site.acme, &json!({})).await;
    assert_eq!(
        (rows.len(), &rows[0]["impact"], &rows[0]["is_relevant"]),
        (1, &json!("positive"), &json!(true))
    );
}

#[tokio::test]
async fn when_no_judge_answers_the_verdicts_of_before_stay() {
    let (site, _server, judges) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "p1")])).await;
    judge(&site, "ana", "s1").await;
    let before = results(&site.acme, &json!({})).await;
    site.acme.publish(&request("ana", "s1", "r2", &[("profile", "p1")])).await;
    judges.fail(NO_RELEVANCE | NO_IMPACT);
    let outcome = judge(&site, "ana", "s1").await;
    assert_eq!((outcome.status, outcome.error_type.as_deref()), (Status::Failed, Some("all_judges_failed")));
    assert_eq!(results(&site.acme, &json!({})).await, before);
    judges.fail(0);
    assert_eq!(judge(&site, "ana", "s1").await.committed_count, 2);
}

#[tokio::test]
async fn more_verdicts_than_a_transaction_holds_replace_each_other_whole() {
    let (site, server, _) = judged_site().await;
    let names: Vec<String> = (0..161).map(|n| format!("p{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    add_profiles(&site.acme, "ana", &names).await;
    for (round, many) in [79, 80, 81, 161].into_iter().enumerate() {
        let learnings: Vec<(&str, &str)> = names[..many].iter().map(|name| ("profile", *name)).collect();
        let session = format!("s{round}");
        site.acme.publish(&request("ana", &session, &format!("r{round}"), &learnings)).await;
        let asked = server.requests().len();
        assert_eq!(judge(&site, "ana", &session).await.committed_count, many as i64);
        assert_eq!(server.requests().len() - asked, 2 * many.div_ceil(25), "25 learnings a question");
        let body = json!({ "session_id": session, "limit": 1_000 });
        let rows = results(&site.acme, &body).await;
        let mut found = learning_ids(&rows);
        found.sort_unstable();
        assert_eq!(found, names[..many]);
    }
}

#[tokio::test]
async fn a_user_who_is_being_erased_gets_no_verdicts() {
    let (site, _server, _) = judged_site().await;
    add_profiles(&site.acme, "ana", &["p1"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "p1")])).await;
    let head = site.items().await.into_iter().find(|item| item["SK"].as_s().unwrap() == "HEAD").unwrap();
    let dynamodb = aws_sdk_dynamodb::Client::new(&site.deployment.hub.sdk_config());
    let barrier = dynamodb
        .update_item()
        .table_name(&site.deployment.app.settings.table)
        .key("PK", head["PK"].clone())
        .key("SK", head["SK"].clone())
        .update_expression("SET bar = :yes")
        .expression_attribute_values(":yes", AttributeValue::Bool(true));
    barrier.send().await.unwrap();
    let before = site.items().await;
    assert_eq!(judge(&site, "ana", "s1").await.status, Status::Skipped);
    assert_eq!(site.items().await, before);
}

#[tokio::test]
async fn without_a_provider_the_built_in_rules_judge() {
    let site = Site::offline().await;
    add_profiles(&site.acme, "ana", &["tea", "skiing"]).await;
    site.acme.publish(&request("ana", "s1", "r1", &[("profile", "tea"), ("profile", "skiing")])).await;
    assert_eq!(judge(&site, "ana", "s1").await.status, Status::Complete);
    let rows = results(&site.acme, &json!({})).await;
    let relevant: Vec<(&str, &Value)> =
        rows.iter().map(|row| (row["learning_id"].as_str().unwrap(), &row["is_relevant"])).collect();
    assert_eq!(relevant, [("skiing", &json!(false)), ("tea", &json!(true))]);
}
