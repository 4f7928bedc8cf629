use std::time::Duration;

use serde_json::json;

use super::*;
use crate::embedding::{EmbedError, EmbeddingPurpose, HOSTED_DIMENSIONS};
use crate::secret::Secret;
use crate::testing::{HttpReply, JumpClock, ModelServer, RecordingSink, Scripted, random_always};
use crate::types::{ChatRequest, Message};

struct Fixture {
    server: ModelServer,
    clock: Arc<JumpClock>,
    sink: Arc<RecordingSink>,
    models: Models,
    org: OrgId,
}

async fn fixture() -> Fixture {
    // Long enough for the pauses between tries, too short for the hard timeouts.
    let clock = JumpClock::new(0, Duration::from_secs(30));
    let sink = Arc::new(RecordingSink::default());
    let models = Models::new(clock.clone(), random_always(0.5), sink.clone());
    Fixture { server: ModelServer::start().await, clock, sink, models, org: "acme".parse().unwrap() }
}

impl Fixture {
    fn resolved(&self, model: &str) -> ResolvedChat {
        let policy = AddressPolicy::AllowPrivate;
        ResolvedChat::open_ai("custom_endpoint", &self.server.base_url(), Secret::new("k"), model, policy)
    }

    fn embedding(&self, model: &str, format: WireFormat) -> Arc<dyn EmbeddingModel> {
        let resolved = ResolvedEmbedding {
            provider: "custom".to_owned(),
            base_url: self.server.base_url(),
            api_key: Secret::new("k"),
            format,
            model: model.to_owned(),
            policy: AddressPolicy::AllowPrivate,
            azure: None,
        };
        self.models.embedding(&self.org, &resolved).unwrap()
    }

    fn outcomes(&self) -> Vec<(&'static str, u64)> {
        self.sink.records().iter().map(|record| (record.outcome, record.input_tokens)).collect()
    }
}

fn request() -> ChatRequest {
    ChatRequest::new("profile_update", vec![Message::user("Hello")])
}

#[tokio::test]
async fn every_try_is_metered_and_the_wish_of_the_provider_is_waited_for() {
    let f = fixture().await;
    let limited =
        HttpReply::json(429, &json!({"error": {"message": "slow"}})).with_header("retry-after", "2");
    f.server.push(Scripted::Raw(limited));
    f.server.push(Scripted::Cut("half".to_owned()));
    let model = f.models.chat(&f.org, &f.resolved("m"), &[]).unwrap();
    model.chat(&request()).await.unwrap();
    assert_eq!(f.outcomes(), [("rate_limited", 0), ("truncated", 11)]);
    assert_eq!(f.clock.slept(), [Duration::from_millis(2250)]);
    let record = f.sink.records().pop().unwrap();
    assert_eq!((record.org.as_str(), record.purpose, record.model.as_str()), ("acme", "profile_update", "m"));
}

#[tokio::test]
async fn a_fallback_is_asked_once_after_the_primarys_tries() {
    let f = fixture().await;
    f.server.otherwise(Scripted::with(|request| match request.body["model"].as_str() {
        Some("second") => Scripted::text("from the second"),
        _ => Scripted::status(500, &json!({})),
    }));
    let (first, second) = (f.resolved("first"), f.resolved("second"));
    let model = f.models.chat(&f.org, &first, &[f.resolved("also bad"), second]).unwrap();
    assert_eq!(model.chat(&request()).await.unwrap().text.as_deref(), Some("from the second"));
    assert_eq!(f.server.requests().len(), 4 + 1 + 1);
}

#[tokio::test]
async fn when_all_fail_the_primarys_error_is_told() {
    let f = fixture().await;
    f.server.otherwise(Scripted::with(|request| match request.body["model"].as_str() {
        Some("first") => Scripted::status(401, &json!({})),
        _ => Scripted::status(500, &json!({})),
    }));
    let model = f.models.chat(&f.org, &f.resolved("first"), &[f.resolved("second")]).unwrap();
    assert_eq!(model.chat(&request()).await.unwrap_err().class(), "auth_error");
    assert_eq!(f.server.requests().len(), 2);
}

#[tokio::test]
async fn a_call_that_its_caller_gave_up_is_metered_too() {
    let f = fixture().await;
    f.server.push(Scripted::Hang);
    let model = f.models.chat(&f.org, &f.resolved("m"), &[]).unwrap();
    let ask = request();
    let mut call = Box::pin(model.chat(&ask));
    while f.server.requests().is_empty() {
        let turn = tokio::task::yield_now();
        tokio::select! { _ = &mut call => unreachable!("the server never answers"), () = turn => {} }
    }
    drop(call);
    assert_eq!(f.outcomes(), [("abandoned", 0)]);
}

#[tokio::test]
async fn texts_are_embedded_in_batches_in_order_with_the_prefix_of_the_model() {
    let f = fixture().await;
    let model = f.embedding("nomic-embed-text", WireFormat::OpenAi);
    let texts: Vec<String> = (0..EMBED_TEXTS_MAX + 1).map(|n| format!("text{n}")).collect();
    let vectors = model.embed(&texts, EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    assert!(vectors.iter().all(|vector| vector.len() == HOSTED_DIMENSIONS));
    let sizes: Vec<usize> =
        f.server.requests().iter().map(|r| r.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [EMBED_TEXTS_MAX, 1]);
    assert_eq!(f.server.requests()[1].body["input"][0], "search_document: text96");
    assert!(f.server.requests()[0].body.get("dimensions").is_none());
    assert_eq!(f.outcomes(), [("success", 11), ("success", 11)]);
    assert!(model.embed(&[], EmbeddingPurpose::Query).await.unwrap().is_empty());
}

#[tokio::test]
async fn models_that_can_are_asked_for_the_stored_length() {
    let f = fixture().await;
    let texts = vec!["a b".to_owned()];
    f.embedding("text-embedding-3-small", WireFormat::OpenAi)
        .embed(&texts, EmbeddingPurpose::Query)
        .await
        .unwrap();
    f.embedding("gemini-embedding-001", WireFormat::Gemini)
        .embed(&texts, EmbeddingPurpose::Query)
        .await
        .unwrap();
    let requests = f.server.requests();
    assert_eq!(requests[0].body["dimensions"], 512);
    assert_eq!(requests[1].path, "/v1/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(requests[1].body["requests"][0]["outputDimensionality"], 512);
    assert_eq!(requests[1].body["requests"][0]["taskType"], "RETRIEVAL_QUERY");
}

#[tokio::test]
async fn vectors_that_are_missing_or_broken_are_refused_and_out_of_order_ones_are_put_in_order() {
    let f = fixture().await;
    let model = f.embedding("m", WireFormat::OpenAi);
    let texts = vec!["a".to_owned(), "b".to_owned()];
    let embed = || model.embed(&texts, EmbeddingPurpose::Document);
    let reply = |data: serde_json::Value| HttpReply::json(200, &json!({"data": data}));
    f.server.push_embedding(reply(
        json!([{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]),
    ));
    let vectors = embed().await.unwrap();
    assert!((vectors[0][0] - 1.0).abs() < 1e-6 && (vectors[1][1] - 1.0).abs() < 1e-6);
    let broken = [
        (json!([{"index": 0, "embedding": [1.0]}]), EmbedError::Count { expected: 2, actual: 1 }),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": null}]),
            EmbedError::Dimension { expected: 1, actual: 0 },
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [null]}]),
            EmbedError::NotFinite { index: 1 },
        ),
        (
            json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]),
            EmbedError::Count { expected: 2, actual: 1 },
        ),
    ];
    for (data, expected) in broken {
        for _ in 0..4 {
            f.server.push_embedding(reply(data.clone()));
        }
        assert_eq!(embed().await, Err(expected), "{data}");
    }
}

#[tokio::test]
async fn the_embedding_service_recovers_after_a_fault() {
    let f = fixture().await;
    let model = f.embedding("m", WireFormat::OpenAi);
    f.server.push_embedding(HttpReply::json(404, &json!({"error": {"message": "no such model"}})));
    let texts = vec!["a".to_owned()];
    assert!(model.embed(&texts, EmbeddingPurpose::Query).await.is_err());
    assert!(model.embed(&texts, EmbeddingPurpose::Query).await.is_ok());
}

#[cfg(not(feature = "bedrock"))]
#[tokio::test]
async fn a_program_built_without_bedrock_says_so() {
    let f = fixture().await;
    let bedrock = ResolvedChat { format: WireFormat::Bedrock, ..f.resolved("nova") };
    assert_eq!(f.models.chat(&f.org, &bedrock, &[]).err().unwrap().class(), "bad_request");
}
