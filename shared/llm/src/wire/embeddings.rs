//! Embeddings over HTTP, in the formats of OpenAI and Gemini.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{gemini, malformed, openai, quirks, tokens};
use crate::classify::Refusal;
use crate::embedding::{EmbedError, EmbeddingModel, EmbeddingPurpose, HOSTED_DIMENSIONS, checked, prefix};
use crate::error::ChatError;
use crate::http::{Call, Http};
use crate::meter::Meter;
use crate::providers::WireFormat;
use crate::resolved::ResolvedEmbedding;
use crate::types::Usage;

/// Characters of a text that are embedded: providers refuse more than about 8,000 tokens, and a character may be
/// a token.
const EMBED_CHARS_MAX: usize = 7_500;
/// Most texts of one request; Gemini takes 100, OpenAI 2,048.
pub(crate) const EMBED_TEXTS_MAX: usize = 96;
/// How long one request may take.
pub(crate) const EMBED_TIMEOUT: Duration = Duration::from_secs(30);
/// What metering calls these requests.
const PURPOSE: &str = "embedding";

/// One provider at one base URL. Asks once per batch; retries are wrapped around it.
pub(crate) struct HttpEmbedding {
    http: Http,
    resolved: ResolvedEmbedding,
    meter: Option<Meter>,
}

impl HttpEmbedding {
    pub(crate) fn new(http: Http, resolved: ResolvedEmbedding, meter: Option<Meter>) -> Self {
        Self { http, resolved, meter }
    }

    fn call(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Call<'_>, ChatError> {
        let resolved = &self.resolved;
        let key = &resolved.api_key;
        let texts: Vec<String> =
            texts.iter().map(|text| format!("{}{}", prefix(&resolved.model, purpose), cut(text))).collect();
        let (url, headers, body) = if resolved.format == WireFormat::Gemini {
            let url = gemini::url(&resolved.base_url, &resolved.model, "batchEmbedContents")?;
            (url, gemini::headers(key), gemini_body(&resolved.model, &texts, purpose))
        } else {
            let azure = resolved.azure.as_ref();
            let url = openai::url(&resolved.base_url, azure, "embeddings")?;
            (url, openai::headers(key, azure.is_some()), openai_body(&resolved.model, &texts))
        };
        Ok(Call { url, headers, body, timeout: EMBED_TIMEOUT, secret: key })
    }

    async fn batch(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let started = self.meter.as_ref().map(Meter::start);
        let answer = match self.call(texts, purpose) {
            Ok(call) => self.http.post(call).await,
            Err(error) => Err(error),
        };
        let usage = answer.as_ref().map(usage).unwrap_or_default();
        let result = answer.map_err(EmbedError::from).and_then(|body| {
            let vectors = if self.resolved.format == WireFormat::Gemini {
                gemini_vectors(&body)?
            } else {
                openai_vectors(&body)?
            };
            checked(vectors, texts.len(), HOSTED_DIMENSIONS)
        });
        if let (Some(meter), Some(started)) = (&self.meter, started) {
            let outcome = match &result {
                Ok(_) => "success",
                Err(EmbedError::Provider(error)) => error.class(),
                Err(_) => "malformed",
            };
            meter.record(started, PURPOSE, &self.resolved.provider, &self.resolved.model, usage, outcome);
        }
        result
    }
}

/// The beginning of a text, as much as every provider takes.
fn cut(text: &str) -> &str {
    text.char_indices().nth(EMBED_CHARS_MAX).map_or(text, |(end, _)| &text[..end])
}

#[async_trait]
impl EmbeddingModel for HttpEmbedding {
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(EMBED_TEXTS_MAX) {
            vectors.extend(self.batch(batch, purpose).await?);
        }
        Ok(vectors)
    }

    fn model_name(&self) -> &str {
        &self.resolved.model
    }

    fn dimensions(&self) -> usize {
        HOSTED_DIMENSIONS
    }

    fn is_local(&self) -> bool {
        false
    }
}

fn openai_body(model: &str, texts: &[String]) -> Value {
    let mut body = json!({"model": model, "input": texts, "encoding_format": "float"});
    if quirks::takes_dimensions(model) {
        body["dimensions"] = json!(HOSTED_DIMENSIONS);
    }
    body
}

fn gemini_body(model: &str, texts: &[String], purpose: EmbeddingPurpose) -> Value {
    let name = format!("models/{}", model.trim_start_matches("models/"));
    let task = match purpose {
        EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
    };
    let requests = texts.iter().map(|text| {
        let mut request = json!({"model": name, "content": {"parts": [{"text": text}]}, "taskType": task});
        if quirks::takes_dimensions(model) {
            request["outputDimensionality"] = json!(HOSTED_DIMENSIONS);
        }
        request
    });
    json!({"requests": requests.collect::<Vec<_>>()})
}

/// The vectors in the order of the texts: each says its place, which need not be the order of the list.
fn openai_vectors(body: &Value) -> Result<Vec<Vec<f32>>, EmbedError> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Refusal::from_body(200, body).into_error().into());
    }
    let data = body["data"].as_array().ok_or_else(|| malformed("the answer has no data"))?;
    let mut placed: Vec<(u64, Vec<f32>)> = Vec::with_capacity(data.len());
    for (position, item) in (0_u64..).zip(data) {
        placed.push((item["index"].as_u64().unwrap_or(position), numbers(&item["embedding"])));
    }
    placed.sort_by_key(|(index, _)| *index);
    let expected = placed.len();
    let distinct = placed.iter().enumerate().filter(|(at, (index, _))| *at as u64 == *index).count();
    if distinct != expected {
        return Err(EmbedError::Count { expected, actual: distinct });
    }
    Ok(placed.into_iter().map(|(_, vector)| vector).collect())
}

fn gemini_vectors(body: &Value) -> Result<Vec<Vec<f32>>, EmbedError> {
    let embeddings =
        body["embeddings"].as_array().ok_or_else(|| malformed("the answer has no embeddings"))?;
    Ok(embeddings.iter().map(|item| numbers(&item["values"])).collect())
}

/// A missing vector becomes an empty one and a null number NaN: both are refused by the check that follows.
#[expect(clippy::cast_possible_truncation, reason = "vectors are kept in single precision")]
fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().into_iter().flatten().map(|n| n.as_f64().map_or(f32::NAN, |n| n as f32)).collect()
}

fn usage(body: &Value) -> Usage {
    let counted = tokens(&body["usage"]["prompt_tokens"]).max(tokens(&body["usage"]["total_tokens"]));
    Usage { input_tokens: counted, ..Usage::default() }
}
