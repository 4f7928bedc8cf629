//! What the tests of the services share.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::time::{Clock, EpochMillis};
use serde_json::json;

use super::dynamodb::LocalDynamoDb;
use super::hub::Hub;
use super::kms::LocalKms;
use super::s3::LocalS3;

pub(crate) const TABLE: &str = "memory";
pub(crate) const BUCKET: &str = "objects";
const START_MS: EpochMillis = 1_750_000_000_000;

/// Tokio's clock, which a test with `start_paused` moves on by itself whenever nothing else is to be done.
#[derive(Debug)]
pub(crate) struct TokioClock(tokio::time::Instant);

impl TokioClock {
    pub(crate) fn shared() -> Arc<dyn Clock> {
        Arc::new(Self(tokio::time::Instant::now()))
    }
}

impl Clock for TokioClock {
    fn now_ms(&self) -> EpochMillis {
        START_MS + EpochMillis::try_from(self.0.elapsed().as_millis()).unwrap()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A hub with DynamoDB (one table), S3 (one bucket) and KMS, in memory or in `folder`.
pub(crate) struct TestCloud {
    pub(crate) hub: Hub,
    pub(crate) database: LocalDynamoDb,
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) kms: aws_sdk_kms::Client,
}

impl TestCloud {
    pub(crate) fn in_memory() -> Self {
        Self::open(None)
    }

    pub(crate) fn open(folder: Option<&Path>) -> Self {
        let clock = TokioClock::shared();
        let hub = Hub::new(clock.clone());
        let database =
            LocalDynamoDb::open(folder.map(|at| at.join("dynamodb.sqlite")).as_deref(), clock.clone());
        let database = database.unwrap();
        database.ensure_table(&table_properties()).unwrap();
        let s3 = LocalS3::open(folder.map(|at| at.join("s3")).as_deref(), clock).unwrap();
        s3.ensure_bucket(BUCKET).unwrap();
        let kms = LocalKms::open(folder.map(|at| at.join("master.key")).as_deref()).unwrap();
        hub.register("dynamodb", Arc::new(database.clone()));
        hub.register("s3", Arc::new(s3));
        hub.register("kms", Arc::new(kms));
        let config = hub.sdk_config();
        Self {
            hub,
            database,
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            s3: aws_sdk_s3::Client::new(&config),
            kms: aws_sdk_kms::Client::new(&config),
        }
    }
}

pub(crate) fn table_properties() -> serde_json::Value {
    json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "SK", "AttributeType": "S"},
            {"AttributeName": "due_pk", "AttributeType": "S"},
            {"AttributeName": "due_at", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "due",
            "KeySchema": [
                {"AttributeName": "due_pk", "KeyType": "HASH"},
                {"AttributeName": "due_at", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": true},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        "SSESpecification": {"SSEEnabled": true},
    })
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
