//! KMS on the laptop: data keys sealed under one master key, which lies in a file that only its owner can read.

mod key;
mod seal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::service::LocalService;
pub use key::KeyError;
use seal::Seal;

/// The key that every answer names; requests may name any.
pub const KEY_ARN: &str = "arn:aws:kms:us-east-1:000000000000:key/local";
/// Largest plaintext of `Encrypt`, in bytes.
const PLAINTEXT_BYTES_MAX: usize = 4096;
/// Largest data key, in bytes.
const DATA_KEY_BYTES_MAX: usize = 1024;

/// The local KMS: `GenerateDataKey`, `GenerateDataKeyWithoutPlaintext`, `Encrypt` and `Decrypt`.
pub struct LocalKms {
    seal: Seal,
}

impl LocalKms {
    /// Reads the master key from `key_file`, making one of mode 600 if there is none, or takes a new key that
    /// lives as long as the process.
    ///
    /// # Errors
    /// When the file is readable by others than its owner, is no key, or cannot be read or made.
    pub fn open(key_file: Option<&Path>) -> Result<Self, KeyError> {
        let key = match key_file {
            Some(path) => key::read_or_make(path)?,
            None => key::fresh()?,
        };
        Ok(Self { seal: Seal::new(key) })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Request {
    encryption_context: BTreeMap<String, String>,
    ciphertext_blob: Option<String>,
    plaintext: Option<String>,
    key_spec: Option<String>,
    number_of_bytes: Option<usize>,
}

/// Why a call is refused, with the names that KMS gives.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the request is not valid: {0}")]
    Validation(&'static str),
    #[error("the ciphertext is damaged, of another key or of another encryption context")]
    InvalidCiphertext,
    #[error("this operation is not supported")]
    Unsupported,
    #[error("no random numbers")]
    Internal,
}

impl Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "ValidationException",
            Self::InvalidCiphertext => "InvalidCiphertextException",
            Self::Unsupported => "UnknownOperationException",
            Self::Internal => "KMSInternalException",
        }
    }
}

impl LocalKms {
    fn answer(&self, operation: &str, body: &[u8]) -> Result<Value, Refusal> {
        let request: Request =
            serde_json::from_slice(body).map_err(|_| Refusal::Validation("not the JSON of KMS"))?;
        match operation {
            "GenerateDataKey" => self.generate(&request, true),
            "GenerateDataKeyWithoutPlaintext" => self.generate(&request, false),
            "Encrypt" => {
                let plaintext = decode(request.plaintext.as_deref())?;
                if plaintext.is_empty() || plaintext.len() > PLAINTEXT_BYTES_MAX {
                    return Err(Refusal::Validation("Plaintext has 1 to 4096 bytes"));
                }
                let sealed =
                    self.seal.close(&plaintext, &request.encryption_context).ok_or(Refusal::Internal)?;
                Ok(json!({
                    "CiphertextBlob": STANDARD.encode(sealed),
                    "KeyId": KEY_ARN,
                    "EncryptionAlgorithm": "SYMMETRIC_DEFAULT",
                }))
            }
            "Decrypt" => {
                let sealed = decode(request.ciphertext_blob.as_deref())?;
                let plaintext = self.seal.open(&sealed, &request.encryption_context);
                Ok(json!({
                    "Plaintext": STANDARD.encode(plaintext.ok_or(Refusal::InvalidCiphertext)?),
                    "KeyId": KEY_ARN,
                    "EncryptionAlgorithm": "SYMMETRIC_DEFAULT",
                }))
            }
            _ => Err(Refusal::Unsupported),
        }
    }

    fn generate(&self, request: &Request, with_plaintext: bool) -> Result<Value, Refusal> {
        let bytes = match (request.key_spec.as_deref(), request.number_of_bytes) {
            (Some("AES_256"), None) => 32,
            (Some("AES_128"), None) => 16,
            (None, Some(bytes)) if (1..=DATA_KEY_BYTES_MAX).contains(&bytes) => bytes,
            _ => return Err(Refusal::Validation("either KeySpec or NumberOfBytes (1 to 1024)")),
        };
        let mut plaintext = vec![0; bytes];
        getrandom::fill(&mut plaintext).map_err(|_| Refusal::Internal)?;
        let sealed = self.seal.close(&plaintext, &request.encryption_context).ok_or(Refusal::Internal)?;
        let mut answer = json!({"CiphertextBlob": STANDARD.encode(sealed), "KeyId": KEY_ARN});
        if with_plaintext {
            answer["Plaintext"] = STANDARD.encode(&plaintext).into();
        }
        Ok(answer)
    }
}

fn decode(text: Option<&str>) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text.unwrap_or_default()).map_err(|_| Refusal::Validation("not base64"))
}

#[async_trait]
impl LocalService for LocalKms {
    async fn call(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
        let operation = target.and_then(|target| target.strip_prefix("TrentService.")).unwrap_or_default();
        let (status, body) = match self.answer(operation, request.body()) {
            Ok(answer) => (StatusCode::OK, answer),
            Err(refusal) => {
                let status = match refusal {
                    Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
                    _ => StatusCode::BAD_REQUEST,
                };
                (status, json!({"__type": refusal.code(), "message": refusal.to_string()}))
            }
        };
        let mut response = http::Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert("content-type", http::HeaderValue::from_static("application/x-amz-json-1.1"));
        response
    }
}
