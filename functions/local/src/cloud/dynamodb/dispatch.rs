//! One request to the engine and its answer on the wire.

use bytes::Bytes;
use dynoxide::actions;
use dynoxide::types::ConsumedCapacity;
use dynoxide::{Database, DynoxideError};
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cloud::counters::Units;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// An answer before it is dressed as HTTP.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: StatusCode,
    body: Bytes,
    units: Units,
}

impl Answer {
    pub(super) fn internal_error() -> Self {
        let error = DynoxideError::InternalServerError("the local database failed".to_owned());
        Self::from(error)
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The same answer, given again for nothing.
    pub(super) fn replayed(&self) -> Self {
        Self { units: Units::default(), ..self.clone() }
    }

    pub(super) fn into_response(self) -> http::Response<Bytes> {
        let mut response = http::Response::new(self.body);
        *response.status_mut() = self.status;
        response.headers_mut().insert("content-type", http::HeaderValue::from_static(CONTENT_TYPE));
        // For the hub's counters; it does not go onto the wire.
        response.extensions_mut().insert(self.units);
        response
    }
}

impl From<DynoxideError> for Answer {
    fn from(error: DynoxideError) -> Self {
        let status = StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, body: error.to_json().into(), units: Units::default() }
    }
}

/// Reads a request as the engine's own server does.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, DynoxideError> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error))
}

/// The engine marks in the text what it refuses while it reads; whatever it does not mark is not the JSON that
/// the protocol wants.
pub(super) fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    let plain = text.rsplit_once(" at line ").map_or(text.as_str(), |(plain, _)| plain);
    for marker in ["VALIDATION_AS_READ:", "VALIDATION_REQUEST:", "VALIDATION:"] {
        if let Some(message) = plain.strip_prefix(marker) {
            return DynoxideError::ValidationException(message.to_owned());
        }
    }
    for marker in ["SERIALIZATION_AS_READ:", "SERIALIZATION:"] {
        if let Some(message) = plain.strip_prefix(marker) {
            return DynoxideError::SerializationException(message.to_owned());
        }
    }
    let is_validation = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    if is_validation.iter().any(|mark| plain.contains(mark)) {
        return DynoxideError::ValidationException(plain.to_owned());
    }
    DynoxideError::SerializationException(plain.to_owned())
}

fn write<T: Serialize>(response: &T, units: Units) -> Answer {
    match serde_json::to_vec(response) {
        Ok(body) => Answer { status: StatusCode::OK, body: body.into(), units },
        Err(_) => Answer::internal_error(),
    }
}

/// Capacity as an operation reports it: one table's, or one entry a table.
pub(super) trait Capacity {
    fn total(&self) -> f64;
}

impl Capacity for Option<ConsumedCapacity> {
    fn total(&self) -> f64 {
        self.iter().map(|consumed| consumed.capacity_units).sum()
    }
}

impl Capacity for Option<Vec<ConsumedCapacity>> {
    fn total(&self) -> f64 {
        self.iter().flatten().map(|consumed| consumed.capacity_units).sum()
    }
}

/// Calls the engine with capacity counted whether or not the caller asked, and reports it only if it did.
macro_rules! metered {
    ($database:expr, $request:expr, $method:ident, $kind:ident) => {{
        let mut request = $request;
        let asked = !matches!(request.return_consumed_capacity.as_deref(), None | Some("NONE"));
        if !asked {
            request.return_consumed_capacity = Some("TOTAL".to_owned());
        }
        let mut response = $database.$method(request)?;
        let units = Units { $kind: response.consumed_capacity.total(), ..Units::default() };
        if !asked {
            response.consumed_capacity = None;
        }
        Ok(write(&response, units))
    }};
}

macro_rules! unmetered {
    ($database:expr, $body:expr, $method:ident) => {
        Ok(write(&$database.$method(read($body)?)?, Units::default()))
    };
}

/// Does one operation other than `TransactWriteItems`.
pub(super) fn run(database: &Database, operation: &str, body: &[u8]) -> Answer {
    try_run(database, operation, body).unwrap_or_else(Answer::from)
}

fn try_run(database: &Database, operation: &str, body: &[u8]) -> Result<Answer, DynoxideError> {
    match operation {
        "GetItem" => metered!(database, read::<actions::get_item::GetItemRequest>(body)?, get_item, read),
        "PutItem" => metered!(database, read::<actions::put_item::PutItemRequest>(body)?, put_item, write),
        "UpdateItem" => {
            metered!(database, read::<actions::update_item::UpdateItemRequest>(body)?, update_item, write)
        }
        "DeleteItem" => {
            metered!(database, read::<actions::delete_item::DeleteItemRequest>(body)?, delete_item, write)
        }
        "Query" => metered!(database, read::<actions::query::QueryRequest>(body)?, query, read),
        "Scan" => metered!(database, read::<actions::scan::ScanRequest>(body)?, scan, read),
        "BatchGetItem" => {
            metered!(
                database,
                read::<actions::batch_get_item::BatchGetItemRequest>(body)?,
                batch_get_item,
                read
            )
        }
        "BatchWriteItem" => metered!(
            database,
            read::<actions::batch_write_item::BatchWriteItemRequest>(body)?,
            batch_write_item,
            write
        ),
        "TransactGetItems" => metered!(
            database,
            read::<actions::transact_get_items::TransactGetItemsRequest>(body)?,
            transact_get_items,
            read
        ),
        "CreateTable" => unmetered!(database, body, create_table),
        "DescribeTable" => unmetered!(database, body, describe_table),
        "ListTables" => unmetered!(database, body, list_tables),
        "DeleteTable" => unmetered!(database, body, delete_table),
        "UpdateTable" => unmetered!(database, body, update_table),
        "UpdateTimeToLive" => unmetered!(database, body, update_time_to_live),
        "DescribeTimeToLive" => unmetered!(database, body, describe_time_to_live),
        _ => Ok(unknown_operation()),
    }
}

/// Does a `TransactWriteItems`, whose token has been dealt with.
pub(super) fn transact_write(
    database: &Database,
    request: actions::transact_write_items::TransactWriteItemsRequest,
) -> Answer {
    fn attempt(
        database: &Database,
        request: actions::transact_write_items::TransactWriteItemsRequest,
    ) -> Result<Answer, DynoxideError> {
        metered!(database, request, transact_write_items, write)
    }
    attempt(database, request).unwrap_or_else(Answer::from)
}

fn unknown_operation() -> Answer {
    let body = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
    Answer {
        status: StatusCode::BAD_REQUEST,
        body: Bytes::from_static(body.as_bytes()),
        units: Units::default(),
    }
}
