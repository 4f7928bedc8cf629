//! What `infra/template.yaml` deploys, read for the local cloud: the same table, queues, mappings and
//! schedules that AWS would make of it.
//!
//! The reader is strict. A property is either obeyed, or on the list of those that mean nothing on one
//! machine (policies, alarms, log groups, encryption at rest, …), or an error that names it, so that local
//! mode never silently differs from the deployment.

mod document;
mod functions;
mod intrinsics;
mod model;
mod names;
mod properties;
mod queues;
mod resources;

use std::sync::OnceLock;

pub use model::{
    Bucket, Cloud, DeduplicationScope, Function, FunctionEvent, Key, Queue, Redrive, Table, TemplateError,
};

/// The Region of the local cloud.
pub const REGION: &str = "us-east-1";
/// The account of the local cloud.
pub const ACCOUNT_ID: &str = "000000000000";
/// The stack of the local cloud, first part of every generated name.
pub const STACK_NAME: &str = "retrospect";

/// The template that is deployed.
const TEMPLATE: &str = include_str!("../../../../../infra/template.yaml");

impl Cloud {
    /// The cloud of the template that this program was built with. Read once: tests start it thousands of times.
    ///
    /// # Errors
    /// See [`Cloud::from_template`].
    pub fn deployed(parameters: &std::collections::BTreeMap<String, String>) -> Result<Self, TemplateError> {
        static BY_DEFAULT: OnceLock<Cloud> = OnceLock::new();
        if !parameters.is_empty() {
            return Self::from_template(TEMPLATE, parameters);
        }
        if let Some(cloud) = BY_DEFAULT.get() {
            return Ok(cloud.clone());
        }
        let cloud = Self::from_template(TEMPLATE, parameters)?;
        Ok(BY_DEFAULT.get_or_init(|| cloud).clone())
    }

    /// Reads a SAM template. `parameters` take precedence over the defaults of the template.
    ///
    /// # Errors
    /// [`TemplateError`] when the template is malformed, holds anything that the local cloud would have to
    /// obey and does not know, or when a parameter is unknown or has no value.
    pub fn from_template(
        yaml: &str,
        parameters: &std::collections::BTreeMap<String, String>,
    ) -> Result<Self, TemplateError> {
        let document = document::Document::parse(yaml)?;
        resources::read(&document, parameters)
    }
}

#[cfg(test)]
mod tests;
