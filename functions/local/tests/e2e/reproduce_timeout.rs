//! Replaying an extraction shows where the time goes, and writes nothing.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use llm::testing::{ModelServer, Scripted};
use serde_json::json;

use crate::script::{Purpose, asked, attentive, attentive_model, provider};
use crate::support::{Site, request, with};

/// A site on which Ana's conversation is stored and learned from.
async fn site() -> (Site, ModelServer) {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let turns = ["fact: Ana likes tea", "fact: Ana likes rain", "rule: be brief"];
    let body = with(request("ana", "s1", "r1", &turns), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    (site, model)
}

/// Every answer of the model takes so long from now on.
fn answer_after(site: &Site, model: &ModelServer, duration: Duration) {
    let clock = Arc::clone(&site.clock);
    model.otherwise(Scripted::with(move |request| {
        clock.advance(duration);
        attentive(request)
    }));
}

async fn replay(site: &Site, more: &[&str]) -> String {
    let arguments = [&["reproduce-timeout", "--org", "acme"], more].concat();
    site.admin(&arguments).await.unwrap()
}

/// The line that begins so, its words parted by one space.
fn line(printed: &str, name: &str) -> String {
    let line = printed.lines().find(|line| line.trim_start().starts_with(name));
    line.unwrap_or_else(|| panic!("{name}: {printed}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_stored_window_is_replayed_call_by_call_and_nothing_is_written() {
    let (site, model) = site().await;
    answer_after(&site, &model, Duration::from_secs(7));
    let (items, before) = (site.items().await, model.requests().len());
    let printed = replay(&site, &["--mode", "storage", "--user", "ana"]).await;
    assert_eq!(site.items().await, items, "not even a counter");
    assert_eq!(line(&printed, "window"), "window 3 new interactions, 0 before them");
    assert_eq!(line(&printed, "gate"), "gate 7000 ms extract");
    assert_eq!(line(&printed, "extraction"), "extraction 14000 ms 2 rows would change");
    assert_eq!(line(&printed, "total"), "total 21000 ms");
    assert_eq!(line(&printed, "besides").split(' ').nth(1), Some("0"));
    assert_eq!(line(&printed, "done"), "done nothing was written");
    assert!(line(&printed, "read").ends_with("ms") && line(&printed, "render").contains("bytes"));
    let calls: Vec<&str> = printed.lines().filter(|line| line.starts_with("  call")).collect();
    let purposes = ["profile_should_generate", "profile_update_main", "profile_deduplication"];
    assert_eq!(calls.len(), purposes.len(), "{printed}");
    for (call, purpose) in calls.iter().zip(purposes) {
        assert!(
            call.contains(purpose) && call.contains("7000 ms") && call.contains(" tokens in, "),
            "{call}"
        );
        assert!(call.contains("scripted-model") && call.ends_with(" success"), "{call}");
    }
    assert_eq!(model.requests().len() - before, 3);
}

#[tokio::test]
async fn the_rules_of_a_window_are_replayed_on_request() {
    let (site, model) = site().await;
    let (items, before) = (site.items().await, asked(&model, Purpose::Playbooks));
    let printed = replay(&site, &["--mode", "storage", "--user", "ana", "--kind", "playbook"]).await;
    assert!(printed.contains("playbook_extraction_main"), "{printed}");
    assert_eq!(asked(&model, Purpose::Playbooks), before + 1);
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn a_gate_that_finds_nothing_does_not_keep_the_extraction_from_being_timed() {
    let (site, model) = site().await;
    model.push(Scripted::text("false"));
    let printed = replay(&site, &["--mode", "storage", "--user", "ana"]).await;
    assert!(line(&printed, "gate").ends_with("nothing to extract (extracted all the same)"), "{printed}");
    assert!(printed.contains("profile_update_main"), "{printed}");
}

#[tokio::test]
async fn a_call_that_hangs_is_shown_try_by_try() {
    let (site, model) = site().await;
    answer_after(&site, &model, Duration::from_secs(126));
    let printed = replay(&site, &["--mode", "storage", "--user", "ana"]).await;
    let tries: Vec<&str> = printed.lines().filter(|line| line.starts_with("  call")).collect();
    assert_eq!(tries.len(), 2, "{printed}");
    assert!(tries.iter().all(|call| call.ends_with(" abandoned")), "{printed}");
    assert!(line(&printed, "failed").starts_with("failed timeout: "), "{printed}");
}

#[tokio::test]
async fn a_user_of_whom_nothing_is_stored_is_told_apart_from_a_failure() {
    let (site, _model) = site().await;
    let arguments = ["reproduce-timeout", "--org", "acme", "--mode", "storage", "--user", "bo"];
    let refused = site.admin(&arguments).await.unwrap_err();
    assert_eq!(refused, "the user has no stored interaction that counts for profiles");
}

#[tokio::test]
async fn captured_prompts_are_asked_of_the_configured_model_one_by_one() {
    let (site, model) = site().await;
    let items = site.items().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let lines = [
        json!({ "purpose": "profile_should_generate", "messages": [{ "role": "user", "content": "worth it?" }] }),
        json!({ "level": "INFO", "event": "window_learned" }),
        json!({ "body": { "model": "gpt-4o", "messages": [{ "role": "user", "content": "say hello" }] } }),
    ];
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    answer_after(&site, &model, Duration::from_secs(3));
    let before = model.requests().len();
    let printed = replay(&site, &["--mode", "log", "--file", file.path().to_str().unwrap()]).await;
    assert_eq!(printed.lines().next(), Some("2 prompts; 1 other lines"));
    assert!(line(&printed, "line 1").starts_with("line 1 3000 ms profile_should_generate scripted-model"));
    assert!(line(&printed, "line 3").starts_with("line 3 3000 ms - scripted-model"), "{printed}");
    assert_eq!(line(&printed, "total"), "total 6000 ms");
    let asked: Vec<String> = model.requests()[before..].iter().map(|request| request.prompt()).collect();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].contains("worth it?") && asked[1].contains("say hello"), "{asked:?}");
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn a_file_without_prompts_is_refused() {
    let (site, model) = site().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{{\"event\": \"swept\"}}").unwrap();
    let before = model.requests().len();
    let path = file.path().to_str().unwrap();
    let refused = site
        .admin(&["reproduce-timeout", "--org", "acme", "--mode", "log", "--file", path])
        .await
        .unwrap_err();
    assert_eq!(refused, "no line holds a prompt: an object with messages");
    assert_eq!(model.requests().len(), before);
}
