//! `POST /api/rerun_*_generation`, `POST /api/manual_*_generation`, `GET /api/get_operation_status`,
//! `POST /api/cancel_operation`.

use serde_json::{Value, json};

use super::shared::user_filter;
use crate::ids::DEFAULT_AGENT_VERSION;
use crate::learning::LearningKind;
use crate::operations::{GenerationFilter, GenerationMode, GenerationPlan, OperationService};
use crate::time::utc_iso;
use crate::validation::rules;
use crate::validation::{Fields, TimeRange, ValidationErrors, query_object, read_body, read_query};

/// Requests whose users take part in a manual generation of playbooks: the newest.
pub const MANUAL_PLAYBOOK_REQUESTS: usize = 1_000;

/// A batch as a caller asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartGeneration {
    /// What is made.
    pub service: OperationService,
    /// How, and from what.
    pub plan: GenerationPlan,
}

impl StartGeneration {
    /// Reads the body of one of the four routes.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(kind: LearningKind, mode: GenerationMode, body: &Value) -> Result<Self, ValidationErrors> {
        let (filter, _) =
            read_body(body, |fields| read_filter(kind, mode, fields), |(_, time)| time.check())?;
        let newest_requests = match (mode, kind) {
            (GenerationMode::Manual, LearningKind::Playbook) => Some(MANUAL_PLAYBOOK_REQUESTS),
            _ => None,
        };
        let plan = GenerationPlan { mode, filter, newest_requests };
        Ok(Self { service: OperationService::of(kind), plan })
    }

    /// What is shown of it to whoever asks for the operation's status.
    #[must_use]
    pub fn request_params(&self) -> Value {
        let filter = &self.plan.filter;
        let times = (filter.start_time.and_then(utc_iso), filter.end_time.and_then(utc_iso));
        match (self.plan.mode, self.service.kind()) {
            (GenerationMode::Manual | GenerationMode::Regular, LearningKind::Profile) => {
                json!({ "user_id": filter.user_id, "source": filter.source })
            }
            (GenerationMode::Manual | GenerationMode::Regular, LearningKind::Playbook) => {
                json!({ "agent_version": filter.agent_version, "source": filter.source })
            }
            (GenerationMode::Rerun, LearningKind::Profile) => json!({
                "user_id": filter.user_id,
                "start_time": times.0,
                "end_time": times.1,
                "source": filter.source,
            }),
            (GenerationMode::Rerun, LearningKind::Playbook) => json!({
                "agent_version": filter.agent_version,
                "start_time": times.0,
                "end_time": times.1,
            }),
        }
    }
}

fn read_filter(
    kind: LearningKind,
    mode: GenerationMode,
    fields: &mut Fields<'_, '_>,
) -> Option<(GenerationFilter, TimeRange)> {
    let (user_id, agent_version) = match kind {
        LearningKind::Profile => (fields.nullable("user_id", user_filter), Some(None)),
        LearningKind::Playbook => {
            let version = fields.optional("agent_version", DEFAULT_AGENT_VERSION.to_owned(), rules::text);
            (Some(None), version.map(Some))
        }
    };
    let time = match mode {
        GenerationMode::Rerun => TimeRange::read(fields),
        GenerationMode::Manual | GenerationMode::Regular => Some(TimeRange::default()),
    };
    // Taken and not heeded: there is one extractor of each kind.
    let ignored = match kind {
        LearningKind::Profile => fields.nullable("extractor_names", rules::texts).is_some(),
        LearningKind::Playbook => fields.nullable("playbook_name", rules::text).is_some(),
    };
    let source = fields.nullable("source", rules::source_label);
    let (user_id, agent_version, time, source) = (user_id?, agent_version?, time?, source?);
    let filter = GenerationFilter {
        user_id: user_id.flatten(),
        start_time: time.start,
        end_time: time.end,
        source,
        agent_version,
    };
    ignored.then_some((filter, time))
}

/// Whose status is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStatusQuery {
    /// The service, known or not.
    pub service_name: String,
}

impl OperationStatusQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// [`ValidationErrors`] when a parameter cannot be read.
    pub fn parse(query: &str) -> Result<Self, ValidationErrors> {
        let query = query_object(query);
        let default = OperationService::ProfileGeneration.as_str().to_owned();
        let service_name =
            read_query(&query, |fields| fields.optional("service_name", default, rules::text))?;
        Ok(Self { service_name })
    }
}

/// What is to be stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelOperation {
    /// The service, known or not; `None`: all.
    pub service_name: Option<String>,
}

impl CancelOperation {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| Some(Self { service_name: fields.nullable("service_name", rules::text)? }),
            |_| Ok(()),
        )
    }

    /// The services that are meant.
    #[must_use]
    pub fn services(&self) -> Vec<OperationService> {
        match &self.service_name {
            None => OperationService::ALL.to_vec(),
            Some(name) => OperationService::parse(name).into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_has_its_own_filters_and_defaults() {
        let parse = |kind, mode, body: Value| StartGeneration::parse(kind, mode, &body).unwrap();
        let rerun = parse(
            LearningKind::Profile,
            GenerationMode::Rerun,
            json!({ "user_id": " ana ", "start_time": 10, "source": "web", "extractor_names": ["x"] }),
        );
        let filter = rerun.plan.filter;
        assert_eq!(filter.user_id.unwrap().as_str(), "ana");
        assert_eq!((filter.start_time, filter.end_time), (Some(10), None));
        assert_eq!((filter.source.as_deref(), filter.agent_version), (Some("web"), None));
        let manual = parse(LearningKind::Playbook, GenerationMode::Manual, json!({ "start_time": 10 }));
        assert_eq!(manual.plan.filter.start_time, None);
        assert_eq!(manual.plan.filter.agent_version.as_deref(), Some("agent-v0"));
        assert_eq!(manual.plan.newest_requests, Some(MANUAL_PLAYBOOK_REQUESTS));
    }

    #[test]
    fn a_reversed_time_range_and_a_bad_source_are_refused() {
        for body in [
            json!({ "start_time": 10, "end_time": 10 }),
            json!({ "start_time": 11, "end_time": 10 }),
            json!({ "source": "Bad Source" }),
            json!({ "user_id": 5 }),
            json!({ "extractor_names": "x" }),
            json!(null),
        ] {
            let read = StartGeneration::parse(LearningKind::Profile, GenerationMode::Rerun, &body);
            assert!(read.is_err(), "{body}");
        }
        let ok = json!({ "start_time": 9, "end_time": 10 });
        assert!(StartGeneration::parse(LearningKind::Profile, GenerationMode::Rerun, &ok).is_ok());
    }

    #[test]
    fn what_was_asked_is_shown_with_times_in_words() {
        let body = json!({ "agent_version": "v1", "start_time": 1_750_000_000 });
        let asked = StartGeneration::parse(LearningKind::Playbook, GenerationMode::Rerun, &body).unwrap();
        assert_eq!(
            asked.request_params(),
            json!({ "agent_version": "v1", "start_time": "2025-06-15T15:06:40+00:00", "end_time": null })
        );
    }
}
