//! The local DynamoDB through the SDK.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use tempfile::TempDir;

use super::*;
use crate::cloud::testing::{TABLE, TestCloud, number, table_properties, text};

/// Largest item, in bytes, names included.
const ITEM_BYTES_MAX: usize = 400 * 1024;

fn put(pk: &str, content: &str) -> Put {
    Put::builder()
        .table_name(TABLE)
        .item("PK", text(pk))
        .item("SK", text("-"))
        .item("content", text(content))
        .condition_expression("attribute_not_exists(PK)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap()
}

fn count_up(pk: &str) -> Update {
    Update::builder()
        .table_name(TABLE)
        .key("PK", text(pk))
        .key("SK", text("HEAD"))
        .update_expression("ADD #count :one")
        .expression_attribute_names("#count", "count")
        .expression_attribute_values(":one", number(1))
        .build()
        .unwrap()
}

async fn transact(
    cloud: &TestCloud,
    token: Option<&str>,
    items: Vec<TransactWriteItem>,
) -> Result<(), TransactWriteItemsError> {
    let call = cloud.dynamodb.transact_write_items().set_transact_items(Some(items));
    call.set_client_request_token(token.map(str::to_owned))
        .send()
        .await
        .map(|_| ())
        .map_err(|error| error.into_service_error())
}

async fn count(cloud: &TestCloud, pk: &str) -> Option<String> {
    let call = cloud.dynamodb.get_item().table_name(TABLE).key("PK", text(pk)).key("SK", text("HEAD"));
    let item = call.consistent_read(true).send().await.unwrap().item?;
    item.get("count").map(|count| count.as_n().unwrap().clone())
}

#[tokio::test]
async fn a_conditional_put_happens_once() {
    let cloud = TestCloud::in_memory();
    let put = || {
        let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text("a")).item("SK", text("-"));
        call.condition_expression("attribute_not_exists(PK)").send()
    };
    put().await.unwrap();
    let error = put().await.unwrap_err().into_service_error();
    assert!(error.is_conditional_check_failed_exception(), "{error:?}");
}

#[tokio::test]
async fn a_cancelled_transaction_says_which_item_and_what_was_there_and_writes_nothing() {
    let cloud = TestCloud::in_memory();
    transact(&cloud, None, vec![TransactWriteItem::builder().put(put("a", "first")).build()]).await.unwrap();
    let items = vec![
        TransactWriteItem::builder().update(count_up("u")).build(),
        TransactWriteItem::builder().put(put("a", "second")).build(),
    ];
    let error = transact(&cloud, None, items).await.unwrap_err();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error:?}") };
    let codes: Vec<_> =
        cancelled.cancellation_reasons().iter().map(|reason| reason.code().unwrap()).collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
    let present = cancelled.cancellation_reasons()[1].item().unwrap();
    assert_eq!(present["content"], text("first"));
    assert_eq!(count(&cloud, "u").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_token_does_its_work_once_in_ten_minutes_and_only_for_what_it_was_used_for() {
    let cloud = TestCloud::in_memory();
    let work = |pk: &str| vec![TransactWriteItem::builder().update(count_up(pk)).build()];
    transact(&cloud, Some("t"), work("u")).await.unwrap();
    transact(&cloud, Some("t"), work("u")).await.unwrap();
    assert_eq!(count(&cloud, "u").await.as_deref(), Some("1"));
    let error = transact(&cloud, Some("t"), work("v")).await.unwrap_err();
    assert!(error.is_idempotent_parameter_mismatch_exception(), "{error:?}");
    tokio::time::advance(Duration::from_millis(10 * 60 * 1000 - 1)).await;
    transact(&cloud, Some("t"), work("u")).await.unwrap();
    assert_eq!(count(&cloud, "u").await.as_deref(), Some("1"));
    tokio::time::advance(Duration::from_millis(1)).await;
    transact(&cloud, Some("t"), work("u")).await.unwrap();
    assert_eq!(count(&cloud, "u").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_token_that_failed_may_be_used_again() {
    let cloud = TestCloud::in_memory();
    let items = || vec![TransactWriteItem::builder().put(put("a", "content")).build()];
    transact(&cloud, Some("one"), items()).await.unwrap();
    transact(&cloud, Some("two"), items()).await.unwrap_err();
    let delete = cloud.dynamodb.delete_item().table_name(TABLE).key("PK", text("a")).key("SK", text("-"));
    delete.send().await.unwrap();
    transact(&cloud, Some("two"), items()).await.unwrap();
    let error = transact(&cloud, Some(&"t".repeat(37)), items()).await.unwrap_err();
    assert_eq!(error.meta().code(), Some("ValidationException"), "{error:?}");
}

#[tokio::test]
async fn the_sparse_index_holds_what_is_due_in_order() {
    let cloud = TestCloud::in_memory();
    for (pk, due) in [("late", Some(30)), ("never", None), ("soon", Some(10))] {
        let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text(pk)).item("SK", text("HEAD"));
        let call = match due {
            Some(due) => call.item("due_pk", text("due#0")).item("due_at", number(due)),
            None => call,
        };
        call.send().await.unwrap();
    }
    let query = cloud.dynamodb.query().table_name(TABLE).index_name("due");
    let query = query
        .key_condition_expression("due_pk = :due AND due_at <= :now")
        .expression_attribute_values(":due", text("due#0"))
        .expression_attribute_values(":now", number(30));
    let items = query.send().await.unwrap().items.unwrap();
    assert_eq!(items.iter().map(|item| item["PK"].clone()).collect::<Vec<_>>(), [text("soon"), text("late")]);
}

#[tokio::test]
async fn an_item_over_400_kilobytes_is_refused() {
    let cloud = TestCloud::in_memory();
    let names_and_keys = "PK".len() + "a".len() + "SK".len() + "-".len() + "content".len();
    for (bytes, fits) in [(ITEM_BYTES_MAX - 1, true), (ITEM_BYTES_MAX, true), (ITEM_BYTES_MAX + 1, false)] {
        let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text("a")).item("SK", text("-"));
        let put = call.item("content", text("x".repeat(bytes - names_and_keys))).send().await;
        match put {
            Ok(_) => assert!(fits, "{bytes} bytes were accepted"),
            Err(error) => {
                assert!(!fits, "{bytes} bytes were refused");
                assert_eq!(error.into_service_error().meta().code(), Some("ValidationException"));
            }
        }
    }
}

#[tokio::test]
async fn capacity_follows_the_rules_of_aws() {
    let cloud = TestCloud::in_memory();
    let kilobytes = |count: usize| "x".repeat(count * 1024 - 20);
    let mut before = cloud.hub.counters().snapshot();
    let mut spent = |read: f64, write: f64, what: &str| {
        let now = cloud.hub.counters().snapshot();
        let spent = &now - &before;
        assert_eq!((spent.read_units(), spent.write_units()), (read, write), "{what}");
        before = now;
    };
    let plain = |pk: &str, content: String| {
        let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text(pk)).item("SK", text("-"));
        call.item("content", text(content))
    };
    plain("a", kilobytes(1)).send().await.unwrap();
    spent(0.0, 1.0, "a write takes a unit");
    plain("b", kilobytes(3)).send().await.unwrap();
    spent(0.0, 3.0, "for each kilobyte");
    plain("c", "x".into()).item("due_pk", text("due#0")).item("due_at", number(1)).send().await.unwrap();
    spent(0.0, 2.0, "the index takes its own");
    let items = ["d", "e"].map(|pk| TransactWriteItem::builder().put(put(pk, &kilobytes(2))).build());
    transact(&cloud, None, items.to_vec()).await.unwrap();
    spent(0.0, 8.0, "a transaction takes twice as many");
    let get = |pk: &str| cloud.dynamodb.get_item().table_name(TABLE).key("PK", text(pk)).key("SK", text("-"));
    get("b").consistent_read(true).send().await.unwrap();
    spent(1.0, 0.0, "a consistent read takes one for 4 kilobytes");
    get("b").send().await.unwrap();
    spent(0.5, 0.0, "an eventually consistent read half");
    let asked = get("b").return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total);
    assert_eq!(asked.send().await.unwrap().consumed_capacity.unwrap().capacity_units, Some(0.5));
    spent(0.5, 0.0, "asked for or not");
    assert_eq!(get("b").send().await.unwrap().consumed_capacity, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    {
        let cloud = TestCloud::open(Some(folder.path()));
        transact(&cloud, None, vec![TransactWriteItem::builder().update(count_up("u")).build()])
            .await
            .unwrap();
        // As after kill -9: nothing is closed, no destructor writes anything more.
        std::mem::forget(cloud);
    }
    let cloud = TestCloud::open(Some(folder.path()));
    assert_eq!(count(&cloud, "u").await.as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_racing_counters_none_is_lost() {
    let folder = TempDir::new().unwrap();
    for cloud in [TestCloud::in_memory(), TestCloud::open(Some(folder.path()))] {
        let works = (0..32).map(|_| {
            transact(&cloud, None, vec![TransactWriteItem::builder().update(count_up("u")).build()])
        });
        for work in futures::future::join_all(works).await {
            work.unwrap();
        }
        assert_eq!(count(&cloud, "u").await.as_deref(), Some("32"));
    }
}

#[tokio::test(start_paused = true)]
async fn expired_items_stay_until_they_are_swept() {
    let cloud = TestCloud::in_memory();
    let expires = 1_750_000_000 + 60;
    let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text("a")).item("SK", text("-"));
    call.item("ttl", number(expires)).send().await.unwrap();
    assert_eq!(cloud.database.sweep_expired().unwrap(), 0);
    tokio::time::advance(Duration::from_secs(61)).await;
    let get = || cloud.dynamodb.get_item().table_name(TABLE).key("PK", text("a")).key("SK", text("-")).send();
    assert!(get().await.unwrap().item.is_some());
    assert_eq!(cloud.database.sweep_expired().unwrap(), 1);
    assert!(get().await.unwrap().item.is_none());
}

#[tokio::test]
async fn a_table_is_made_once_and_one_without_a_name_not_at_all() {
    let cloud = TestCloud::in_memory();
    cloud.database.ensure_table(&table_properties()).unwrap();
    let error = cloud.database.ensure_table(&serde_json::json!({"TableName": {"Ref": "Name"}})).unwrap_err();
    assert!(matches!(error, TableError::NoName));
    let error = cloud.database.ensure_table(&serde_json::json!({"TableName": "keyless"})).unwrap_err();
    assert!(error.to_string().contains("keyless"), "{error}");
}

#[tokio::test]
async fn an_operation_that_is_not_there_is_named_as_such() {
    let cloud = TestCloud::in_memory();
    let error = cloud.dynamodb.list_backups().send().await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("UnknownOperationException"));
}
