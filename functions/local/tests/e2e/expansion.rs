//! More words to find learned rows by.

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, attentive_model, provider, purpose};
use crate::support::{Site, contents, request, with};

const SAID: [&str; 2] = ["fact: Ana bought a sofa", "rule: book flights early"];

fn expanding(model: &ModelServer, reply: impl Fn(&str) -> Scripted + Send + Sync + 'static) {
    model.otherwise(Scripted::with(move |request: &ReceivedRequest| match purpose(request) {
        Purpose::Expansion => reply(&request.prompt()),
        _ => attentive(request),
    }));
}

async fn learned(model: &ModelServer, wanted: bool) -> Site {
    let site = Site::with(provider(model)).await;
    site.acme.ok("/api/update_config", &json!({ "enable_document_expansion": wanted })).await;
    site.acme.publish(&with(request("ana", "s1", "r1", &SAID), json!({ "session_finished": true }))).await;
    site.learn().await;
    site
}

async fn found(site: &Site, path: &str, list: &str, query: &str) -> Vec<String> {
    let body = json!({ "user_id": "ana", "query": query, "search_mode": "fts" });
    contents(&site.acme.ok(path, &body).await[list])
}

#[tokio::test]
async fn rows_are_found_by_words_that_they_do_not_hold() {
    let model = attentive_model().await;
    expanding(&model, |prompt| {
        let terms = if prompt.contains("bought a sofa") {
            json!({ "sofa": ["couch", "settee"] })
        } else {
            assert!(
                prompt.contains("When it comes to book flights early"),
                "a rule is expanded by its trigger"
            );
            json!({ "flights": ["airfare"] })
        };
        Scripted::text(format!("```json\n{terms}\n```"))
    });
    let site = learned(&model, true).await;
    let profiles = found(&site, "/api/search_profiles", "user_profiles", "settee").await;
    assert_eq!(profiles, ["Ana bought a sofa"]);
    let playbooks = found(&site, "/api/search_user_playbooks", "user_playbooks", "airfare").await;
    assert_eq!(playbooks, ["book flights early"]);
    let shown = site.acme.ok("/api/get_profiles", &json!({ "user_id": "ana" })).await;
    assert!(!shown.to_string().contains("settee"), "they are for the search only");
}

#[tokio::test]
async fn nobody_is_asked_for_words_unless_they_are_wanted() {
    let model = attentive_model().await;
    let site = learned(&model, false).await;
    assert_eq!(asked(&model, Purpose::Expansion), 0);
    assert_eq!(site.acme.profiles("ana").await, ["Ana bought a sofa"]);
}

#[tokio::test]
async fn a_row_whose_words_are_not_to_be_had_is_learned_without() {
    let refusal = || Scripted::status(500, &json!({ "error": { "message": "down" } }));
    let replies: [fn() -> Scripted; 2] = [|| Scripted::text("no JSON"), refusal];
    for reply in replies {
        let model = attentive_model().await;
        expanding(&model, move |_| reply());
        let site = learned(&model, true).await;
        assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
        assert_eq!(site.acme.profiles("ana").await, ["Ana bought a sofa"]);
        assert_eq!(site.acme.playbooks("ana").await, ["book flights early"]);
    }
}

#[tokio::test]
async fn a_provider_that_hangs_over_words_costs_seconds_and_not_the_window() {
    let model = attentive_model().await;
    expanding(&model, |_| Scripted::Hang);
    let site = Site::with(provider(&model)).await;
    site.acme.ok("/api/update_config", &json!({ "enable_document_expansion": true })).await;
    site.acme.publish(&with(request("ana", "s1", "r1", &SAID), json!({ "session_finished": true }))).await;
    let began = site.deployment.app.services.clock.now();
    let time = async {
        loop {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            site.advance(1);
        }
    };
    tokio::select! {
        _ = site.learn() => {}
        () = time => {}
    }
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    assert!(site.deployment.app.services.clock.now() - began < 120);
}

#[tokio::test]
async fn without_a_provider_a_few_usual_synonyms_are_known() {
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &json!({ "enable_document_expansion": true })).await;
    let said = ["I own a small couch in my flat."];
    site.acme.publish(&with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }))).await;
    site.learn().await;
    let shown: Vec<Value> = vec![site.acme.ok("/api/get_profiles", &json!({ "user_id": "ana" })).await];
    let found = found(&site, "/api/search_profiles", "user_profiles", "settee").await;
    assert_eq!(found.len(), 1, "{shown:?}");
}
