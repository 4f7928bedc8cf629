//! Names of the table's attributes, and typed access to an item.
//!
//! Names are short because every byte is paid for in capacity units; what each one holds is said here and
//! nowhere else.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::error::StoreError;

/// One item of the table.
pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) const PK: &str = "PK";
pub(crate) const SK: &str = "SK";
/// Partition and sort key of the index `by_time`.
pub(crate) const BY_TIME_PK: &str = "btpk";
pub(crate) const BY_TIME_SK: &str = "btsk";
/// Partition and sort key (epoch seconds) of the sparse index `due`.
pub(crate) const DUE_PK: &str = "duepk";
pub(crate) const DUE_AT: &str = "dueat";

/// The user id as text.
pub(crate) const USER: &str = "uid";
/// The session id as text.
pub(crate) const SESSION: &str = "ses";
pub(crate) const SOURCE: &str = "src";
/// A row's status; absent on current rows.
pub(crate) const STATUS: &str = "st";
pub(crate) const AGENT_VERSION: &str = "av";
/// Epoch seconds of creation (requests, playbooks) or last modification (profiles).
pub(crate) const AT: &str = "cat";
/// The row itself as JSON.
pub(crate) const DOCUMENT: &str = "doc";
/// Object in S3 that holds what is too large for the item.
pub(crate) const OBJECT: &str = "obj";
pub(crate) const OBJECT_DIGEST: &str = "objd";
/// A vector: model, and int8 values with their scale.
pub(crate) const VECTOR: &str = "vec";
pub(crate) const VECTOR_MODEL: &str = "vmd";
/// Optimistic version of an item.
pub(crate) const VERSION: &str = "ver";
/// Hash of the user id (look-ups).
pub(crate) const USER_HASH: &str = "uh";
/// First position of a document; next position of a head.
pub(crate) const POSITION: &str = "pos";
pub(crate) const COUNT: &str = "cnt";
/// Positions of the first and last request of a session, and when the first came.
pub(crate) const FIRST_POSITION: &str = "fpos";
pub(crate) const LAST_POSITION: &str = "lpos";
pub(crate) const FIRST_AT: &str = "fat";
pub(crate) const REQUEST: &str = "rid";
pub(crate) const PAYLOAD_HASH: &str = "ph";
/// A number of the user, and the position from which it counts.
pub(crate) const USER_NUMBER: &str = "un";
pub(crate) const USER_NUMBER_BASE: &str = "unb";
/// What erasure raises: a writer whose inputs were read under an older epoch fails.
pub(crate) const PURGE_EPOCH: &str = "pe";
pub(crate) const BARRIER: &str = "bar";
/// Lease: who holds it, an epoch that only grows, and until when (epoch milliseconds).
pub(crate) const OWNER: &str = "own";
pub(crate) const EPOCH: &str = "ep";
pub(crate) const UNTIL: &str = "unt";
/// Version of a user's memory: raised by whatever changes a profile or playbook.
pub(crate) const MEMORY_VERSION: &str = "mv";
/// Raised by whatever makes a user due without a publish: a worker that read the head before looks again.
pub(crate) const DUE_REVISION: &str = "dr";
/// On a request: its session was declared over after it was stored.
pub(crate) const FINISHED: &str = "fin";
/// Eligible interactions per kind that were admitted, and that were learned from.
pub(crate) const ADMITTED_PROFILE: &str = "ap";
pub(crate) const ADMITTED_PLAYBOOK: &str = "ab";
pub(crate) const LEARNED_PROFILE: &str = "lp";
pub(crate) const LEARNED_PLAYBOOK: &str = "lb";
/// Aggregation: the run whose rows are in force; on rows the run that made them, and the run that retires them.
pub(crate) const ACTIVE_RUN: &str = "act";
pub(crate) const BORN_RUN: &str = "born";
pub(crate) const GONE_RUN: &str = "gone";
/// User playbooks that an agent playbook was made of, as JSON.
pub(crate) const SOURCES: &str = "srcs";
/// Raised whenever an aggregation becomes due.
pub(crate) const DUE_SEQUENCE: &str = "dseq";
/// Fingerprints of clusters as JSON; in S3 ([`OBJECT`]) when they are many.
pub(crate) const FINGERPRINTS: &str = "fps";

/// On a lease: the change of versions under way, and how many there were.
pub(crate) const FLIP: &str = "flp";
pub(crate) const FLIP_NUMBER: &str = "fno";
/// On a lease: the operation that last changed the versions of profiles, of user playbooks.
pub(crate) const FLIPPED_PROFILES: &str = "fop";
pub(crate) const FLIPPED_PLAYBOOKS: &str = "fob";
/// On a row: the number of the change of versions that gave it its status.
pub(crate) const FLIP_STAMP: &str = "fs";
/// Whether a change of versions is under way, and the last user that it is done with.
pub(crate) const ACTIVE: &str = "act";
pub(crate) const LAST_USER: &str = "lusr";
/// Agent versions whose current user playbooks a change of versions changed.
pub(crate) const AGENT_VERSIONS: &str = "avs";
/// Rows that an operation made current, archived, deleted.
pub(crate) const PROMOTED: &str = "npro";
pub(crate) const ARCHIVED: &str = "narc";
pub(crate) const DELETED: &str = "ndel";
/// Users that it passed over since their rows are damaged.
pub(crate) const SKIPPED: &str = "nskp";
/// When DynamoDB may remove the item (epoch seconds); readers need not look at it before.
pub(crate) const TTL: &str = "ttl";
/// On a session: tokens that others than the user wrote.
pub(crate) const OUTPUT_TOKENS: &str = "otok";
/// On a session: how many timers were set for it, which judges its requests asked for, and which of its versions was
/// judged last.
pub(crate) const GENERATION: &str = "evg";
pub(crate) const SUCCESS_WANTED: &str = "evs";
pub(crate) const RETRIEVED_WANTED: &str = "evr";
pub(crate) const JUDGED_VERSION: &str = "evv";
/// On a session: it is not judged again before this time (epoch seconds).
pub(crate) const NOT_BEFORE: &str = "evn";
/// What an attempt came to, as JSON.
pub(crate) const ATTEMPT_OUTCOME: &str = "outc";
/// Sessions that a job judges at once.
pub(crate) const LANES: &str = "lns";
/// The verdict that is in force.
pub(crate) const EVALUATION_ID: &str = "evid";
/// The commit that wrote the outcome of a session.
pub(crate) const OUTCOME: &str = "oco";
/// Operations: which run, how far, when its worker was last heard of, whether a caller wants it stopped.
pub(crate) const OPERATION: &str = "opid";
pub(crate) const OPERATION_KIND: &str = "opk";
pub(crate) const STEP: &str = "stp";
pub(crate) const HEARTBEAT: &str = "hb";
pub(crate) const CANCEL: &str = "cxl";
pub(crate) const COMPLETED_AT: &str = "eat";
/// Units of work of an operation: all, done and failed, and the user at hand (hash).
pub(crate) const TOTAL: &str = "tot";
pub(crate) const PROCESSED: &str = "dn";
pub(crate) const FAILED: &str = "fl";
pub(crate) const CURRENT: &str = "cu";
/// How far the list of an operation's users got: the next user number, and whether it is complete.
pub(crate) const LISTED: &str = "lst";
pub(crate) const LIST_END: &str = "lse";
/// What an operation read and made.
pub(crate) const INTERACTIONS: &str = "ni";
pub(crate) const GENERATED: &str = "ng";
pub(crate) const ERROR: &str = "err";
pub(crate) const ATTEMPTS: &str = "att";

/// Builds an item.
#[derive(Debug, Default)]
pub(crate) struct ItemBuilder(Item);

impl ItemBuilder {
    pub(crate) fn new(key: &crate::keys::Key) -> Self {
        Self::default().text(PK, key.pk()).text(SK, key.sk())
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.to_owned(), text(value));
        self
    }

    pub(crate) fn text_if(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(crate) fn number(mut self, name: &str, value: i64) -> Self {
        self.0.insert(name.to_owned(), number(value));
        self
    }

    pub(crate) fn mark(mut self, name: &str, value: bool) -> Self {
        self.0.insert(name.to_owned(), AttributeValue::Bool(value));
        self
    }

    pub(crate) fn bytes_if(mut self, name: &str, value: Option<Vec<u8>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), AttributeValue::B(Blob::new(value)));
        }
        self
    }

    pub(crate) fn build(self) -> Item {
        self.0
    }
}

pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

pub(crate) fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Reads an item; what is missing or of another type is [`StoreError::Corrupt`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemReader<'a>(pub(crate) &'a Item);

impl<'a> ItemReader<'a> {
    pub(crate) fn text_opt(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_s().ok().map(String::as_str)
    }

    pub(crate) fn text(self, name: &'static str) -> Result<&'a str, StoreError> {
        self.text_opt(name).ok_or_else(|| self.corrupt(name))
    }

    pub(crate) fn number_opt(self, name: &str) -> Option<i64> {
        self.0.get(name)?.as_n().ok()?.parse().ok()
    }

    pub(crate) fn number(self, name: &'static str) -> Result<i64, StoreError> {
        self.number_opt(name).ok_or_else(|| self.corrupt(name))
    }

    /// A number that counts something: absent is zero.
    pub(crate) fn count(self, name: &str) -> i64 {
        self.number_opt(name).unwrap_or(0)
    }

    pub(crate) fn mark(self, name: &str) -> bool {
        self.0.get(name).and_then(|value| value.as_bool().ok()).copied().unwrap_or(false)
    }

    /// A set of texts: absent is empty.
    pub(crate) fn texts(self, name: &str) -> Vec<String> {
        self.0.get(name).and_then(|value| value.as_ss().ok()).cloned().unwrap_or_default()
    }

    pub(crate) fn bytes_opt(self, name: &str) -> Option<&'a [u8]> {
        self.0.get(name)?.as_b().ok().map(AsRef::as_ref)
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(self, name: &'static str) -> Result<T, StoreError> {
        serde_json::from_str(self.text(name)?).map_err(|_| self.corrupt(name))
    }

    /// The item does not hold what its kind must hold. Names the key, never the content.
    pub(crate) fn corrupt(self, attribute: &'static str) -> StoreError {
        let part = |name| self.text_opt(name).unwrap_or("?").to_owned();
        StoreError::Corrupt { key: format!("{} {}", part(PK), part(SK)), attribute }
    }
}
