//! Sends recorded requests to the parsers.

use domain::config::Config;
use domain::errors::ApiError;
use domain::requests::{interactions, playbooks, profiles, publish, search, sessions};
use serde_json::Value;

/// Reads one request the way its route does. `None` for an unknown route.
pub(crate) fn parse(route: &str, query: &str, body: &Value) -> Option<Result<(), ApiError>> {
    fn done<T, E: Into<ApiError>>(read: Result<T, E>) -> Result<(), ApiError> {
        read.map(|_| ()).map_err(Into::into)
    }
    Some(match route {
        "publish_interaction" => {
            let query = done(publish::PublishQuery::parse(query));
            query.and_then(|()| done(publish::PublishRequest::parse(body)))
        }
        "learning_status" => done(sessions::LearningStatusQuery::parse(query)),
        "finalize_session" => done(sessions::FinalizeSession::parse(body)),
        "get_requests" => done(sessions::GetRequests::parse(body)),
        "get_interactions" => done(interactions::GetInteractions::parse(body)),
        "get_all_interactions" => done(interactions::GetAllInteractions::parse(query)),
        "get_profiles" => done(profiles::GetProfiles::parse(body)),
        "get_all_profiles" => done(profiles::GetAllProfiles::parse(query)),
        "add_user_profile" => done(profiles::AddUserProfiles::parse(body)),
        "get_user_playbooks" => done(playbooks::GetUserPlaybooks::parse(body)),
        "add_user_playbook" => done(playbooks::AddUserPlaybooks::parse(body)),
        "search_profiles" => done(search::SearchProfiles::parse(body)),
        "search_interactions" => done(search::SearchInteractions::parse(body)),
        "search_user_playbooks" => done(search::SearchUserPlaybooks::parse(body)),
        "search" => done(search::UnifiedSearch::parse(body)),
        "set_config" => done(Config::default().replaced_by(body)),
        "update_config" => done(Config::default().merged_with(body)),
        _ => return None,
    })
}

/// All routes that [`parse`] knows.
pub(crate) const ROUTES: [&str; 17] = [
    "publish_interaction",
    "learning_status",
    "finalize_session",
    "get_requests",
    "get_interactions",
    "get_all_interactions",
    "get_profiles",
    "get_all_profiles",
    "add_user_profile",
    "get_user_playbooks",
    "add_user_playbook",
    "search_profiles",
    "search_interactions",
    "search_user_playbooks",
    "search",
    "set_config",
    "update_config",
];
