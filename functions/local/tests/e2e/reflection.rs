//! Memories that the agent cites are revised in the light of what the user said afterwards.

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, attentive_model, provider, purpose};
use crate::support::{Item, Site, with};

/// Minutes after which a pass that failed a few times is surely tried again.
const MINUTES: usize = 7;

/// A model that decides so on cited memories, and otherwise does as the conversation says.
async fn deciding(decisions: Value) -> ModelServer {
    let model = ModelServer::start().await;
    decide(&model, move || Scripted::json(&json!({ "decisions": decisions })));
    model
}

fn decide(model: &ModelServer, reply: impl Fn() -> Scripted + Send + Sync + 'static) {
    model.otherwise(Scripted::with(move |request: &ReceivedRequest| match purpose(request) {
        Purpose::Reflection => reply(),
        _ => attentive(request),
    }));
}

/// A site with small windows, on which Ana is known to drink tea and to want brief answers.
async fn site(model: &ModelServer) -> Site {
    let site = Site::with(provider(model)).await;
    let sizes = json!({ "window_size": 6, "stride_size": 4 });
    site.acme.ok("/api/update_config", &sizes).await;
    let profile = json!({ "user_profiles": [{
        "profile_id": "p1", "user_id": "ana", "content": "Ana drinks tea", "source": "form",
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
        "profile_time_to_live": "one_year", "tags": ["drink"], "custom_features": { "certain": true },
    }] });
    site.acme.ok("/api/add_user_profile", &profile).await;
    let playbook = json!({ "user_playbooks": [{
        "user_id": "ana", "agent_version": "v1", "request_id": "r0",
        "content": "Answer briefly", "trigger": "When asked", "rationale": "She said so",
    }] });
    site.acme.ok("/api/add_user_playbook", &playbook).await;
    site
}

fn user(content: &str) -> Value {
    json!({ "role": "User", "content": content })
}

fn citing(kind: &str, id: &str) -> Value {
    json!({ "role": "Assistant", "content": "As you like it.", "citations": [{ "kind": kind, "real_id": id }] })
}

async fn publish(site: &Site, id: &str, turns: &[Value]) {
    let body = json!({
        "user_id": "ana", "session_id": "s1", "request_id": id, "interaction_data_list": turns,
    });
    site.acme.publish(&body).await;
    site.learn().await;
}

fn correction(kind: &str, id: &str) -> [Value; 4] {
    [citing(kind, id), user("no, coffee"), user("fact: Ana has a cat"), user("thanks")]
}

async fn rows(site: &Site, prefix: &str) -> Vec<(Item, Value)> {
    let mut items = site.items().await;
    items.retain(|item| item["SK"].as_s().unwrap().starts_with(prefix));
    let document = |item: &Item| {
        let texts = item.values().filter_map(|value| value.as_s().ok()).filter(|text| text.starts_with('{'));
        serde_json::from_str(texts.max_by_key(|text| text.len()).unwrap()).unwrap()
    };
    items.into_iter().map(|item| (item.clone(), document(&item))).collect()
}

/// The rows by their content, with status and successor.
async fn lives(site: &Site, prefix: &str) -> Vec<(String, String, Value)> {
    let life = |(_, row): (Item, Value)| {
        let status = row["status"].as_str().unwrap_or("current").to_owned();
        (row["content"].as_str().unwrap().to_owned(), status, row["superseded_by"].clone())
    };
    let mut lives: Vec<_> = rows(site, prefix).await.into_iter().map(life).collect();
    lives.sort_by_key(|life| life.0.clone());
    lives
}

fn coffee() -> Value {
    json!([{
        "reason": "She said so.", "target_kind": "profile", "target_id": "p1",
        "new_content": "Ana drinks coffee", "new_profile_time_to_live": "one_week",
    }])
}

#[tokio::test]
async fn a_cited_fact_that_the_user_corrects_is_replaced_before_the_window_is_learned() {
    let model = deciding(coffee()).await;
    let site = site(&model).await;
    publish(&site, "r1", &correction("profile", "p1")).await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks coffee", "Ana has a cat"]);
    let found = rows(&site, "P#").await;
    let new = &found.iter().find(|(_, row)| row["content"] == "Ana drinks coffee").unwrap().1;
    let now = site.deployment.app.services.clock.now();
    assert_eq!(new["expiration_timestamp"], new["last_modified_timestamp"].as_i64().unwrap() + 604_800);
    assert!(now - new["last_modified_timestamp"].as_i64().unwrap() < 60);
    assert_eq!(
        (&new["source"], &new["tags"], &new["custom_features"], &new["generated_from_request_id"]),
        (&json!("form"), &json!(["drink"]), &json!({ "certain": true }), &json!("r0"))
    );
    let lives = lives(&site, "P#").await;
    assert_eq!((lives[1].1.as_str(), &lives[1].2), ("superseded", &new["profile_id"]), "{lives:?}");
    // Extraction saw what it had become.
    let extraction = model.requests().into_iter().find(|r| purpose(r) == Purpose::Profiles).unwrap();
    assert!(extraction.prompt().contains("coffee") && !extraction.prompt().contains("drinks tea"));
    let query = json!({ "user_id": "ana", "query": "coffee", "search_mode": "fts" });
    let searched = site.acme.ok("/api/search_profiles", &query).await;
    assert_eq!(searched["user_profiles"][0]["content"], "Ana drinks coffee");
    let change = rows(&site, "PCL#").await;
    assert!(change.iter().any(|(_, log)| log["added_profiles"][0]["content"] == "Ana drinks coffee"
        && log["removed_profiles"][0]["profile_id"] == "p1"));
    site.pass_minutes(MINUTES).await;
    assert_eq!(asked(&model, Purpose::Reflection), 1, "nobody is asked twice about the same turns");
}

#[tokio::test]
async fn a_cited_rule_gets_another_trigger_and_the_list_of_all_users_shows_it() {
    let decisions =
        json!([{ "target_kind": "playbook", "target_id": "1", "new_trigger": "When in a hurry" }]);
    let model = deciding(decisions).await;
    let site = site(&model).await;
    let search = json!({ "query": "brief answers", "status_filter": [null] });
    site.acme.ok("/api/search_user_playbooks", &search).await;
    publish(&site, "r1", &correction("user_playbook", "1")).await;
    let found = site.acme.ok("/api/search_user_playbooks", &search).await;
    let triggers: Vec<_> =
        found["user_playbooks"].as_array().unwrap().iter().map(|r| &r["trigger"]).collect();
    assert_eq!(triggers, ["When in a hurry"]);
    let lives = lives(&site, "B#").await;
    assert!(lives.contains(&("Answer briefly".into(), "superseded".into(), json!(2))), "{lives:?}");
}

#[tokio::test]
async fn nobody_is_asked_below_the_stride_or_without_a_citation_that_can_be_judged() {
    let model = deciding(coffee()).await;
    let site = site(&model).await;
    let turns = correction("profile", "p1");
    for (n, turn) in turns.iter().take(3).enumerate() {
        publish(&site, &format!("r{n}"), std::slice::from_ref(turn)).await;
    }
    site.sweep().await;
    assert_eq!(asked(&model, Purpose::Reflection), 0, "the stride is four");
    publish(&site, "r3", &turns[3..]).await;
    assert_eq!(asked(&model, Purpose::Reflection), 1);
    // Cited in the last turn of the window: judged when more came after it.
    publish(&site, "r4", &[user("a"), user("b"), user("c"), citing("playbook", "1")]).await;
    assert_eq!(asked(&model, Purpose::Reflection), 1);
    publish(&site, "r5", &[user("d"), user("e"), user("f"), user("g")]).await;
    assert_eq!(asked(&model, Purpose::Reflection), 2);
    // Nothing of its own, and nothing that is there.
    let foreign = json!({ "user_profiles": [{
        "profile_id": "p9", "user_id": "bo", "content": "Bo drinks rum",
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
    }] });
    site.acme.ok("/api/add_user_profile", &foreign).await;
    for id in ["p9", "nowhere"] {
        publish(&site, &format!("r-{id}"), &correction("profile", id)).await;
    }
    assert_eq!(asked(&model, Purpose::Reflection), 2);
    assert!(model.requests().iter().all(|request| !request.prompt().contains("rum")));
}

#[tokio::test]
async fn a_provider_that_fails_at_it_does_not_hold_up_learning_and_is_asked_again() {
    let model = ModelServer::start().await;
    decide(&model, || Scripted::status(500, &json!({ "error": { "message": "down" } })));
    let site = site(&model).await;
    publish(&site, "r1", &correction("profile", "p1")).await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks tea", "Ana has a cat"]);
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    let tries = asked(&model, Purpose::Reflection);
    site.pass_minutes(2).await;
    assert!(asked(&model, Purpose::Reflection) > tries);
    decide(&model, || Scripted::json(&json!({ "decisions": coffee() })));
    site.pass_minutes(MINUTES).await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks coffee", "Ana has a cat"]);
    let tries = asked(&model, Purpose::Reflection);
    site.pass_minutes(MINUTES).await;
    assert_eq!(asked(&model, Purpose::Reflection), tries);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_decides_nothing_and_is_not_asked_for_again() {
    let model = ModelServer::start().await;
    decide(&model, || Scripted::text("I would rather not say."));
    let site = site(&model).await;
    publish(&site, "r1", &correction("profile", "p1")).await;
    site.pass_minutes(MINUTES).await;
    assert_eq!(asked(&model, Purpose::Reflection), 2, "once, and once more with its mistake");
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks tea", "Ana has a cat"]);
}

#[tokio::test]
async fn the_configuration_turns_it_off_and_names_its_model() {
    let model = deciding(coffee()).await;
    let site = site(&model).await;
    let off = json!({ "reflection_config": { "enabled": false } });
    site.acme.ok("/api/update_config", &off).await;
    publish(&site, "r1", &correction("profile", "p1")).await;
    assert_eq!(asked(&model, Purpose::Reflection), 0);
    let named = json!({ "reflection_config": { "model": "a-careful-model" } });
    site.acme.ok("/api/update_config", &named).await;
    publish(&site, "r2", &correction("profile", "p1")).await;
    let asked: Vec<_> =
        model.requests().into_iter().filter(|request| purpose(request) == Purpose::Reflection).collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["model"], "a-careful-model");
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks coffee", "Ana has a cat", "Ana has a cat"]);
}

#[tokio::test]
async fn what_is_for_evaluation_only_revises_nothing() {
    let model = deciding(coffee()).await;
    let site = site(&model).await;
    let body = json!({
        "user_id": "ana", "session_id": "s1", "request_id": "r1",
        "interaction_data_list": correction("profile", "p1"),
    });
    site.acme.publish(&with(body, json!({ "evaluation_only": true }))).await;
    publish(&site, "r2", &[user("a"), user("b"), user("c"), user("d")]).await;
    assert_eq!(asked(&model, Purpose::Reflection), 0);
}

#[tokio::test]
async fn a_deployment_without_a_provider_revises_by_its_own_rules() {
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &json!({ "window_size": 6, "stride_size": 4 })).await;
    let profile = json!({ "user_profiles": [{
        "profile_id": "p1", "user_id": "ana", "content": "Lives in Berlin",
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
    }] });
    site.acme.ok("/api/add_user_profile", &profile).await;
    let turns =
        [citing("profile", "p1"), user("Actually I live in Lisbon now."), user("thanks"), user("good")];
    publish(&site, "r1", &turns).await;
    let lives = lives(&site, "P#").await;
    assert!(lives.iter().any(|life| life.0 == "Lives in Berlin" && life.1 == "superseded"), "{lives:?}");
    let profiles = site.acme.profiles("ana").await;
    assert!(profiles.len() == 1 && profiles[0].contains("Lisbon"), "{profiles:?}");
}

#[tokio::test]
async fn without_citations_a_model_is_never_asked() {
    let model = attentive_model().await;
    let site = site(&model).await;
    publish(&site, "r1", &[user("a"), user("b"), user("c"), user("d")]).await;
    assert_eq!(asked(&model, Purpose::Reflection), 0);
}
