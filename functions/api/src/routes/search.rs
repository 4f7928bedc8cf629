//! The search routes.

mod agent_playbooks;
mod interactions;
mod plan;
mod playbooks;
mod profiles;
mod unified;

pub(crate) use agent_playbooks::search_agent_playbooks;
pub(crate) use interactions::search_interactions;
pub(crate) use playbooks::search_user_playbooks;
pub(crate) use profiles::search_profiles;
pub(crate) use unified::search;

use domain::config::Config;
use domain::errors::ApiError;
use domain::experiments::assigned_arm;
use domain::ids::UserId;
use domain::views::ExperimentAssignment;

use crate::access::Caller;
use crate::answer::Failure;

/// What an active retrieval experiment means for a search.
enum Experiment {
    /// There is none.
    Inactive,
    /// The user's searches answer.
    Treatment(ExperimentAssignment),
    /// The user's searches withhold.
    Holdout(ExperimentAssignment),
}

impl Experiment {
    /// Finds the arm of the searching user, who must be named while an experiment is active.
    fn of(config: &Config, caller: &Caller, user: Option<&UserId>) -> Result<Self, Failure> {
        let Some(active) = &config.retrieval_experiment_config else { return Ok(Self::Inactive) };
        let user = user.ok_or_else(ApiError::experiment_needs_user)?;
        let arm = assigned_arm(&caller.org, &active.experiment_id, user, active.holdout_percentage);
        let assignment = ExperimentAssignment { experiment_id: active.experiment_id.clone(), arm };
        Ok(match arm {
            domain::entities::RetrievalExperimentArm::Treatment => Self::Treatment(assignment),
            domain::entities::RetrievalExperimentArm::Holdout => Self::Holdout(assignment),
        })
    }

    fn assignment(self) -> Option<ExperimentAssignment> {
        match self {
            Self::Inactive => None,
            Self::Treatment(assignment) | Self::Holdout(assignment) => Some(assignment),
        }
    }
}
