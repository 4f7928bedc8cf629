//! The resources that the local cloud runs, after references are resolved.

use std::collections::BTreeMap;

use super::{ACCOUNT_ID, REGION};

/// Everything of the template that exists locally.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud {
    /// DynamoDB tables.
    pub tables: Vec<Table>,
    /// S3 buckets.
    pub buckets: Vec<Bucket>,
    /// KMS keys.
    pub keys: Vec<Key>,
    /// SQS queues.
    pub queues: Vec<Queue>,
    /// Lambda functions.
    pub functions: Vec<Function>,
}

/// A DynamoDB table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name in the template.
    pub logical_id: String,
    /// Its name in DynamoDB, what `!Ref` gives.
    pub name: String,
    /// `AttributeDefinitions`, `KeySchema`, `GlobalSecondaryIndexes`, `BillingMode`, as in a `CreateTable`
    /// request, and `TimeToLiveSpecification`.
    pub properties: serde_json::Value,
}

/// An S3 bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its name in the template.
    pub logical_id: String,
    /// Its name in S3, what `!Ref` gives.
    pub name: String,
    /// Whether old versions are kept.
    pub versioned: bool,
}

/// A KMS key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name in the template.
    pub logical_id: String,
    /// Its id, what `!Ref` gives.
    pub key_id: String,
    /// Other names of it, with their `alias/`.
    pub aliases: Vec<String>,
}

impl Key {
    /// The key's ARN.
    #[must_use]
    pub fn arn(&self) -> String {
        format!("arn:aws:kms:{REGION}:{ACCOUNT_ID}:key/{}", self.key_id)
    }
}

/// What a deduplication id is unique in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeduplicationScope {
    /// The whole queue.
    Queue,
    /// One message group.
    MessageGroup,
}

/// Where messages go that were received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// Logical id of the dead-letter queue.
    pub dead_letter: String,
    /// How often a message is received before it is moved, 1 to 1,000.
    pub max_receive_count: u32,
}

/// An SQS queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Its name in the template.
    pub logical_id: String,
    /// Its name in SQS, ending in `.fifo` when it is one.
    pub name: String,
    /// Whether it keeps the order within a group and drops duplicates.
    pub fifo: bool,
    /// Whether a missing deduplication id is the digest of the body.
    pub content_based_deduplication: bool,
    /// What a deduplication id is unique in.
    pub deduplication_scope: DeduplicationScope,
    /// How long a received message stays invisible, 0 to 43,200 seconds.
    pub visibility_seconds: u32,
    /// How long a message waits before it can be received, 0 to 900 seconds.
    pub delay_seconds: u32,
    /// How long a message is kept, 60 to 1,209,600 seconds.
    pub retention_seconds: u32,
    /// How long a receive waits for a message unless it says so itself, 0 to 20 seconds.
    pub receive_wait_seconds: u32,
    /// Longest message, 1,024 to 1,048,576 bytes.
    pub message_bytes_max: u32,
    /// The dead-letter queue, if there is one.
    pub redrive: Option<Redrive>,
}

impl Queue {
    /// The queue's URL, what `!Ref` gives.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT_ID}/{}", self.name)
    }

    /// The queue's ARN.
    #[must_use]
    pub fn arn(&self) -> String {
        format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{}", self.name)
    }
}

/// A Lambda function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name in the template.
    pub logical_id: String,
    /// The program it runs.
    pub binary: String,
    /// How long one run may take, 1 to 900 seconds.
    pub timeout_seconds: u32,
    /// How many runs there may be at once, when that is reserved.
    pub reserved_concurrency: Option<u32>,
    /// What the program finds in its environment. Empty text means: not set.
    pub environment: BTreeMap<String, String>,
    /// What runs it.
    pub events: Vec<FunctionEvent>,
}

/// What runs a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionEvent {
    /// Messages of a queue.
    Sqs {
        /// Logical id of the queue.
        queue: String,
        /// Most messages in one event: 1 to 10.
        batch_size: u32,
        /// Whether the function tells which messages of a batch failed.
        report_failures: bool,
        /// Most runs at once, 2 to 1,000.
        maximum_concurrency: Option<u32>,
    },
    /// The clock.
    Schedule {
        /// Name of the event in the template.
        name: String,
        /// `rate(…)` or `cron(…)`.
        expression: String,
    },
    /// HTTP requests.
    HttpApi {
        /// `ANY` or a method.
        method: String,
        /// Path with `{parameters}`.
        path: String,
    },
}

/// Why the local cloud cannot run a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Not YAML at all.
    #[error("the template is not valid YAML")]
    Yaml(#[from] serde_norway::Error),
    /// A section is missing, malformed or unknown.
    #[error("template section {section}: {problem}")]
    Section {
        /// Its name.
        section: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A type that the local cloud does not run.
    #[error("{logical_id}: the local cloud knows no resource of type {kind}")]
    UnknownType {
        /// Name of the resource in the template.
        logical_id: String,
        /// Its type.
        kind: String,
    },
    /// A property that the local cloud cannot obey.
    #[error("{logical_id}: {property}: {problem}")]
    Property {
        /// Name of the resource in the template.
        logical_id: String,
        /// Path of the property.
        property: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A parameter that the template does not have.
    #[error("the template has no parameter {0}")]
    UnknownParameter(String),
    /// A parameter that has neither a default nor a value.
    #[error("parameter {0} has no default and was given no value")]
    MissingParameter(String),
}
