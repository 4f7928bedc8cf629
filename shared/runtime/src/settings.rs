//! What the environment says: the only place that reads it.

use std::collections::BTreeMap;

use domain::ids::{DEFAULT_AGENT_VERSION, OrgId};
use wake::{QueueUrls, TimerTarget};

/// The organisation of callers without a key, on a laptop.
pub const SELF_HOST_ORG: &str = "self-host-org";

/// A variable that must be set is not, or does not hold what it must.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Not set, or blank.
    #[error("environment variable {0} is not set")]
    Missing(&'static str),
    /// Set to something else than what it may hold.
    #[error("environment variable {name} must be {expected}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it may hold.
        expected: &'static str,
    },
}

/// Who may call without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Nobody.
    KeysOnly,
    /// Callers on this machine, as this organisation.
    LoopbackAs(OrgId),
}

/// Names of resources and switches, as the deployment sets them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The DynamoDB table.
    pub table: String,
    /// The S3 bucket.
    pub bucket: String,
    /// The KMS key that protects secrets.
    pub kms_key: String,
    /// The queues that wake workers.
    pub queues: QueueUrls,
    /// Where timers send to.
    pub timers: TimerTarget,
    /// A session is judged when it has been silent for so long, in seconds.
    pub evaluation_delay_seconds: i64,
    /// The agent version of requests that name none.
    pub agent_version: String,
    /// Whether `GET /api/my_config` answers.
    pub allow_my_config: bool,
    /// Who may call without a key.
    pub access: Access,
    /// Longest wait of `wait_for_response`, in seconds: a gateway cuts an answer off after its own limit.
    pub wait_seconds_max: u64,
    /// Whether URLs given by tenants may lead to private addresses: on a laptop, where the tenant is its owner.
    pub allow_private_addresses: bool,
    /// All variables, for the choice of a model provider.
    pub environment: BTreeMap<String, String>,
}

/// All variables of this process.
#[must_use]
pub fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// API Gateway answers 504 after 29 seconds.
const WAIT_SECONDS_MAX_BEHIND_GATEWAY: u64 = 25;

impl Settings {
    /// Reads the variables that `infra/template.yaml` sets.
    ///
    /// # Errors
    /// [`SettingsError`] names the variable.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_variables(variables())
    }

    /// As [`Self::from_env`], from variables that were read elsewhere.
    ///
    /// # Errors
    /// [`SettingsError`] names the variable.
    pub fn from_variables(environment: BTreeMap<String, String>) -> Result<Self, SettingsError> {
        let required = |name: &'static str| {
            environment
                .get(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
                .ok_or(SettingsError::Missing(name))
        };
        let agent_version = environment
            .get("RETROSPECT_AGENT_VERSION")
            .filter(|version| !version.trim().is_empty())
            .map_or_else(|| DEFAULT_AGENT_VERSION.to_owned(), Clone::clone);
        Ok(Self {
            table: required("RETROSPECT_TABLE")?,
            bucket: required("RETROSPECT_BUCKET")?,
            kms_key: required("RETROSPECT_KMS_KEY")?,
            queues: QueueUrls {
                learn: required("RETROSPECT_LEARN_QUEUE_URL")?,
                aggregate: required("RETROSPECT_AGGREGATE_QUEUE_URL")?,
                operate: required("RETROSPECT_OPERATE_QUEUE_URL")?,
                evaluate: required("RETROSPECT_EVALUATE_QUEUE_URL")?,
            },
            timers: TimerTarget {
                queue_arn: required("RETROSPECT_EVALUATE_QUEUE_ARN")?,
                role_arn: required("RETROSPECT_SCHEDULER_ROLE_ARN")?,
            },
            evaluation_delay_seconds: evaluation_delay(&environment)?,
            agent_version,
            allow_my_config: switch(&environment, "RETROSPECT_ALLOW_MY_CONFIG")?,
            access: Access::KeysOnly,
            wait_seconds_max: WAIT_SECONDS_MAX_BEHIND_GATEWAY,
            allow_private_addresses: false,
            environment,
        })
    }
}

/// How long a session must be silent when the deployment does not say, in seconds.
const EVALUATION_DELAY_SECONDS: i64 = 600;

fn evaluation_delay(environment: &BTreeMap<String, String>) -> Result<i64, SettingsError> {
    const NAME: &str = "RETROSPECT_EVALUATION_DELAY_SECONDS";
    match environment.get(NAME).map(|value| value.trim()) {
        None | Some("") => Ok(EVALUATION_DELAY_SECONDS),
        Some(seconds) => {
            let seconds = seconds.parse().ok().filter(|seconds| *seconds > 0);
            seconds.ok_or(SettingsError::Invalid { name: NAME, expected: "a number of seconds above 0" })
        }
    }
}

/// A switch is `true` or `false`; absent is off.
fn switch(environment: &BTreeMap<String, String>, name: &'static str) -> Result<bool, SettingsError> {
    match environment.get(name).map(|value| value.trim()) {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(SettingsError::Invalid { name, expected: "true or false" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(extra: &[(&str, &str)]) -> BTreeMap<String, String> {
        let base = [
            ("RETROSPECT_TABLE", "t"),
            ("RETROSPECT_BUCKET", "b"),
            ("RETROSPECT_KMS_KEY", "k"),
            ("RETROSPECT_LEARN_QUEUE_URL", "q"),
            ("RETROSPECT_AGGREGATE_QUEUE_URL", "a"),
            ("RETROSPECT_OPERATE_QUEUE_URL", "o"),
            ("RETROSPECT_EVALUATE_QUEUE_URL", "e"),
            ("RETROSPECT_EVALUATE_QUEUE_ARN", "arn"),
            ("RETROSPECT_SCHEDULER_ROLE_ARN", "role"),
        ];
        base.iter().chain(extra).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_missing_variable_is_named() {
        let mut missing = variables(&[]);
        missing.remove("RETROSPECT_BUCKET");
        let error = Settings::from_variables(missing).unwrap_err();
        assert_eq!(error.to_string(), "environment variable RETROSPECT_BUCKET is not set");
    }

    #[test]
    fn a_switch_that_is_neither_true_nor_false_is_refused() {
        for (value, ok) in [("true", true), ("false", true), ("", true), ("1", false), ("yes", false)] {
            let read = Settings::from_variables(variables(&[("RETROSPECT_ALLOW_MY_CONFIG", value)]));
            assert_eq!(read.is_ok(), ok, "{value}");
        }
    }

    #[test]
    fn a_deployment_admits_nobody_without_a_key() {
        assert_eq!(Settings::from_variables(variables(&[])).unwrap().access, Access::KeysOnly);
    }
}
