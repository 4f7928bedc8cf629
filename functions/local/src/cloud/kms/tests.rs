//! The local KMS through the SDK.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use tempfile::TempDir;

use super::*;
use crate::cloud::testing::TestCloud;

async fn data_key(cloud: &TestCloud, org: &str) -> (Blob, Blob) {
    let call = cloud.kms.generate_data_key().key_id("alias/anything").key_spec(DataKeySpec::Aes256);
    let answer = call.encryption_context("org", org).send().await.unwrap();
    (answer.plaintext.unwrap(), answer.ciphertext_blob.unwrap())
}

async fn decrypt(
    cloud: &TestCloud,
    sealed: Blob,
    org: &str,
) -> Result<Blob, aws_sdk_kms::operation::decrypt::DecryptError> {
    let call = cloud.kms.decrypt().ciphertext_blob(sealed).encryption_context("org", org);
    call.send().await.map(|answer| answer.plaintext.unwrap()).map_err(|error| error.into_service_error())
}

#[tokio::test]
async fn a_data_key_comes_back_under_its_context_only() {
    let cloud = TestCloud::in_memory();
    let (plaintext, sealed) = data_key(&cloud, "acme").await;
    assert_eq!(plaintext.as_ref().len(), 32);
    assert_eq!(decrypt(&cloud, sealed.clone(), "acme").await.unwrap(), plaintext);
    let error = decrypt(&cloud, sealed, "other").await.unwrap_err();
    assert!(error.is_invalid_ciphertext_exception(), "{error:?}");
}

#[tokio::test]
async fn every_damaged_byte_is_noticed() {
    let cloud = TestCloud::in_memory();
    let (_, sealed) = data_key(&cloud, "acme").await;
    for at in 0..sealed.as_ref().len() {
        let mut damaged = sealed.as_ref().to_vec();
        damaged[at] ^= 1;
        let error = decrypt(&cloud, Blob::new(damaged), "acme").await.unwrap_err();
        assert!(error.is_invalid_ciphertext_exception(), "byte {at}: {error:?}");
    }
    for cut in [1, 12, 13, sealed.as_ref().len() - 1] {
        let error = decrypt(&cloud, Blob::new(&sealed.as_ref()[..cut]), "acme").await.unwrap_err();
        assert!(error.is_invalid_ciphertext_exception(), "cut at {cut}: {error:?}");
    }
}

#[tokio::test]
async fn what_is_encrypted_is_decrypted_up_to_four_kilobytes() {
    let cloud = TestCloud::in_memory();
    for (bytes, fits) in [(0, false), (1, true), (4095, true), (4096, true), (4097, false)] {
        let plaintext = Blob::new(vec![7; bytes]);
        let call =
            cloud.kms.encrypt().key_id("k").plaintext(plaintext.clone()).encryption_context("org", "acme");
        match call.send().await {
            Ok(answer) => {
                assert!(fits, "{bytes}");
                assert_eq!(
                    decrypt(&cloud, answer.ciphertext_blob.unwrap(), "acme").await.unwrap(),
                    plaintext
                );
            }
            Err(error) => {
                assert!(!fits, "{bytes}");
                assert_eq!(error.into_service_error().meta().code(), Some("ValidationException"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_file_is_for_its_owner_and_outlives_the_process() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("master.key");
    let (plaintext, sealed) = data_key(&TestCloud::open(Some(folder.path())), "acme").await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = TestCloud::open(Some(folder.path()));
    assert_eq!(decrypt(&again, sealed.clone(), "acme").await.unwrap(), plaintext);
    let error = decrypt(&TestCloud::in_memory(), sealed, "acme").await.unwrap_err();
    assert!(error.is_invalid_ciphertext_exception(), "another master key: {error:?}");
    assert_eq!(
        fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("master.key")
            })
            .count(),
        1
    );
}

#[test]
fn a_key_file_that_others_can_read_or_that_is_no_key_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("master.key");
    drop(LocalKms::open(Some(&path)).unwrap());
    for mode in [0o640, 0o604, 0o660, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = LocalKms::open(Some(&path)).err().unwrap();
        assert!(matches!(error, KeyError::Permissions { .. }));
        assert!(
            error.to_string().contains("chmod 600") && error.to_string().contains(&format!("{mode:03o}")),
            "{error}"
        );
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(LocalKms::open(Some(&path)).is_ok());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for content in ["", "not a key", &"ab".repeat(31), &"ab".repeat(33)] {
        fs::write(&path, content).unwrap();
        assert!(matches!(LocalKms::open(Some(&path)).err(), Some(KeyError::NotAKey { .. })), "{content:?}");
    }
    assert!(matches!(
        LocalKms::open(Some(&folder.path().join("no/such/key"))).err(),
        Some(KeyError::Io { .. })
    ));
}
