//! AES-256-GCM under the master key, bound to the encryption context.

use std::collections::BTreeMap;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};

use super::key::{KEY_BYTES, MasterKey};

/// First byte of a ciphertext: its format.
const FORMAT: u8 = 1;
/// Length of the random number that no two ciphertexts share.
const NONCE_BYTES: usize = 12;

pub(super) struct Seal {
    cipher: Aes256Gcm,
}

impl Seal {
    pub(super) fn new(key: MasterKey) -> Self {
        let key: [u8; KEY_BYTES] = key.into_bytes();
        Self { cipher: Aes256Gcm::new(&key.into()) }
    }

    /// The ciphertext; `None` if the machine has no random numbers.
    pub(super) fn close(&self, plaintext: &[u8], context: &BTreeMap<String, String>) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: plaintext, aad: &associated(context) };
        let sealed = self.cipher.encrypt(&Nonce::from(nonce), payload).ok()?;
        Some([&[FORMAT][..], &nonce, &sealed].concat())
    }

    /// The plaintext; `None` if anything about ciphertext, key or context is not as it was.
    pub(super) fn open(&self, ciphertext: &[u8], context: &BTreeMap<String, String>) -> Option<Vec<u8>> {
        let rest = ciphertext.strip_prefix(&[FORMAT])?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: &associated(context) };
        self.cipher.decrypt(&Nonce::from(*nonce), payload).ok()
    }
}

/// The context as bytes: names and values in order, each behind its length, so that no two contexts look alike.
fn associated(context: &BTreeMap<String, String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in context.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}
