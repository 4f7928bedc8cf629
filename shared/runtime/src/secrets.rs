//! Envelope encryption of an organisation's secrets: a data key per write from KMS, AES-256-GCM under it.
//!
//! The organisation is bound into both: as KMS encryption context and as associated data, so that ciphertext
//! moved to another organisation does not open.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Mutex;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use aws_sdk_kms::error::DisplayErrorContext;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use domain::ids::OrgId;
use sha2::{Digest, Sha256};

/// Bytes of an AES-GCM nonce.
const NONCE_BYTES: usize = 12;
/// Opened data keys that are kept in memory.
const OPEN_KEYS_MAX: usize = 256;

/// Secrets by their place in the configuration.
pub type SecretMap = BTreeMap<String, String>;

/// Secrets as they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecrets {
    /// Nonce and ciphertext.
    pub ciphertext: Vec<u8>,
    /// The data key, encrypted by KMS.
    pub data_key: Vec<u8>,
}

/// Why secrets were not sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// KMS did not answer, or refused.
    #[error("KMS: {0}")]
    Kms(String),
    /// The ciphertext does not open under this organisation's key.
    #[error("secrets do not open")]
    Damaged,
}

/// The key service. Opened data keys are remembered under their own ciphertext.
#[derive(Debug)]
pub struct Secrets {
    kms: aws_sdk_kms::Client,
    key_id: String,
    open: Mutex<HashMap<[u8; 32], [u8; 32]>>,
}

impl Secrets {
    /// Uses the KMS key `key_id`.
    #[must_use]
    pub fn new(kms: aws_sdk_kms::Client, key_id: String) -> Self {
        Self { kms, key_id, open: Mutex::default() }
    }

    /// Encrypts secrets of an organisation.
    ///
    /// # Errors
    /// [`SecretsError`].
    pub async fn seal(&self, org: &OrgId, secrets: &SecretMap) -> Result<SealedSecrets, SecretsError> {
        let answer = self
            .kms
            .generate_data_key()
            .key_id(&self.key_id)
            .key_spec(DataKeySpec::Aes256)
            .encryption_context("org", org.as_str())
            .send()
            .await
            .map_err(|error| SecretsError::Kms(DisplayErrorContext(error).to_string()))?;
        let (Some(plain), Some(wrapped)) = (answer.plaintext, answer.ciphertext_blob) else {
            return Err(SecretsError::Kms("no data key in the answer".to_owned()));
        };
        let key = key_bytes(plain.as_ref())?;
        let data_key = wrapped.into_inner();
        let text = serde_json::to_vec(secrets).map_err(|_| SecretsError::Damaged)?;
        // Each data key encrypts once, so that a nonce derived from it never repeats under it.
        let nonce = nonce_of(&data_key);
        let cipher = Aes256Gcm::new_from_slice(&key).map_err(|_| SecretsError::Damaged)?;
        let payload = Payload { msg: &text, aad: org.as_str().as_bytes() };
        let sealed = cipher.encrypt(&nonce_ref(&nonce), payload).map_err(|_| SecretsError::Damaged)?;
        let ciphertext = [nonce.as_slice(), &sealed].concat();
        Ok(SealedSecrets { ciphertext, data_key })
    }

    /// Decrypts secrets of an organisation.
    ///
    /// # Errors
    /// [`SecretsError`].
    pub async fn open(&self, org: &OrgId, sealed: &SealedSecrets) -> Result<SecretMap, SecretsError> {
        let key = self.data_key(org, &sealed.data_key).await?;
        if sealed.ciphertext.len() < NONCE_BYTES {
            return Err(SecretsError::Damaged);
        }
        let (nonce, ciphertext) = sealed.ciphertext.split_at(NONCE_BYTES);
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SecretsError::Damaged)?;
        let cipher = Aes256Gcm::new_from_slice(&key).map_err(|_| SecretsError::Damaged)?;
        let payload = Payload { msg: ciphertext, aad: org.as_str().as_bytes() };
        let text = cipher.decrypt(&nonce_ref(&nonce), payload).map_err(|_| SecretsError::Damaged)?;
        serde_json::from_slice(&text).map_err(|_| SecretsError::Damaged)
    }

    async fn data_key(&self, org: &OrgId, wrapped: &[u8]) -> Result<[u8; 32], SecretsError> {
        // The organisation is part of what is remembered: its context was checked when KMS opened the key.
        let id = fingerprint(org, wrapped);
        let remembered =
            self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&id).copied();
        if let Some(key) = remembered {
            return Ok(key);
        }
        let answer = self
            .kms
            .decrypt()
            .key_id(&self.key_id)
            .ciphertext_blob(Blob::new(wrapped))
            .encryption_context("org", org.as_str())
            .send()
            .await
            .map_err(|error| SecretsError::Kms(DisplayErrorContext(error).to_string()))?;
        let plain = answer.plaintext.ok_or(SecretsError::Damaged)?;
        let key = key_bytes(plain.as_ref())?;
        self.insert(id, key);
        Ok(key)
    }

    fn insert(&self, id: [u8; 32], key: [u8; 32]) {
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if open.len() >= OPEN_KEYS_MAX {
            open.clear();
        }
        open.insert(id, key);
    }
}

fn key_bytes(bytes: &[u8]) -> Result<[u8; 32], SecretsError> {
    bytes.try_into().map_err(|_| SecretsError::Kms("the data key is not 256 bits long".to_owned()))
}

fn fingerprint(org: &OrgId, wrapped: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(org.as_str().as_bytes());
    hash.update([0]);
    hash.update(wrapped);
    hash.finalize().into()
}

fn nonce_of(wrapped: &[u8]) -> [u8; NONCE_BYTES] {
    let digest: [u8; 32] = Sha256::digest(wrapped).into();
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&digest[..NONCE_BYTES]);
    nonce
}

fn nonce_ref(bytes: &[u8; NONCE_BYTES]) -> Nonce<aes_gcm::aead::consts::U12> {
    Nonce::from(*bytes)
}
