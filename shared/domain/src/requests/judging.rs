//! `POST /api/evaluations/regenerate`, `POST /api/evaluations/grade_on_demand`,
//! `POST /api/get_agent_success_evaluation_results`.

use serde_json::Value;

use crate::entities::AGENT_SUCCESS;
use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds, POSITIVE};
use crate::validation::{TimeRange, ValidationErrors, read_body};

/// Of what span of time sessions are to be judged anew; both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regenerate {
    /// Its beginning.
    pub from: EpochSeconds,
    /// Its end.
    pub to: EpochSeconds,
}

impl Regenerate {
    /// Reads a body. The name of the evaluation is accepted: there is one.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let name = fields.nullable("evaluation_name", rules::text);
                let from = fields.required("from_ts", rules::integer(Bounds::<i64>::from(0)));
                let to = fields.required("to_ts", rules::integer(Bounds::<i64>::from(0)));
                name?;
                Some(Self { from: from?, to: to? })
            },
            |read| {
                if read.from < read.to {
                    Ok(())
                } else {
                    Err("from_ts must be strictly before to_ts".to_owned())
                }
            },
        )
    }
}

/// Which verdict is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeOnDemand {
    /// The session; may be no valid id.
    pub session_id: String,
    /// The agent version.
    pub agent_version: String,
    /// The evaluation.
    pub evaluation_name: String,
}

impl GradeOnDemand {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let session_id = fields.required("session_id", rules::text);
                let agent_version = fields.required("agent_version", rules::text);
                let evaluation_name = fields.nullable("evaluation_name", rules::text);
                Some(Self {
                    session_id: session_id?,
                    agent_version: agent_version?,
                    evaluation_name: evaluation_name?.unwrap_or_else(|| AGENT_SUCCESS.to_owned()),
                })
            },
            |_| Ok(()),
        )
    }
}

/// Which verdicts are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetEvaluationResults {
    /// So many at most.
    pub limit: usize,
    /// Of this agent version only.
    pub agent_version: Option<String>,
    /// On sessions that began within these times.
    pub time: TimeRange,
}

impl GetEvaluationResults {
    /// Verdicts that are listed when the caller does not say how many.
    pub const LIMIT: i64 = 100;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let limit = fields.nullable_or("limit", Some(Self::LIMIT), rules::integer(POSITIVE));
                let agent_version = fields.nullable("agent_version", rules::text);
                let time = TimeRange::read(fields);
                Some(Self {
                    limit: usize::try_from(limit?.unwrap_or(Self::LIMIT)).unwrap_or(usize::MAX),
                    agent_version: agent_version?,
                    time: time?,
                })
            },
            |read| read.time.check(),
        )
    }
}
