//! Where rows are kept. The deployment decides that; the configuration only repeats what callers say.

use serde::Serialize;
use serde_json::{Value, json};

use crate::validation::{Faults, Fields, Path, object, rules};

/// The storage part of a configuration. It selects nothing: rows are always kept in the deployment's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StorageConfig {
    /// What clients of a single-user server send.
    Sqlite {
        /// The file that they would have liked.
        db_path: Option<String>,
    },
    /// The deployment's own table.
    Deployment {
        /// Always `dynamodb`.
        r#type: DeploymentType,
    },
    /// A platform that manages the store.
    Managed {
        /// Always `platform`.
        managed_by: PlatformType,
        /// Whether the tables exist.
        schema_present: bool,
    },
}

/// The word `dynamodb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentType {
    /// `dynamodb`
    Dynamodb,
}

/// The word `platform`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformType {
    /// `platform`
    Platform,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self::Sqlite { db_path: None }
    }
}

/// The models that the contract's union knows.
const ARMS: [&str; 4] =
    ["StorageConfigSQLite", "StorageConfigSupabase", "StorageConfigPostgres", "StorageConfigManagedSupabase"];

impl StorageConfig {
    pub(super) fn read<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        let Value::Object(map) = value else {
            for model in ARMS {
                let msg = format!("Input should be a valid dictionary or instance of {model}");
                let ctx = Some(json!({ "class_name": model }));
                faults.add("model_type", at.name(model), msg, value, ctx);
            }
            return None;
        };
        let kind = map.get("type").and_then(Value::as_str);
        if kind == Some("dynamodb") && map.len() == 1 {
            return Some(Self::Deployment { r#type: DeploymentType::Dynamodb });
        }
        if map.contains_key("managed_by") {
            return Self::read_managed(value, at.name("StorageConfigManagedSupabase"), faults);
        }
        let elsewhere = ["url", "key", "db_url", "schema"].iter().any(|name| map.contains_key(*name));
        if elsewhere || kind.is_some_and(|kind| kind != "sqlite") {
            let reason = "rows are kept in this deployment's own table; another database cannot be chosen";
            faults.add_value_error(at, reason, value);
            return None;
        }
        Self::read_sqlite(value, at.name("StorageConfigSQLite"), faults)
    }

    fn read_sqlite<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        let fields = |fields: &mut Fields<'_, 'v>| {
            let kind = fields.optional("type", (), word("'sqlite'"));
            let db_path = fields.nullable("db_path", rules::text);
            fields.forbid_others(&["type", "db_path"]);
            kind?;
            Some(Self::Sqlite { db_path: db_path? })
        };
        object(Some(ARMS[0]), value, at, faults, fields, |_| Ok(()))
    }

    fn read_managed<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        let fields = |fields: &mut Fields<'_, 'v>| {
            let managed_by = fields.required("managed_by", word("'platform'"));
            let schema_present = fields.optional("schema_present", true, rules::boolean);
            managed_by?;
            Some(Self::Managed { managed_by: PlatformType::Platform, schema_present: schema_present? })
        };
        object(Some(ARMS[3]), value, at, faults, fields, |_| Ok(()))
    }
}

/// Exactly one word, given in its quotes.
fn word<'v>(quoted: &'static str) -> impl crate::validation::Rule<'v, ()> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        if value.as_str() == Some(quoted.trim_matches('\'')) {
            return Some(());
        }
        let ctx = Some(json!({ "expected": quoted }));
        faults.add("literal_error", at, format!("Input should be {quoted}"), value, ctx);
        None
    }
}
