//! What models write when they do not do as they were told: all read, or repaired, or a failure that is tried
//! again; never taken for "nothing to learn".

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, finish, provider, purpose};
use crate::support::{Site, request, with};

/// A window that cannot be used is tried so often.
const ATTEMPTS_MAX: usize = 8;
/// By then a window that was given up is surely looked at again, in seconds.
const PARKED_SECONDS: u64 = 4_000;

fn draft() -> Value {
    json!({
        "reasoning": "x", "content": "Ana drinks tea", "time_to_live": "infinity",
        "source_span": "drinks tea", "evidence_refs": ["t1"], "notes": null,
    })
}

/// A model that calls the finishing tool with this text as its arguments.
fn arguments(text: String) -> Scripted {
    Scripted::Tools(vec![("finish_extraction".to_owned(), Value::String(text))])
}

/// A server whose model extracts profiles as `answer` says, and does everything else well.
async fn model(answer: impl Fn(&ReceivedRequest) -> Scripted + Send + Sync + 'static) -> ModelServer {
    let server = ModelServer::start().await;
    set(&server, answer);
    server
}

fn set(server: &ModelServer, answer: impl Fn(&ReceivedRequest) -> Scripted + Send + Sync + 'static) {
    server.otherwise(Scripted::with(move |request| match purpose(request) {
        Purpose::Profiles => answer(request),
        _ => attentive(request),
    }));
}

async fn publish(site: &Site, id: &str) {
    let body = with(request("ana", id, id, &["Ana drinks tea"]), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
}

#[tokio::test]
async fn an_answer_in_a_strange_wrapping_is_read() {
    let plain = json!({ "profiles": [draft()] }).to_string();
    let wrapped = [
        ("a bare array", json!([draft()]).to_string()),
        ("thoughts first", format!("<think>a {{ brace and \"profiles\"</think>\n{plain}")),
        ("a fence", format!("```json\n{plain}\n```")),
        ("prose around it", format!("Here you are:\n{plain}\nAnything else?")),
        ("a list sent as a text", json!({ "profiles": json!([draft()]).to_string() }).to_string()),
        ("a trailing comma", plain.replace("]}", "],}")),
        ("an unknown member", json!({ "profiles": [draft()], "confidence": 0.9 }).to_string()),
    ];
    for (name, text) in wrapped {
        let server = model(move |_| arguments(text.clone())).await;
        let site = Site::with(provider(&server)).await;
        publish(&site, "r1").await;
        site.learn().await;
        assert_eq!(site.acme.profiles("ana").await, ["Ana drinks tea"], "{name}");
        assert_eq!(site.acme.status("r1").await.0, "done", "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_no_empty_answer() {
    type Reply = fn(&ReceivedRequest) -> Scripted;
    let unusable: [(&str, &str, Reply); 6] = [
        ("null content", "answer_malformed", |_| Scripted::Null),
        ("prose instead of a call", "answer_malformed", |_| Scripted::text("I found nothing.")),
        ("an empty object", "answer_malformed", |_| arguments("{}".to_owned())),
        ("the schema echoed", "answer_malformed", |asked| {
            arguments(asked.body["tools"][0]["function"]["parameters"].to_string())
        }),
        ("a cut answer", "answer_truncated", |_| Scripted::Cut("{\"profiles\": [".to_owned())),
        ("a withheld answer", "content_filtered", |_| Scripted::Filtered),
    ];
    for (name, code, reply) in unusable {
        let server = model(reply).await;
        let site = Site::with(provider(&server)).await;
        publish(&site, "r1").await;
        site.learn().await;
        let expected = ("pending".to_owned(), "retrying".to_owned(), Some(code.to_owned()));
        assert_eq!(site.acme.status("r1").await, expected, "{name}");
        assert!(site.acme.profiles("ana").await.is_empty(), "{name}");
        set(&server, |_| finish("profiles", vec![draft()]));
        site.pass_minutes(10).await;
        assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None), "{name}");
        assert_eq!(site.acme.profiles("ana").await, ["Ana drinks tea"], "{name}");
    }
}

#[tokio::test]
async fn a_model_is_told_its_mistake_and_may_mend_it() {
    let server = model(|asked| {
        let mended = asked.body["messages"].as_array().is_some_and(|messages| messages.len() > 2);
        if mended { finish("profiles", vec![draft()]) } else { arguments("{\"facts\": []}".to_owned()) }
    })
    .await;
    let site = Site::with(provider(&server)).await;
    publish(&site, "r1").await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks tea"]);
    assert_eq!(asked(&server, Purpose::Profiles), 2);
}

#[tokio::test]
async fn a_window_that_never_gets_a_usable_answer_is_parked_and_says_so() {
    let server = model(|_| Scripted::Cut("{".to_owned())).await;
    let site = Site::with(provider(&server)).await;
    publish(&site, "r1").await;
    site.learn().await;
    site.pass_minutes(60).await;
    assert_eq!(asked(&server, Purpose::Profiles), ATTEMPTS_MAX);
    let (status, _, error) = site.acme.status("r1").await;
    assert_eq!((status.as_str(), error.as_deref()), ("failed", Some("answer_truncated")));
    assert!(site.acme.profiles("ana").await.is_empty());
}

#[tokio::test]
async fn a_parked_window_is_learned_after_the_configuration_changes() {
    let server = model(|_| Scripted::Cut("{".to_owned())).await;
    let site = Site::with(provider(&server)).await;
    publish(&site, "r1").await;
    site.learn().await;
    site.pass_minutes(60).await;
    assert_eq!(site.acme.status("r1").await.0, "failed");
    set(&server, |_| finish("profiles", vec![draft()]));
    publish(&site, "r2").await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await.0, "failed", "the cause is not known to be gone");
    site.acme.ok("/api/update_config", &json!({ "agent_context_prompt": "a tea shop" })).await;
    // Nobody publishes any more: the sweep looks again by itself.
    site.advance(PARKED_SECONDS);
    site.sweep().await;
    for id in ["r1", "r2"] {
        assert_eq!(site.acme.status(id).await, ("done".into(), "covered".into(), None), "{id}");
    }
    assert!(!site.acme.profiles("ana").await.is_empty());
}
