//! From declarations to the resources that run: names first, since resources refer to each other, then
//! properties.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::document::Document;
use super::functions;
use super::intrinsics::Scope;
use super::model::{Bucket, Cloud, Key, Queue, Table, TemplateError};
use super::names::{add_names, add_parameters, name_of};
use super::properties::Properties;
use super::queues::queue;

/// Types that mean nothing on one machine: who may do what, and who watches.
const IGNORED_TYPES: [&str; 5] = [
    "AWS::CloudWatch::Alarm",
    "AWS::IAM::Role",
    "AWS::Logs::LogGroup",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::QueuePolicy",
];

/// One resource as declared.
pub(super) struct Declared {
    pub(super) logical_id: String,
    pub(super) kind: String,
    pub(super) properties: Map<String, Value>,
    metadata: Map<String, Value>,
}

/// Reads every resource of the document.
pub(super) fn read(document: &Document, given: &BTreeMap<String, String>) -> Result<Cloud, TemplateError> {
    let mut scope = Scope::pseudo();
    add_parameters(&mut scope, document, given)?;
    let declared: Vec<Declared> =
        document.resources.iter().map(|(id, resource)| declare(id, resource)).collect::<Result<_, _>>()?;
    for resource in &declared {
        add_names(&mut scope, resource)?;
    }
    let mut cloud =
        Cloud { tables: vec![], buckets: vec![], keys: vec![], queues: vec![], functions: vec![] };
    let mut aliases = Vec::new();
    for Declared { logical_id, kind, properties, metadata } in &declared {
        let mut properties = Properties::new(logical_id, properties.clone(), &scope);
        match kind.as_str() {
            "AWS::DynamoDB::Table" => cloud.tables.push(table(logical_id, &scope, &mut properties)?),
            "AWS::S3::Bucket" => cloud.buckets.push(bucket(logical_id, &scope, &mut properties)?),
            "AWS::KMS::Key" => cloud.keys.push(key(logical_id, &scope, &mut properties)),
            "AWS::KMS::Alias" => {
                aliases
                    .push((properties.required_text("TargetKeyId")?, properties.required_text("AliasName")?));
            }
            "AWS::SQS::Queue" => cloud.queues.push(queue(logical_id, &scope, &mut properties)?),
            "AWS::Serverless::HttpApi" => http_api(&mut properties)?,
            "AWS::Serverless::Function" => {
                let declared = functions::with_globals(&document.function_globals, properties)?;
                cloud.functions.push(functions::function(logical_id, declared, metadata)?);
                continue;
            }
            ignored if IGNORED_TYPES.contains(&ignored) => continue,
            _ => {
                let (logical_id, kind) = (logical_id.clone(), kind.clone());
                return Err(TemplateError::UnknownType { logical_id, kind });
            }
        }
        properties.finish()?;
    }
    for key in &mut cloud.keys {
        let own = aliases.iter().filter(|(target, _)| *target == key.key_id || *target == key.arn());
        key.aliases = own.map(|(_, alias)| alias.clone()).collect();
    }
    connect(&mut cloud)?;
    Ok(cloud)
}

fn declare(logical_id: &str, resource: &Value) -> Result<Declared, TemplateError> {
    let problem = |property: &str, problem: &str| TemplateError::Property {
        logical_id: logical_id.to_owned(),
        property: property.to_owned(),
        problem: problem.to_owned(),
    };
    let attributes = resource.as_object().ok_or_else(|| problem("resource", "is not a mapping"))?;
    let known = ["Type", "Properties", "Metadata", "DeletionPolicy", "UpdateReplacePolicy", "DependsOn"];
    if let Some(name) = attributes.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(problem(name, "the local cloud does not know this attribute"));
    }
    let kind = attributes.get("Type").and_then(Value::as_str).ok_or_else(|| problem("Type", "is missing"))?;
    let mapping = |name: &str| match attributes.get(name) {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(_) => Err(problem(name, "is not a mapping")),
    };
    let (properties, metadata) = (mapping("Properties")?, mapping("Metadata")?);
    Ok(Declared { logical_id: logical_id.to_owned(), kind: kind.to_owned(), properties, metadata })
}

fn table(id: &str, scope: &Scope, properties: &mut Properties<'_>) -> Result<Table, TemplateError> {
    const OBEYED: [&str; 5] = [
        "AttributeDefinitions",
        "KeySchema",
        "GlobalSecondaryIndexes",
        "BillingMode",
        "TimeToLiveSpecification",
    ];
    properties.ignore(&[
        "TableName",
        "PointInTimeRecoverySpecification",
        "SSESpecification",
        "DeletionProtectionEnabled",
        "Tags",
    ]);
    let mut obeyed = Map::new();
    for name in OBEYED {
        if let Some(value) = properties.value(name)? {
            obeyed.insert(name.to_owned(), value);
        }
    }
    Ok(Table { logical_id: id.to_owned(), name: name_of(id, scope), properties: Value::Object(obeyed) })
}

fn bucket(id: &str, scope: &Scope, properties: &mut Properties<'_>) -> Result<Bucket, TemplateError> {
    properties.ignore(&[
        "BucketName",
        "PublicAccessBlockConfiguration",
        "OwnershipControls",
        "BucketEncryption",
        // Deletes nothing that a program may still read.
        "LifecycleConfiguration",
        "Tags",
    ]);
    let mut versioning = properties.part("VersioningConfiguration")?;
    let versioned = versioning.text("Status")?.as_deref() == Some("Enabled");
    versioning.finish()?;
    Ok(Bucket { logical_id: id.to_owned(), name: name_of(id, scope), versioned })
}

fn key(id: &str, scope: &Scope, properties: &mut Properties<'_>) -> Key {
    properties.ignore(&["Description", "EnableKeyRotation", "KeyPolicy", "PendingWindowInDays", "Tags"]);
    Key { logical_id: id.to_owned(), key_id: name_of(id, scope), aliases: vec![] }
}

fn http_api(properties: &mut Properties<'_>) -> Result<(), TemplateError> {
    properties.ignore(&[
        "AccessLogSettings",
        "DefaultRouteSettings",
        "Description",
        "FailOnWarnings",
        "Tags",
    ]);
    match properties.text("StageName")?.as_deref() {
        None | Some("$default") => Ok(()),
        Some(_) => Err(properties.problem("StageName", "only $default keeps the stage out of the paths")),
    }
}

/// Replaces queue ARNs by logical ids and checks what AWS checks between resources.
fn connect(cloud: &mut Cloud) -> Result<(), TemplateError> {
    let by_arn: BTreeMap<String, Queue> = cloud.queues.iter().map(|q| (q.arn(), q.clone())).collect();
    for queue in &mut cloud.queues {
        let Some(redrive) = &mut queue.redrive else { continue };
        let target = by_arn.get(&redrive.dead_letter).filter(|target| target.fifo == queue.fifo);
        let target = target.ok_or_else(|| TemplateError::Property {
            logical_id: queue.logical_id.clone(),
            property: "RedrivePolicy.deadLetterTargetArn".to_owned(),
            problem: "is no queue of this template of the same type".to_owned(),
        })?;
        redrive.dead_letter.clone_from(&target.logical_id);
    }
    for function in &mut cloud.functions {
        functions::connect(function, &by_arn)?;
    }
    Ok(())
}
