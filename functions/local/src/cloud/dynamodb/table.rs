//! From a CloudFormation table to the engine's.

use dynoxide::{Database, DynoxideError};
use serde_json::{Map, Value, json};

/// Properties that mean the same to `CreateTable`. The others (encryption, point-in-time recovery, tags, …) have
/// no meaning on a laptop.
const SHARED_PROPERTIES: [&str; 7] = [
    "TableName",
    "AttributeDefinitions",
    "KeySchema",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "BillingMode",
    "ProvisionedThroughput",
];

/// Why a table cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The properties have no `TableName`, or it is not text: references must be resolved before.
    #[error("the table has no name")]
    NoName,
    /// The properties are not those of a table.
    #[error("table {table}: the properties cannot be read")]
    Properties {
        /// The table's name.
        table: String,
        /// What cannot be read.
        #[source]
        source: serde_json::Error,
    },
    /// The engine refused.
    #[error("table {table}: {source}")]
    Engine {
        /// The table's name.
        table: String,
        /// Its reason.
        #[source]
        source: DynoxideError,
    },
}

pub(super) fn ensure(database: &Database, properties: &Value) -> Result<(), TableError> {
    let table = properties["TableName"].as_str().ok_or(TableError::NoName)?.to_owned();
    let mut request = Map::new();
    for name in SHARED_PROPERTIES {
        if let Some(value) = properties.get(name) {
            request.insert(name.to_owned(), value.clone());
        }
    }
    let request = serde_json::from_value(Value::Object(request))
        .map_err(|source| TableError::Properties { table: table.clone(), source })?;
    match database.create_table(request) {
        Ok(_) | Err(DynoxideError::ResourceInUseException(_)) => {}
        Err(source) => return Err(TableError::Engine { table, source }),
    }
    match &properties["TimeToLiveSpecification"] {
        Value::Null => Ok(()),
        specification => set_time_to_live(database, table, specification),
    }
}

fn set_time_to_live(database: &Database, table: String, specification: &Value) -> Result<(), TableError> {
    let described = serde_json::from_value(json!({"TableName": table}))
        .map_err(|source| TableError::Properties { table: table.clone(), source })?;
    let described = database
        .describe_time_to_live(described)
        .map_err(|source| TableError::Engine { table: table.clone(), source })?;
    let described = serde_json::to_value(described)
        .map_err(|source| TableError::Properties { table: table.clone(), source })?;
    // To set what is set already is an error in DynamoDB.
    let is_enabled = described["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED";
    if is_enabled == (specification["Enabled"] != Value::Bool(false)) {
        return Ok(());
    }
    let request = json!({"TableName": table, "TimeToLiveSpecification": specification});
    let request = serde_json::from_value(request)
        .map_err(|source| TableError::Properties { table: table.clone(), source })?;
    database.update_time_to_live(request).map_err(|source| TableError::Engine { table, source })?;
    Ok(())
}
