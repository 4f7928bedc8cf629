//! How far learning got, per user and kind, and the receipt of each window.

use domain::learning::LearningKind;
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::access::Range;
use crate::attributes::{DOCUMENT, ItemBuilder, ItemReader, VERSION, number};
use crate::error::StoreError;
use crate::keys::{UserKeys, padded, window_prefix};

/// Whose progress a cursor tells: that of a kind of learning, or of the revision of cited memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CursorName {
    /// A kind of learning.
    Learning(LearningKind),
    /// The revision of memories that the agent cited.
    Reflection,
}

impl CursorName {
    /// The name in keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Learning(kind) => kind.as_str(),
            Self::Reflection => "reflection",
        }
    }
}

impl From<LearningKind> for CursorName {
    fn from(kind: LearningKind) -> Self {
        Self::Learning(kind)
    }
}

/// Progress of one kind of learning for one user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursor {
    /// Positions below this are done with.
    pub completed: i64,
    /// Eligible interactions among them.
    pub learned: i64,
    /// Whether a first window was learned.
    pub started: bool,
    /// Attempts at the window that starts here, counted before each begins, so that a crash counts too.
    pub attempts: u32,
    /// Not before this time.
    pub retry_at: Option<EpochSeconds>,
    /// Code of the last failure; see `learning_status`.
    pub last_error: Option<String>,
    /// Given up: nothing happens until its cause is removed.
    pub parked: bool,
    /// The version of the configuration under which it was given up: a change of it is another chance.
    pub parked_under: i64,
    /// Raised by every write.
    #[serde(skip)]
    pub version: i64,
}

/// What a window led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowReceipt {
    /// Positions `start..end` were new in it.
    pub start: i64,
    /// See [`Self::start`].
    pub end: i64,
    /// New interactions in it.
    pub new_interactions: i64,
    /// `false` when the gate found nothing worth an extraction.
    pub gate: bool,
    /// Rows that came to be.
    pub added: u32,
    /// Rows that were retired.
    pub retired: u32,
    /// Why it was due.
    pub reason: String,
    /// The model that answered.
    pub model: String,
    /// When it was committed.
    pub at: EpochSeconds,
}

impl Store {
    /// The cursor of this name; a fresh one before the first window.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn cursor(
        &self,
        keys: &UserKeys<'_>,
        name: impl Into<CursorName> + Send,
    ) -> Result<Cursor, StoreError> {
        let Some(item) = self.get(&keys.cursor(name.into())).await? else { return Ok(Cursor::default()) };
        let reader = ItemReader(&item);
        let mut cursor: Cursor = reader.json(DOCUMENT)?;
        cursor.version = reader.number(VERSION)?;
        Ok(cursor)
    }

    /// Replaces a cursor, if nobody else did since it was read; `false` when somebody did.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn save_cursor(
        &self,
        keys: &UserKeys<'_>,
        name: impl Into<CursorName> + Send,
        cursor: &mut Cursor,
    ) -> Result<bool, StoreError> {
        let name = name.into();
        let item = cursor_item(keys, name, cursor)?;
        let (condition, values) = cursor_condition(cursor.version);
        let saved = self.put_one(item, Some(&condition), values).await?;
        let next = Cursor { version: cursor.version + 1, ..cursor.clone() };
        // It may be ours already, when the answer to an earlier try of the SDK was lost.
        let saved = saved || self.cursor(keys, name).await? == next;
        if saved {
            *cursor = next;
        }
        Ok(saved)
    }

    /// Receipts of windows that ended after `from`, in order.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn window_receipts(
        &self,
        keys: &UserKeys<'_>,
        name: impl Into<CursorName> + Send,
        from: i64,
    ) -> Result<Vec<WindowReceipt>, StoreError> {
        let partition = keys.partition();
        let prefix = window_prefix(name.into());
        let range =
            Range { from: format!("{prefix}{}", padded(from + 1)), ..Range::prefix(&partition, &prefix) };
        let items = self.query_all(range).await?;
        items.iter().map(|item| ItemReader(item).json(DOCUMENT)).collect()
    }
}

/// The item of a cursor, one version up.
pub(crate) fn cursor_item(
    keys: &UserKeys<'_>,
    name: CursorName,
    cursor: &Cursor,
) -> Result<crate::attributes::Item, StoreError> {
    let document = serde_json::to_string(cursor)
        .map_err(|error| StoreError::Refused { operation: "encode cursor", detail: error.to_string() })?;
    Ok(ItemBuilder::new(&keys.cursor(name))
        .text(DOCUMENT, &document)
        .number(VERSION, cursor.version + 1)
        .build())
}

/// Nobody changed the cursor since it was read at `version` (0: there was none).
pub(crate) fn cursor_condition(
    version: i64,
) -> (String, Vec<(&'static str, aws_sdk_dynamodb::types::AttributeValue)>) {
    if version == 0 {
        (format!("attribute_not_exists({VERSION})"), Vec::new())
    } else {
        (format!("{VERSION} = :seen"), vec![(":seen", number(version))])
    }
}
