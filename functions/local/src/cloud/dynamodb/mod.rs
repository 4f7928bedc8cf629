//! DynamoDB on the laptop: the engine is `dynoxide` over SQLite, a file or memory.
//!
//! What the engine does not do is done here: idempotency tokens whose cost does not grow with their number and
//! which age on our clock, and the count of capacity. What nobody does: it never throttles, conflicts or reads
//! stale by itself (the fault plan does the first two), idempotency tokens do not outlive the process, and
//! expired items go only when `sweep_expired` is called.

mod dispatch;
mod table;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::time::Clock;
use dynoxide::{Database, DynoxideError};
use tokio::sync::Semaphore;

use super::service::LocalService;
use dispatch::Answer;
pub use table::TableError;
use tokens::Tokens;

/// Why the database cannot be opened or swept.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The path cannot be expressed in UTF-8.
    #[error("the path of the database is not UTF-8")]
    Path,
    /// The engine refused.
    #[error("the database engine refused")]
    Engine(#[from] DynoxideError),
}

/// The local DynamoDB. Clones share the database.
#[derive(Clone)]
pub struct LocalDynamoDb {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    tokens: Tokens,
    /// The engine does one thing at a time; whoever waits for it waits here and not on a thread.
    turn: Semaphore,
    on_disk: bool,
}

impl LocalDynamoDb {
    /// Opens the database file at `path`, creating it if absent, or a new one in memory. Idempotency tokens age
    /// on `clock`; items expire on it in memory, on the machine's clock in a file.
    ///
    /// A file is in SQLite's WAL mode with `synchronous = NORMAL`: what was answered survives the end of the
    /// process, however it ends. A power failure may take the last moments, but nothing by halves.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a database of this engine.
    pub fn open(path: Option<&Path>, clock: Arc<dyn Clock>) -> Result<Self, DatabaseError> {
        let database = match path {
            Some(path) => {
                let database = Database::new(path.to_str().ok_or(DatabaseError::Path)?)?;
                // The engine's only way to say `synchronous = NORMAL`; the rest of it are SQLite's defaults. FULL
                // took twice the processor time and ten times the wall time of a transaction.
                database.disable_bulk_loading()?;
                database
            }
            None => Database::memory_with_clock(Arc::new(EngineClock(clock.clone())))?,
        };
        let inner =
            Inner { database, tokens: Tokens::new(clock), turn: Semaphore::new(1), on_disk: path.is_some() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Creates the table that resolved `AWS::DynamoDB::Table` properties describe, with its time to live, unless
    /// there is one of that name: that one is left as it is.
    ///
    /// # Errors
    /// When the properties describe no valid table.
    pub fn ensure_table(&self, properties: &serde_json::Value) -> Result<(), TableError> {
        table::ensure(&self.inner.database, properties)
    }

    /// Deletes the items that have expired and returns how many there were. DynamoDB does this within days; here
    /// it happens when called, and never by itself.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn sweep_expired(&self) -> Result<usize, DatabaseError> {
        Ok(self.inner.database.sweep_ttl()?)
    }

    async fn answer(&self, request: http::Request<Bytes>) -> Answer {
        // Never closed, so a permit always comes.
        let Ok(_turn) = self.inner.turn.acquire().await else { return Answer::internal_error() };
        if !self.inner.on_disk {
            // Microseconds in memory: a hop to another thread costs more, and makes runs unrepeatable.
            return self.inner.run(&request);
        }
        let inner = self.inner.clone();
        let work = tokio::task::spawn_blocking(move || inner.run(&request));
        work.await.unwrap_or_else(|_| Answer::internal_error())
    }
}

impl Inner {
    fn run(&self, request: &http::Request<Bytes>) -> Answer {
        let target = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
        let operation =
            target.and_then(|target| target.strip_prefix("DynamoDB_20120810.")).unwrap_or_default();
        if operation == "TransactWriteItems" {
            tokens::transact_write(&self.database, &self.tokens, request.body())
        } else {
            dispatch::run(&self.database, operation, request.body())
        }
    }
}

#[async_trait]
impl LocalService for LocalDynamoDb {
    async fn call(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        self.answer(request).await.into_response()
    }
}

/// Our clock for the engine, which counts in seconds.
struct EngineClock(Arc<dyn Clock>);

impl dynoxide::storage_backend::Clock for EngineClock {
    fn now_unix_secs(&self) -> u64 {
        u64::try_from(self.0.now()).unwrap_or_default()
    }

    fn now_unix_secs_f64(&self) -> f64 {
        let millis = u64::try_from(self.0.now_ms()).unwrap_or_default();
        Duration::from_millis(millis).as_secs_f64()
    }
}
