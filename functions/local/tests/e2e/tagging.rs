//! Rows get their tags once the user has fallen silent, each once.

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, attentive_model, provider, purpose};
use crate::support::{Site, request, with};

const SAID: [&str; 2] = ["fact: Ana drinks oolong tea", "rule: answer briefly"];

fn extractor(definition: &str) -> Value {
    json!({ "extraction_definition_prompt": "x", "tagging_definition_prompt": definition })
}

async fn configure(site: &Site, kinds: &[&str], definition: &str) {
    let config = kinds.iter().map(|kind| ((*kind).to_owned(), extractor(definition))).collect();
    site.acme.ok("/api/update_config", &Value::Object(config)).await;
}

const BOTH: [&str; 2] = ["profile_extractor_config", "user_playbook_extractor_config"];

async fn publish(site: &Site, id: &str, said: &[&str]) {
    let body = with(request("ana", id, id, said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
}

/// The tags of the current rows as they are stored; `null` where they have none yet.
async fn tags(site: &Site, prefix: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for item in site.items().await {
        let Some(document) =
            item.values().filter_map(|v| v.as_s().ok()).find(|text| text.contains("\"tags\":"))
        else {
            continue;
        };
        if item["SK"].as_s().unwrap().starts_with(prefix) && !item.contains_key("status") {
            let row: Value = serde_json::from_str(document).unwrap();
            found.push(row["tags"].clone());
        }
    }
    found.sort_by_key(Value::to_string);
    found
}

fn tagging(model: &ModelServer, reply: impl Fn(&str) -> Scripted + Send + Sync + 'static) {
    model.otherwise(Scripted::with(move |request: &ReceivedRequest| match purpose(request) {
        Purpose::Tagging => reply(&request.prompt()),
        _ => attentive(request),
    }));
}

#[tokio::test]
async fn learned_rows_are_tagged_after_fifteen_seconds_of_silence_and_once() {
    let model = attentive_model().await;
    tagging(&model, |prompt| {
        assert!(prompt.contains("By topic"), "{prompt}");
        let is_rule =
            prompt.contains("answer briefly\nTrigger: When it comes to answer briefly\nRationale: ");
        Scripted::json(&json!({ "tags": [if is_rule { " style " } else { "drink" }, "", " "] }))
    });
    let site = Site::with(provider(&model)).await;
    configure(&site, &BOTH, "By topic").await;
    publish(&site, "r1", &SAID).await;
    assert_eq!(tags(&site, "P#").await, [Value::Null]);
    assert_eq!(asked(&model, Purpose::Tagging), 0, "the user may say more");
    site.advance(14);
    site.sweep().await;
    assert_eq!(asked(&model, Purpose::Tagging), 0);
    site.pass_minutes(2).await;
    assert_eq!(tags(&site, "P#").await, [json!(["drink"])]);
    assert_eq!(tags(&site, "B#").await, [json!(["style"])]);
    assert_eq!(asked(&model, Purpose::Tagging), 2);
    let query = json!({ "user_id": "ana", "tags": ["drink"] });
    let found = site.acme.ok("/api/get_profiles", &query).await;
    assert_eq!(found["user_profiles"][0]["tags"], json!(["drink"]));
    site.pass_minutes(10).await;
    publish(&site, "r2", &["hello"]).await;
    site.pass_minutes(3).await;
    assert_eq!(asked(&model, Purpose::Tagging), 2, "nothing is tagged twice");
}

#[tokio::test]
async fn a_row_to_which_no_tag_applies_is_not_asked_about_again() {
    for reply in ["{\"tags\": []}", "no idea"] {
        let model = attentive_model().await;
        tagging(&model, move |_| Scripted::text(reply));
        let site = Site::with(provider(&model)).await;
        configure(&site, &BOTH[..1], "By topic").await;
        publish(&site, "r1", &SAID).await;
        site.pass_minutes(2).await;
        assert_eq!(tags(&site, "P#").await, [json!([])], "{reply}");
        assert_eq!(tags(&site, "B#").await, [Value::Null], "playbooks have no definition");
        let times = asked(&model, Purpose::Tagging);
        site.pass_minutes(10).await;
        assert_eq!(asked(&model, Purpose::Tagging), times);
    }
}

#[tokio::test]
async fn a_provider_that_fails_leaves_rows_untagged_holds_up_nothing_and_is_asked_again() {
    let model = attentive_model().await;
    tagging(&model, |_| Scripted::status(500, &json!({ "error": { "message": "down" } })));
    let site = Site::with(provider(&model)).await;
    configure(&site, &BOTH, "By topic").await;
    publish(&site, "r1", &SAID).await;
    site.pass_minutes(3).await;
    assert_eq!((tags(&site, "P#").await, tags(&site, "B#").await), (vec![Value::Null], vec![Value::Null]));
    publish(&site, "r2", &["fact: Ana has a cat"]).await;
    assert_eq!(site.acme.status("r2").await.0, "done");
    model.otherwise(Scripted::with(attentive));
    site.pass_minutes(8).await;
    assert_eq!(tags(&site, "P#").await, [json!(["tagged"]), json!(["tagged"])]);
    let times = asked(&model, Purpose::Tagging);
    site.pass_minutes(8).await;
    assert_eq!(asked(&model, Purpose::Tagging), times);
}

#[tokio::test]
async fn a_row_that_cannot_be_asked_about_does_not_keep_others_from_their_tags() {
    let model = attentive_model().await;
    tagging(&model, |prompt| {
        if prompt.contains("poison") {
            Scripted::status(400, &json!({ "error": { "message": "refused" } }))
        } else {
            Scripted::json(&json!({ "tags": ["fine"] }))
        }
    });
    let site = Site::with(provider(&model)).await;
    configure(&site, &BOTH[..1], "By topic").await;
    publish(&site, "r1", &["fact: poison", "fact: Ana has a cat", "fact: Ana has a dog"]).await;
    site.pass_minutes(2).await;
    assert_eq!(tags(&site, "P#").await, [json!(["fine"]), json!(["fine"]), Value::Null]);
    let times = asked(&model, Purpose::Tagging);
    for _ in 0..24 {
        site.advance(3_600);
        site.sweep().await;
    }
    assert!(asked(&model, Purpose::Tagging) <= times + 25, "ever more rarely");
}

#[tokio::test]
async fn many_rows_are_tagged_by_one_worker_after_another() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let profile = |n: usize| {
        json!({
            "profile_id": format!("p{n}"), "user_id": "ana", "content": format!("number {n}"),
            "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
        })
    };
    let body = json!({ "user_profiles": (0..120).map(profile).collect::<Vec<_>>() });
    site.acme.ok("/api/add_user_profile", &body).await;
    publish(&site, "r1", &["hello"]).await;
    site.pass_minutes(2).await;
    assert_eq!(asked(&model, Purpose::Tagging), 0, "there is no definition yet");
    configure(&site, &BOTH[..1], "By topic").await;
    publish(&site, "r2", &["hello again"]).await;
    site.pass_minutes(2).await;
    assert_eq!(tags(&site, "P#").await, vec![json!(["tagged"]); 120]);
    assert_eq!(asked(&model, Purpose::Tagging), 120);
}

#[tokio::test]
async fn without_a_provider_tags_are_those_of_the_definition_that_occur() {
    let site = Site::offline().await;
    configure(&site, &BOTH[..1], "One of: \"peanuts\", \"travel\", \"music\"").await;
    publish(&site, "r1", &["I'm allergic to peanuts."]).await;
    site.pass_minutes(2).await;
    assert_eq!(tags(&site, "P#").await, [json!(["peanuts"])]);
}
