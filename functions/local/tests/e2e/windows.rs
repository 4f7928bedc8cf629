//! When a window is due, and which turns it takes.

use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, finish, provider, purpose};
use crate::support::{Site, request, with};
use llm::testing::Scripted;

/// Default of `extraction_idle_timeout_seconds`.
const IDLE_SECONDS: u64 = 21_600;
/// A sweep finds what is overdue by more than this, in seconds.
const GRACE_SECONDS: u64 = 31;

fn facts(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|n| format!("fact: number {n}")).collect()
}

fn learned(from: usize, to: usize) -> Vec<String> {
    let mut learned: Vec<String> = (from..to).map(|n| format!("number {n}")).collect();
    learned.sort();
    learned
}

async fn publish(site: &Site, id: &str, said: &[String], more: Value) -> Value {
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    site.acme.publish(&with(request("ana", "s1", id, &said), more)).await
}

async fn configure(site: &Site, partial: Value) {
    let answer = site.acme.ok("/api/update_config", &partial).await;
    assert_eq!(answer["success"], true, "{answer}");
}

#[tokio::test]
async fn a_window_is_learned_at_the_stride_and_not_a_turn_before() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let answer = publish(&site, "r1", &facts(0, 7), json!({})).await;
    assert_eq!(answer["learning_reason"], "waiting_for_window");
    assert_eq!(site.learn().await, 0);
    assert_eq!(site.acme.status("r1").await, ("pending".into(), "waiting_for_window".into(), None));
    let answer = publish(&site, "r2", &facts(7, 8), json!({})).await;
    assert_eq!(answer["learning_reason"], "queued");
    assert_eq!(site.acme.status("r1").await, ("pending".into(), "queued".into(), None));
    assert_eq!(site.learn().await, 1);
    assert_eq!(site.acme.profiles("ana").await, learned(0, 8));
    for id in ["r1", "r2"] {
        assert_eq!(site.acme.status(id).await, ("done".into(), "covered".into(), None));
    }
}

#[tokio::test]
async fn a_long_request_is_learned_window_by_window_to_its_last_turn() {
    for turns in [15, 16, 17] {
        let model = attentive_model().await;
        let site = Site::with(provider(&model)).await;
        publish(&site, "r1", &facts(0, turns), json!({ "session_finished": true })).await;
        site.learn().await;
        assert_eq!(site.acme.profiles("ana").await, learned(0, turns), "{turns}");
        assert_eq!(site.acme.status("r1").await.0, "done", "{turns}");
        assert_eq!(asked(&model, Purpose::Profiles), turns.div_ceil(8), "{turns}");
    }
}

#[tokio::test]
async fn a_finished_session_is_learned_however_short_it_is() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 1), json!({})).await;
    publish(&site, "r2", &facts(1, 2), json!({ "session_finished": true })).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 2));
    assert_eq!(asked(&model, Purpose::Profiles), 1);
}

#[tokio::test]
async fn a_forced_extraction_asks_no_gate() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 1), json!({ "force_extraction": true })).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 1));
    assert_eq!(asked(&model, Purpose::Gate), 0);
}

#[tokio::test]
async fn what_is_for_evaluation_only_is_never_learned() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let more = json!({ "evaluation_only": true, "session_finished": true });
    let answer = publish(&site, "r1", &facts(0, 9), more).await;
    assert_eq!(answer["learning_status"], "done");
    assert_eq!(answer["learning_reason"], "not_applicable");
    site.advance(IDLE_SECONDS + GRACE_SECONDS);
    site.sweep().await;
    publish(&site, "r2", &facts(9, 10), json!({ "session_finished": true })).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, learned(9, 10));
    assert_eq!(site.acme.status("r1").await, ("done".into(), "not_applicable".into(), None));
    let prompts: Vec<String> = model.requests().iter().map(|request| request.prompt()).collect();
    assert!(prompts.iter().all(|prompt| !prompt.contains("number 3")), "it was shown to the model");
}

#[tokio::test]
async fn each_kind_learns_from_its_own_sources() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let extractor =
        |sources: Value| json!({ "extraction_definition_prompt": "x", "request_sources_enabled": sources });
    configure(
        &site,
        json!({
            "profile_extractor_config": extractor(json!(["web"])),
            "user_playbook_extractor_config": extractor(json!(["app", "mail"])),
        }),
    )
    .await;
    for source in ["web", "app", ""] {
        let said = [format!("fact: from {source}"), format!("rule: obey {source}")];
        publish(&site, &format!("r-{source}"), &said, json!({ "source": source, "session_finished": true }))
            .await;
        site.learn().await;
    }
    assert_eq!(site.acme.profiles("ana").await, ["from web"]);
    assert_eq!(site.acme.playbooks("ana").await, ["obey app"]);
    assert_eq!(site.acme.status("r-").await, ("done".into(), "not_applicable".into(), None));
}

#[tokio::test]
async fn a_preset_and_an_override_move_the_stride() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    configure(
        &site,
        json!({
            "extraction_preset": "quick_chat",
            "user_playbook_extractor_config": {
                "extraction_definition_prompt": "x", "stride_size_override": 5, "window_size_override": 6,
            },
        }),
    )
    .await;
    let turn = |n: usize| vec![format!("fact: number {n} and rule: obey {n}")];
    for n in 0..6 {
        publish(&site, &format!("r{n}"), &turn(n), json!({})).await;
        site.learn().await;
        let (profiles, playbooks) = (site.acme.profiles("ana").await, site.acme.playbooks("ana").await);
        assert_eq!(profiles.len(), [0, 0, 3, 3, 3, 6][n], "after turn {n}: {profiles:?}");
        assert_eq!(playbooks.len(), [0, 0, 0, 0, 5, 5][n], "after turn {n}: {playbooks:?}");
    }
}

#[tokio::test]
async fn turns_are_learned_under_the_policy_they_came_with() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 2), json!({})).await;
    configure(&site, json!({ "window_size": 3, "stride_size": 2 })).await;
    publish(&site, "r2", &facts(2, 4), json!({})).await;
    site.learn().await;
    assert_eq!(
        site.acme.profiles("ana").await,
        learned(0, 0),
        "the first turns wait for their stride of eight"
    );
    publish(&site, "r3", &facts(4, 8), json!({})).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 8));
    publish(&site, "r4", &facts(8, 10), json!({})).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 10), "the new stride of two holds");
}

#[tokio::test]
async fn a_gate_that_says_no_moves_on_and_asks_no_extraction() {
    let model = attentive_model().await;
    model.otherwise(Scripted::text("false"));
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 8), json!({})).await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    assert_eq!(asked(&model, Purpose::Profiles) + asked(&model, Purpose::Playbooks), 0);
}

#[tokio::test]
async fn an_extraction_that_finds_nothing_moves_on() {
    let model = attentive_model().await;
    model.otherwise(Scripted::with(|asked| match purpose(asked) {
        Purpose::Profiles => finish("profiles", vec![]),
        Purpose::Playbooks => finish("playbooks", vec![]),
        _ => Scripted::text("true"),
    }));
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 8), json!({})).await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    site.pass_minutes(10).await;
    assert_eq!(asked(&model, Purpose::Profiles), 1);
}

#[tokio::test]
async fn a_silent_session_is_learned_after_the_idle_time_and_not_before() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 2), json!({})).await;
    site.advance(IDLE_SECONDS - 1);
    site.sweep().await;
    assert_eq!(asked(&model, Purpose::Gate), 0);
    site.advance(1 + GRACE_SECONDS);
    assert_eq!(site.sweep().await, 1);
    assert_eq!(site.acme.profiles("ana").await, learned(0, 2));
    assert_eq!(site.acme.status("r1").await.0, "done");
}

#[tokio::test]
async fn a_session_that_speaks_again_is_silent_from_then_on() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish(&site, "r1", &facts(0, 1), json!({})).await;
    site.advance(IDLE_SECONDS / 2);
    publish(&site, "r2", &facts(1, 2), json!({})).await;
    site.advance(IDLE_SECONDS / 2 + GRACE_SECONDS);
    site.sweep().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 0), "it fell silent half the idle time ago");
    site.advance(IDLE_SECONDS / 2 + GRACE_SECONDS);
    site.sweep().await;
    assert_eq!(site.acme.profiles("ana").await, learned(0, 2));
}

#[tokio::test]
async fn without_an_idle_time_a_short_session_waits_for_more() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    configure(&site, json!({ "extraction_idle_timeout_seconds": 0 })).await;
    publish(&site, "r1", &facts(0, 2), json!({})).await;
    site.advance(30 * 86_400);
    assert_eq!(site.sweep().await, 0);
    assert_eq!(site.acme.status("r1").await, ("pending".into(), "waiting_for_window".into(), None));
}
