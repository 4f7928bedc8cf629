//! The local S3 through the SDK, in memory and on disk.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::put_object::PutObjectError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, MetadataDirective, ObjectIdentifier};
use futures::future::join_all;
use tempfile::TempDir;

use super::*;
use crate::cloud::testing::{BUCKET, TestCloud, TokioClock};

/// Runs a test over both kinds of store.
async fn on_both<F: AsyncFn(&TestCloud)>(test: F) {
    test(&TestCloud::in_memory()).await;
    let folder = TempDir::new().unwrap();
    test(&TestCloud::open(Some(folder.path()))).await;
}

fn put(
    cloud: &TestCloud,
    key: &str,
    content: &str,
) -> aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder {
    cloud.s3.put_object().bucket(BUCKET).key(key).body(ByteStream::from(content.as_bytes().to_vec()))
}

async fn content(cloud: &TestCloud, key: &str) -> Option<String> {
    match cloud.s3.get_object().bucket(BUCKET).key(key).send().await {
        Ok(answer) => Some(String::from_utf8(answer.body.collect().await.unwrap().to_vec()).unwrap()),
        Err(error) => {
            let error = error.into_service_error();
            assert!(error.is_no_such_key(), "{error:?}");
            None
        }
    }
}

async fn keys(cloud: &TestCloud, prefix: &str) -> Vec<String> {
    let answer = cloud.s3.list_objects_v2().bucket(BUCKET).prefix(prefix).send().await.unwrap();
    answer.contents().iter().map(|object| object.key().unwrap().to_owned()).collect()
}

fn code(error: SdkError<PutObjectError>) -> Option<String> {
    error.into_service_error().code().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_comes_back_with_all_that_was_put() {
    on_both(async |cloud| {
        let call =
            put(cloud, "brief", "Good morning, Ana: äöü").content_type("text/plain").metadata("org", "acme");
        let put_etag = call.send().await.unwrap().e_tag.unwrap();
        let head = cloud.s3.head_object().bucket(BUCKET).key("brief").send().await.unwrap();
        assert_eq!(head.content_type(), Some("text/plain"));
        assert_eq!(head.content_length(), Some("Good morning, Ana: äöü".len().try_into().unwrap()));
        assert_eq!(head.metadata().unwrap()["org"], "acme");
        assert_eq!(head.e_tag(), Some(put_etag.as_str()));
        assert!(head.last_modified().unwrap().secs() >= 1_750_000_000);
        assert_eq!(content(cloud, "brief").await.as_deref(), Some("Good morning, Ana: äöü"));
        let part =
            cloud.s3.get_object().bucket(BUCKET).key("brief").range("bytes=5-11").send().await.unwrap();
        assert_eq!(part.content_range(), Some("bytes 5-11/25"));
        assert_eq!(part.body.collect().await.unwrap().to_vec(), b"morning");
        put(cloud, "brief", "").send().await.unwrap();
        assert_eq!(content(cloud, "brief").await.as_deref(), Some(""));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said_as_s3_says_it() {
    on_both(async |cloud| {
        assert_eq!(content(cloud, "nothing").await, None);
        let head = cloud.s3.head_object().bucket(BUCKET).key("nothing").send().await.unwrap_err();
        assert!(head.into_service_error().is_not_found());
        cloud.s3.delete_object().bucket(BUCKET).key("nothing").send().await.unwrap();
        let error = cloud.s3.put_object().bucket("elsewhere").key("k").send().await.unwrap_err();
        assert_eq!(code(error).as_deref(), Some("NoSuchBucket"));
        assert!(cloud.s3.head_bucket().bucket("elsewhere").send().await.is_err());
        cloud.s3.head_bucket().bucket(BUCKET).send().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_decide_over_puts_reads_and_deletes() {
    on_both(async |cloud| {
        let error = put(cloud, "k", "x").if_match("\"0\"").send().await.unwrap_err();
        assert_eq!(code(error).as_deref(), Some("NoSuchKey"));
        let first = put(cloud, "k", "1").if_none_match("*").send().await.unwrap().e_tag.unwrap();
        let error = put(cloud, "k", "2").if_none_match("*").send().await.unwrap_err();
        assert_eq!(code(error).as_deref(), Some("PreconditionFailed"));
        put(cloud, "k", "2").if_match(&first).send().await.unwrap();
        let error = put(cloud, "k", "3").if_match(&first).send().await.unwrap_err();
        assert_eq!(code(error).as_deref(), Some("PreconditionFailed"));
        assert_eq!(content(cloud, "k").await.as_deref(), Some("2"));
        let get = cloud.s3.get_object().bucket(BUCKET).key("k");
        assert!(get.clone().if_match(&first).send().await.is_err());
        assert!(get.if_none_match(&first).send().await.is_ok());
        assert!(cloud.s3.delete_object().bucket(BUCKET).key("k").if_match(&first).send().await.is_err());
        cloud.s3.delete_object().bucket(BUCKET).key("k").send().await.unwrap();
        put(cloud, "k", "4").if_none_match("*").send().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_32_racing_creations_one_wins() {
    on_both(async |cloud| {
        for round in 0..4 {
            let key = format!("race/{round}");
            let puts = (0..32).map(|racer| {
                let call = put(cloud, &key, &racer.to_string()).if_none_match("*");
                tokio::spawn(call.send())
            });
            let results: Vec<_> = join_all(puts).await.into_iter().map(Result::unwrap).collect();
            let winners: Vec<_> = (0..32).filter(|racer| results[*racer].is_ok()).collect();
            assert_eq!(winners.len(), 1, "round {round}");
            assert_eq!(content(cloud, &key).await, Some(winners[0].to_string()));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_32_racing_replacements_of_one_version_one_wins() {
    on_both(async |cloud| {
        let etag = put(cloud, "k", "start").send().await.unwrap().e_tag.unwrap();
        let puts =
            (0..32).map(|racer| tokio::spawn(put(cloud, "k", &racer.to_string()).if_match(&etag).send()));
        let results = join_all(puts).await;
        assert_eq!(results.iter().filter(|result| result.as_ref().unwrap().is_ok()).count(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_in_the_way_of_another() {
    on_both(async |cloud| {
        let long = "l".repeat(1024);
        let names = [
            "a",
            "A",
            "a/b",
            "a/b/c",
            "a//b",
            "a b+c%20d",
            "..",
            "../x",
            "ü/日本",
            "a=",
            "a+",
            &long,
            &long[..100],
        ];
        for name in names {
            put(cloud, name, name).send().await.unwrap();
        }
        for name in names {
            assert_eq!(content(cloud, name).await.as_deref(), Some(name));
        }
        let mut sorted: Vec<_> = names.map(str::to_owned).into();
        sorted.sort();
        assert_eq!(keys(cloud, "").await, sorted);
        assert_eq!(keys(cloud, "a/").await, ["a//b", "a/b", "a/b/c"]);
        assert_eq!(keys(cloud, &"l".repeat(101)).await, std::slice::from_ref(&long));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listings_go_on_where_the_page_ended() {
    on_both(async |cloud| {
        for key in ["a/1", "a/2", "b", "c/1", "d"] {
            put(cloud, key, "x").send().await.unwrap();
        }
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let call = cloud.s3.list_objects_v2().bucket(BUCKET).delimiter("/").max_keys(2);
            let page = call.set_continuation_token(token).send().await.unwrap();
            found.extend(page.contents().iter().map(|object| object.key().unwrap().to_owned()));
            found.extend(page.common_prefixes().iter().map(|common| common.prefix().unwrap().to_owned()));
            token = page.next_continuation_token().map(str::to_owned);
            assert_eq!(page.is_truncated(), Some(token.is_some()));
            if token.is_none() {
                break;
            }
        }
        found.sort();
        assert_eq!(found, ["a/", "b", "c/", "d"]);
        let versions = cloud.s3.list_object_versions().bucket(BUCKET).prefix("a/").send().await.unwrap();
        assert_eq!(versions.versions().len(), 2);
        assert_eq!(versions.versions()[0].version_id(), Some("null"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_take_the_metadata_along_unless_told_otherwise() {
    on_both(async |cloud| {
        put(cloud, "a/ä b", "content")
            .metadata("org", "acme")
            .content_type("text/plain")
            .send()
            .await
            .unwrap();
        let copy = |key: &str| {
            cloud.s3.copy_object().bucket(BUCKET).key(key).copy_source(format!("{BUCKET}/a/%C3%A4%20b"))
        };
        copy("same").send().await.unwrap();
        copy("other")
            .metadata_directive(MetadataDirective::Replace)
            .metadata("org", "b")
            .send()
            .await
            .unwrap();
        for (key, org, kind) in [("same", "acme", Some("text/plain")), ("other", "b", None)] {
            assert_eq!(content(cloud, key).await.as_deref(), Some("content"));
            let head = cloud.s3.head_object().bucket(BUCKET).key(key).send().await.unwrap();
            assert_eq!(head.metadata().unwrap()["org"], org);
            assert_eq!(head.content_type().filter(|kind| kind.starts_with("text")), kind);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_objects_are_deleted_in_one_call() {
    on_both(async |cloud| {
        for key in ["a", "b", "c"] {
            put(cloud, key, "x").send().await.unwrap();
        }
        let gone = ["a", "b", "never"].map(|key| ObjectIdentifier::builder().key(key).build().unwrap());
        let delete = Delete::builder().set_objects(Some(gone.into())).build().unwrap();
        let answer = cloud.s3.delete_objects().bucket(BUCKET).delete(delete).send().await.unwrap();
        assert_eq!(answer.deleted().len(), 3);
        assert_eq!(keys(cloud, "").await, ["c"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamed_body_arrives_without_its_chunks() {
    on_both(async |cloud| {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("export");
        std::fs::write(&path, "0123456789".repeat(20_000)).unwrap();
        let body = ByteStream::from_path(&path).await.unwrap();
        cloud.s3.put_object().bucket(BUCKET).key("export").body(body).send().await.unwrap();
        assert_eq!(content(cloud, "export").await.unwrap(), "0123456789".repeat(20_000));
        let head = cloud.s3.head_object().bucket(BUCKET).key("export").send().await.unwrap();
        assert!(!head.content_encoding().unwrap_or_default().contains("aws-chunked"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_outlive_the_process_and_half_written_ones_are_swept_away() {
    let folder = TempDir::new().unwrap();
    let cloud = TestCloud::open(Some(folder.path()));
    put(&cloud, "k", "whole").send().await.unwrap();
    // What a process that is killed in the middle of a put leaves behind.
    let making = folder.path().join("s3/_making");
    std::fs::write(making.join("1-1"), [9, 0, 0]).unwrap();
    let cloud = TestCloud::open(Some(folder.path()));
    assert_eq!(content(&cloud, "k").await.as_deref(), Some("whole"));
    assert_eq!(keys(&cloud, "").await, ["k"]);
    assert_eq!(std::fs::read_dir(making).unwrap().count(), 0);
}

#[tokio::test]
async fn buckets_have_the_names_that_s3_allows() {
    let s3 = LocalS3::open(None, TokioClock::shared()).unwrap();
    for name in ["ab", "", "Upper", "a/b", "../up", "_making", &"a".repeat(64)] {
        assert!(s3.ensure_bucket(name).is_err(), "{name:?}");
    }
    for name in ["abc", "a.b-c", &"a".repeat(63)] {
        s3.ensure_bucket(name).unwrap();
    }
}
