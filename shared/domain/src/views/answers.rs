//! The bodies of successful answers, with the messages of the contract.

use serde::Serialize;
use serde_json::Value;

use super::playbooks::{AgentPlaybookView, UserPlaybookView};
use super::profiles::ProfileView;
use super::requests::{InteractionView, SessionView};
use crate::entities::RetrievalExperimentArm;

/// The message of a search whose user is in the holdout arm.
pub const WITHHELD: &str = "Retrieval withheld by experiment assignment";

/// The arm that a searching user is in while an experiment is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExperimentAssignment {
    /// The experiment.
    pub experiment_id: String,
    /// The user's arm.
    pub arm: RetrievalExperimentArm,
}

/// `POST /api/get_requests`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestsAnswer {
    /// Always true.
    pub success: bool,
    /// The sessions, the newest first.
    pub sessions: Vec<SessionView>,
    /// Whether there are more after these.
    pub has_more: bool,
    /// In words.
    pub msg: String,
}

impl RequestsAnswer {
    /// The answer with these sessions.
    #[must_use]
    pub fn new(sessions: Vec<SessionView>, has_more: bool) -> Self {
        let requests: usize = sessions.iter().map(|session| session.requests.len()).sum();
        let msg = format!("Found {requests} request(s) in {} session(s)", sessions.len());
        Self { success: true, sessions, has_more, msg }
    }
}

macro_rules! list_answer {
    ($(#[$doc:meta])* $name:ident, $list:ident: $view:ty, $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct $name {
            /// Always true.
            pub success: bool,
            /// What was found.
            pub $list: Vec<$view>,
            /// In words.
            pub msg: String,
            /// The searching user's arm while an experiment is active.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub experiment: Option<ExperimentAssignment>,
        }

        impl $name {
            /// The answer of a list route.
            #[must_use]
            pub fn found($list: Vec<$view>) -> Self {
                let msg = format!(concat!("Found {} ", $noun, "(s)"), $list.len());
                Self { success: true, $list, msg, experiment: None }
            }

            /// The answer of a search.
            #[must_use]
            pub fn matching($list: Vec<$view>) -> Self {
                let msg = format!(concat!("Found {} matching ", $noun, "(s)"), $list.len());
                Self { success: true, $list, msg, experiment: None }
            }

            /// The answer of a search in the holdout arm.
            #[must_use]
            pub fn withheld(experiment: ExperimentAssignment) -> Self {
                Self { success: true, $list: Vec::new(), msg: WITHHELD.to_owned(), experiment: Some(experiment) }
            }
        }
    };
}

list_answer! {
    /// `get_interactions`, `get_all_interactions`, `search_interactions`.
    InteractionsAnswer, interactions: InteractionView, "interaction"
}
list_answer! {
    /// `get_profiles`, `get_all_profiles`, `search_profiles`.
    ProfilesAnswer, user_profiles: ProfileView, "profile"
}
list_answer! {
    /// `get_user_playbooks`, `search_user_playbooks`.
    UserPlaybooksAnswer, user_playbooks: UserPlaybookView, "user playbook"
}

list_answer! {
    /// `get_agent_playbooks`, `search_agent_playbooks`.
    AgentPlaybooksAnswer, agent_playbooks: AgentPlaybookView, "agent playbook"
}

/// `POST /api/search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UnifiedSearchAnswer {
    /// Whether at least one part answered.
    pub success: bool,
    /// The user's profiles.
    pub profiles: Vec<ProfileView>,
    /// Agent playbooks.
    pub agent_playbooks: Vec<AgentPlaybookView>,
    /// User playbooks.
    pub user_playbooks: Vec<UserPlaybookView>,
    /// The query that was searched, if it is another than the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reformulated_query: Option<String>,
    /// In words; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msg: Option<String>,
    /// Whether a part is missing or ranked by words only.
    pub degraded: bool,
    /// How it was ranked, if otherwise than asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_mode_effective: Option<String>,
    /// The searching user's arm while an experiment is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<ExperimentAssignment>,
}

/// `add_user_profile`, `add_user_playbook`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddedAnswer {
    /// Whether everything is stored.
    pub success: bool,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How many rows.
    pub added_count: usize,
}

impl AddedAnswer {
    /// The answer after adding profiles.
    #[must_use]
    pub fn profiles(count: usize) -> Self {
        Self { success: true, message: Some(format!("Added {count} profile(s)")), added_count: count }
    }

    /// The answer after adding playbooks.
    #[must_use]
    pub fn playbooks(count: usize) -> Self {
        Self { success: true, message: Some(format!("Added {count} item(s)")), added_count: count }
    }
}

/// Routes that change one thing: whether it is done, and in words what was done or why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedAnswer {
    /// Whether it is done.
    pub success: bool,
    /// In words.
    pub msg: String,
}

impl ChangedAnswer {
    /// Done.
    #[must_use]
    pub fn done(msg: impl Into<String>) -> Self {
        Self { success: true, msg: msg.into() }
    }

    /// Not done.
    #[must_use]
    pub fn refused(msg: impl Into<String>) -> Self {
        Self { success: false, msg: msg.into() }
    }
}

/// Routes that delete one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeletedAnswer {
    /// Whether it is gone.
    pub success: bool,
    /// In words.
    pub message: String,
}

impl DeletedAnswer {
    /// It is gone, if it ever was there.
    #[must_use]
    pub fn done() -> Self {
        Self { success: true, message: "Deleted successfully".to_owned() }
    }

    /// Nothing was deleted.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into() }
    }
}

/// Routes that delete what a list of ids names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BulkDeletedAnswer {
    /// Always true.
    pub success: bool,
    /// Rows that were there and are gone.
    pub deleted_count: usize,
    /// In words.
    pub message: String,
}

impl BulkDeletedAnswer {
    /// The answer after deleting so many rows.
    #[must_use]
    pub fn new(deleted_count: usize) -> Self {
        Self { success: true, deleted_count, message: format!("Deleted {deleted_count} item(s)") }
    }
}

/// `POST /api/run_playbook_aggregation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AggregationAnswer {
    /// Whether it went as asked.
    pub success: bool,
    /// In words.
    pub message: String,
}

/// `set_config`, `update_config`; nulls are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigAnswer {
    /// Whether it is stored.
    pub success: bool,
    /// In words.
    pub msg: Option<String>,
}

impl ConfigAnswer {
    /// The answer after a change.
    #[must_use]
    pub fn set() -> Self {
        Self { success: true, msg: Some("Configuration set successfully".to_owned()) }
    }

    /// The answer when nothing would change.
    #[must_use]
    pub fn unchanged() -> Self {
        Self { success: true, msg: Some("Configuration unchanged".to_owned()) }
    }
}

/// `POST /api/admin/cache/invalidate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvalidateCacheAnswer {
    /// Whether anything was kept of the organisation.
    pub invalidated: bool,
    /// The organisation.
    pub org_id: String,
}

/// `GET /api/whoami`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhoamiAnswer {
    /// Always true.
    pub success: bool,
    /// The organisation.
    pub org_id: String,
    /// The kind of store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_type: Option<String>,
    /// The store, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_label: Option<String>,
    /// Whether there is a store.
    pub storage_configured: bool,
    /// In words.
    pub message: String,
}

/// `GET /api/my_config`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MyConfigAnswer {
    /// Whether it is allowed.
    pub success: bool,
    /// The storage part of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_config: Option<Value>,
    /// The kind of store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_type: Option<String>,
    /// In words.
    pub message: String,
}

impl MyConfigAnswer {
    /// The answer while the route is switched off.
    #[must_use]
    pub fn disabled() -> Self {
        let message =
            "GET /api/my_config is disabled. Set REFLEXIO_ALLOW_MY_CONFIG=true to enable.".to_owned();
        Self { success: false, storage_config: None, storage_type: None, message }
    }
}
