//! What `!Ref` and `!GetAtt` give: parameters, and the names, URLs and ARNs of resources.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::Document;
use super::intrinsics::Scope;
use super::model::{Key, TemplateError};
use super::properties::Properties;
use super::queues::unconfigured_queue;
use super::resources::Declared;
use super::{ACCOUNT_ID, REGION, STACK_NAME};

/// Puts the parameters into the scope: given values before defaults.
pub(super) fn add_parameters(
    scope: &mut Scope,
    document: &Document,
    given: &BTreeMap<String, String>,
) -> Result<(), TemplateError> {
    if let Some(name) = given.keys().find(|name| !document.parameters.contains_key(*name)) {
        return Err(TemplateError::UnknownParameter(name.clone()));
    }
    for (name, declaration) in &document.parameters {
        let value = match given.get(name) {
            Some(text) => Value::String(text.clone()),
            None => declaration
                .get("Default")
                .cloned()
                .ok_or_else(|| TemplateError::MissingParameter(name.clone()))?,
        };
        scope.references.insert(name.clone(), value);
    }
    Ok(())
}

/// Puts into the scope what `!Ref` and `!GetAtt` of a resource give.
pub(super) fn add_names(scope: &mut Scope, resource: &Declared) -> Result<(), TemplateError> {
    let id = &resource.logical_id;
    let mut properties = Properties::new(id, resource.properties.clone(), scope);
    let generated = format!("{STACK_NAME}-{id}");
    let (reference, attributes) = match resource.kind.as_str() {
        "AWS::DynamoDB::Table" => {
            let name = properties.text("TableName")?.unwrap_or(generated);
            let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{name}");
            (name, vec![("Arn", arn)])
        }
        "AWS::S3::Bucket" => {
            let name = properties.text("BucketName")?.unwrap_or_else(|| generated.to_lowercase());
            let arn = format!("arn:aws:s3:::{name}");
            (name, vec![("Arn", arn)])
        }
        "AWS::KMS::Key" => {
            let key = Key { logical_id: id.clone(), key_id: generated, aliases: vec![] };
            let arn = key.arn();
            (key.key_id.clone(), vec![("Arn", arn), ("KeyId", key.key_id)])
        }
        "AWS::SQS::Queue" => {
            let suffix = if properties.flag("FifoQueue")? { ".fifo" } else { "" };
            let name = properties.text("QueueName")?.unwrap_or_else(|| format!("{generated}{suffix}"));
            let queue = unconfigured_queue(id, name);
            let attributes =
                vec![("Arn", queue.arn()), ("QueueUrl", queue.url()), ("QueueName", queue.name.clone())];
            (queue.url(), attributes)
        }
        "AWS::IAM::Role" => {
            let arn = format!("arn:aws:iam::{ACCOUNT_ID}:role/{generated}");
            (generated, vec![("Arn", arn)])
        }
        "AWS::Serverless::Function" => {
            let arn = format!("arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{generated}");
            (generated, vec![("Arn", arn)])
        }
        _ => return Ok(()),
    };
    scope.references.insert(id.clone(), Value::String(reference));
    for (attribute, value) in attributes {
        scope.attributes.insert((id.clone(), attribute.to_owned()), Value::String(value));
    }
    Ok(())
}

/// The name that `add_names` gave to a table, bucket, key or function.
pub(super) fn name_of(logical_id: &str, scope: &Scope) -> String {
    scope.references.get(logical_id).and_then(Value::as_str).unwrap_or_default().to_owned()
}
