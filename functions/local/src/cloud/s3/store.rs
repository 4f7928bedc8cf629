//! Buckets and objects, in memory or as files; every change is whole or has not happened.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use parking_lot::Mutex;

use super::files::Files;
use super::object::{Damaged, Header, Object};

/// What must be true of the object that is there for a change to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    None,
    /// `If-None-Match: *`
    Absent,
    /// `If-Match: *`
    Present,
    /// `If-Match: "etag"`
    Etag(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("no such bucket")]
    NoBucket,
    #[error("no such object")]
    NoObject,
    #[error("the condition does not hold")]
    ConditionFailed,
    #[error("the object cannot be read")]
    Damaged(#[from] Damaged),
    #[error("the file system failed")]
    Io(#[from] io::Error),
}

impl Condition {
    /// As S3: a condition on an object that must be there says 404 when there is none, else 412.
    fn check(&self, present: Option<&Header>) -> Result<(), StoreError> {
        match (self, present) {
            (Self::None, _) | (Self::Absent, None) | (Self::Present, Some(_)) => Ok(()),
            (Self::Etag(wanted), Some(header)) if *wanted == header.etag => Ok(()),
            (Self::Present | Self::Etag(_), None) => Err(StoreError::NoObject),
            (Self::Absent | Self::Etag(_), Some(_)) => Err(StoreError::ConditionFailed),
        }
    }
}

type Bucket = BTreeMap<String, Object>;

/// The store. Its calls block for as long as the file system does.
pub(super) enum Store {
    Memory(Mutex<BTreeMap<String, Bucket>>),
    /// The lock makes a condition and the change that hangs on it one step.
    Files(Files, Mutex<()>),
}

impl Store {
    pub(super) fn open(folder: Option<&Path>) -> io::Result<Self> {
        match folder {
            None => Ok(Self::Memory(Mutex::default())),
            Some(folder) => Ok(Self::Files(Files::open(folder)?, Mutex::new(()))),
        }
    }

    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self, Self::Files(..))
    }

    pub(super) fn ensure_bucket(&self, bucket: &str) -> io::Result<()> {
        match self {
            Self::Memory(buckets) => {
                buckets.lock().entry(bucket.to_owned()).or_default();
                Ok(())
            }
            Self::Files(files, _) => files.ensure_bucket(bucket),
        }
    }

    pub(super) fn check_bucket(&self, bucket: &str) -> Result<(), StoreError> {
        match self {
            Self::Memory(buckets) => buckets.lock().get(bucket).map(|_| ()).ok_or(StoreError::NoBucket),
            Self::Files(files, _) => files.check_bucket(bucket),
        }
    }

    pub(super) fn put(
        &self,
        bucket: &str,
        key: &str,
        object: Object,
        condition: &Condition,
    ) -> Result<(), StoreError> {
        match self {
            Self::Memory(buckets) => {
                let mut buckets = buckets.lock();
                let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoBucket)?;
                condition.check(bucket.get(key).map(|object| &object.header))?;
                bucket.insert(key.to_owned(), object);
                Ok(())
            }
            Self::Files(files, lock) => {
                files.check_bucket(bucket)?;
                // Written before the lock is taken: others need not wait for it.
                let written = files.write_apart(&object)?;
                let _one_at_a_time = lock.lock();
                condition.check(files.header(bucket, key)?.as_ref())?;
                if *condition == Condition::Absent {
                    written.link_to(bucket, key)
                } else {
                    written.replace(bucket, key)
                }
            }
        }
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Result<Object, StoreError> {
        match self {
            Self::Memory(buckets) => {
                let buckets = buckets.lock();
                let bucket = buckets.get(bucket).ok_or(StoreError::NoBucket)?;
                bucket.get(key).cloned().ok_or(StoreError::NoObject)
            }
            Self::Files(files, _) => {
                files.check_bucket(bucket)?;
                files.object(bucket, key)?.ok_or(StoreError::NoObject)
            }
        }
    }

    pub(super) fn header(&self, bucket: &str, key: &str) -> Result<Header, StoreError> {
        match self {
            Self::Memory(_) => self.get(bucket, key).map(|object| object.header),
            Self::Files(files, _) => {
                files.check_bucket(bucket)?;
                files.header(bucket, key)?.ok_or(StoreError::NoObject)
            }
        }
    }

    /// Deletes the object if it is there; that it is not is no error unless the condition wants it.
    pub(super) fn delete(&self, bucket: &str, key: &str, condition: &Condition) -> Result<(), StoreError> {
        match self {
            Self::Memory(buckets) => {
                let mut buckets = buckets.lock();
                let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoBucket)?;
                condition.check(bucket.get(key).map(|object| &object.header))?;
                bucket.remove(key);
                Ok(())
            }
            Self::Files(files, lock) => {
                files.check_bucket(bucket)?;
                let _one_at_a_time = lock.lock();
                if *condition != Condition::None {
                    condition.check(files.header(bucket, key)?.as_ref())?;
                }
                files.delete(bucket, key)
            }
        }
    }

    /// The keys that begin with `prefix`, in the order of their bytes.
    pub(super) fn keys(&self, bucket: &str, prefix: &str) -> Result<BTreeSet<String>, StoreError> {
        match self {
            Self::Memory(buckets) => {
                let buckets = buckets.lock();
                let bucket = buckets.get(bucket).ok_or(StoreError::NoBucket)?;
                let from_prefix = bucket.range(prefix.to_owned()..);
                Ok(from_prefix
                    .map(|(key, _)| key.clone())
                    .take_while(|key| key.starts_with(prefix))
                    .collect())
            }
            Self::Files(files, _) => {
                files.check_bucket(bucket)?;
                files.keys(bucket, prefix)
            }
        }
    }
}
