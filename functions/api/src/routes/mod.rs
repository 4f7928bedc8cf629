//! The routes, by what they are about.

mod account;
mod agent_playbooks;
mod aggregations;
mod config;
mod edits;
mod evaluations;
mod experiments;
mod grading;
mod interactions;
mod learning;
mod operations;
mod outcomes;
mod overview;
mod playbooks;
mod profile_changes;
mod profiles;
mod provenance;
mod publish;
mod regeneration;
mod requests;
mod retrieved_learning;
mod review;
mod search;
mod select;
mod sessions;
mod shadow;
mod stalls;
mod system;
mod versions;

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter, on};
use runtime::App;

use crate::layers::{not_found, wrong_method};

/// Every route: method and path. What the two-tenant tests and the OpenAPI document are checked against.
pub const ROUTES: [(&str, &str); 75] = [
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/healthz"),
    ("GET", "/meta/version"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/redoc"),
    ("GET", "/api/whoami"),
    ("GET", "/api/my_config"),
    ("GET", "/api/get_config"),
    ("POST", "/api/set_config"),
    ("POST", "/api/update_config"),
    ("POST", "/api/admin/cache/invalidate"),
    ("POST", "/api/publish_interaction"),
    ("GET", "/api/learning_status"),
    ("POST", "/api/finalize_session"),
    ("POST", "/api/session_outcome"),
    ("POST", "/api/get_session_outcomes"),
    ("GET", "/stall_state"),
    ("GET", "/api/stall_state"),
    ("POST", "/stall_state/notified"),
    ("POST", "/api/get_requests"),
    ("POST", "/api/get_interactions"),
    ("GET", "/api/get_all_interactions"),
    ("POST", "/api/get_profiles"),
    ("GET", "/api/get_all_profiles"),
    ("POST", "/api/add_user_profile"),
    ("PUT", "/api/update_user_profile"),
    ("DELETE", "/api/delete_profile"),
    ("DELETE", "/api/delete_profiles_by_ids"),
    ("POST", "/api/get_user_playbooks"),
    ("POST", "/api/add_user_playbook"),
    ("PUT", "/api/update_user_playbook"),
    ("DELETE", "/api/delete_user_playbook"),
    ("DELETE", "/api/delete_user_playbooks_by_ids"),
    ("GET", "/api/profile_change_log"),
    ("POST", "/api/get_learning_provenance"),
    ("POST", "/api/review_user_playbooks"),
    ("POST", "/api/upgrade_all_profiles"),
    ("POST", "/api/downgrade_all_profiles"),
    ("POST", "/api/upgrade_all_user_playbooks"),
    ("POST", "/api/downgrade_all_user_playbooks"),
    ("POST", "/api/get_agent_playbooks"),
    ("POST", "/api/add_agent_playbook"),
    ("PUT", "/api/update_agent_playbook_status"),
    ("POST", "/api/run_playbook_aggregation"),
    ("POST", "/api/playbook_aggregation_operations"),
    ("GET", "/api/playbook_aggregation_operations/{operation_id}"),
    ("GET", "/api/playbook_aggregation_change_logs"),
    ("POST", "/api/search_profiles"),
    ("POST", "/api/search_user_playbooks"),
    ("POST", "/api/search_agent_playbooks"),
    ("POST", "/api/search_interactions"),
    ("POST", "/api/search"),
    ("POST", "/api/rerun_profile_generation"),
    ("POST", "/api/rerun_playbook_generation"),
    ("POST", "/api/manual_profile_generation"),
    ("POST", "/api/manual_playbook_generation"),
    ("GET", "/api/get_operation_status"),
    ("POST", "/api/cancel_operation"),
    ("POST", "/api/get_agent_success_evaluation_results"),
    ("POST", "/api/evaluations/regenerate"),
    ("GET", "/api/evaluations/regenerate/{job_id}"),
    ("DELETE", "/api/evaluations/regenerate/{job_id}"),
    ("POST", "/api/evaluations/grade_on_demand"),
    ("GET", "/api/evaluations/grade_on_demand/{grade_id}"),
    ("GET", "/api/evaluations/shadow_comparisons/recent"),
    ("GET", "/api/retrieval_experiments"),
    ("POST", "/api/retrieval_experiments"),
    ("POST", "/api/retrieval_experiments/stop"),
    ("GET", "/api/retrieval_experiments/{experiment_id}/results"),
    ("POST", "/api/get_retrieved_learning_evaluation_results"),
    ("POST", "/api/get_evaluation_overview"),
];

/// Whether any method has this path.
pub(crate) fn has_path(path: &str) -> bool {
    ROUTES.iter().any(|(_, known)| is_path_of(known, path))
}

/// Whether a path is one of a route, in which any text may stand for a part in braces.
fn is_path_of(route: &str, path: &str) -> bool {
    let is_variable = |part: &str| part.starts_with('{') && part.ends_with('}');
    let (mut parts, mut given) = (route.split('/'), path.split('/'));
    loop {
        match (parts.next(), given.next()) {
            (None, None) => return true,
            (Some(part), Some(given)) if part == given || (is_variable(part) && !given.is_empty()) => {}
            _ => return false,
        }
    }
}

/// The methods that a path knows.
pub(crate) fn methods_of(path: &str) -> Vec<&'static str> {
    ROUTES.iter().filter(|(_, known)| is_path_of(known, path)).map(|(method, _)| *method).collect()
}

fn get<H, T>(handler: H) -> MethodRouter<Arc<App>>
where
    H: axum::handler::Handler<T, Arc<App>>,
    T: 'static,
{
    on(MethodFilter::GET, handler)
}

fn post<H, T>(handler: H) -> MethodRouter<Arc<App>>
where
    H: axum::handler::Handler<T, Arc<App>>,
    T: 'static,
{
    on(MethodFilter::POST, handler)
}

fn put<H, T>(handler: H) -> MethodRouter<Arc<App>>
where
    H: axum::handler::Handler<T, Arc<App>>,
    T: 'static,
{
    on(MethodFilter::PUT, handler)
}

fn delete<H, T>(handler: H) -> MethodRouter<Arc<App>>
where
    H: axum::handler::Handler<T, Arc<App>>,
    T: 'static,
{
    on(MethodFilter::DELETE, handler)
}

pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(system::root))
        .route("/health", get(system::health))
        .route("/health/live", get(system::live))
        .route("/health/ready", get(system::health))
        .route("/healthz", get(system::process))
        .route("/meta/version", get(system::version))
        .route("/openapi.json", get(system::openapi))
        .route("/docs", get(system::docs))
        .route("/redoc", get(system::docs))
        .route("/api/whoami", get(account::whoami))
        .route("/api/my_config", get(account::my_config))
        .route("/api/get_config", get(config::get_config))
        .route("/api/set_config", post(config::set_config))
        .route("/api/update_config", post(config::update_config))
        .route("/api/admin/cache/invalidate", post(config::invalidate_cache))
        .route("/api/publish_interaction", post(publish::publish_interaction))
        .route("/api/learning_status", get(learning::learning_status))
        .route("/api/finalize_session", post(sessions::finalize_session))
        .route("/api/session_outcome", post(outcomes::session_outcome))
        .route("/api/get_session_outcomes", post(outcomes::get_session_outcomes))
        .route("/stall_state", get(stalls::stall_state))
        .route("/api/stall_state", get(stalls::stall_state))
        .route("/stall_state/notified", post(stalls::notified))
        .route("/api/get_requests", post(requests::get_requests))
        .route("/api/get_interactions", post(interactions::get_interactions))
        .route("/api/get_all_interactions", get(interactions::get_all_interactions))
        .route("/api/get_profiles", post(profiles::get_profiles))
        .route("/api/get_all_profiles", get(profiles::get_all_profiles))
        .route("/api/add_user_profile", post(profiles::add_user_profile))
        .route("/api/update_user_profile", put(edits::update_user_profile))
        .route("/api/delete_profile", delete(edits::delete_profile))
        .route("/api/delete_profiles_by_ids", delete(edits::delete_profiles_by_ids))
        .route("/api/get_user_playbooks", post(playbooks::get_user_playbooks))
        .route("/api/add_user_playbook", post(playbooks::add_user_playbook))
        .route("/api/update_user_playbook", put(edits::update_user_playbook))
        .route("/api/delete_user_playbook", delete(edits::delete_user_playbook))
        .route("/api/delete_user_playbooks_by_ids", delete(edits::delete_user_playbooks_by_ids))
        .route("/api/profile_change_log", get(profile_changes::profile_change_log))
        .route("/api/get_learning_provenance", post(provenance::get_learning_provenance))
        .route("/api/review_user_playbooks", post(review::review_user_playbooks))
        .route("/api/upgrade_all_profiles", post(versions::upgrade_all_profiles))
        .route("/api/downgrade_all_profiles", post(versions::downgrade_all_profiles))
        .route("/api/upgrade_all_user_playbooks", post(versions::upgrade_all_user_playbooks))
        .route("/api/downgrade_all_user_playbooks", post(versions::downgrade_all_user_playbooks))
        .route("/api/get_agent_playbooks", post(agent_playbooks::get_agent_playbooks))
        .route("/api/add_agent_playbook", post(agent_playbooks::add_agent_playbook))
        .route("/api/update_agent_playbook_status", put(agent_playbooks::update_agent_playbook_status))
        .route("/api/run_playbook_aggregation", post(aggregations::run_playbook_aggregation))
        .route("/api/playbook_aggregation_operations", post(aggregations::submit_aggregation))
        .route("/api/playbook_aggregation_operations/{operation_id}", get(aggregations::operation))
        .route("/api/playbook_aggregation_change_logs", get(aggregations::playbook_aggregation_change_logs))
        .route("/api/search_profiles", post(search::search_profiles))
        .route("/api/search_user_playbooks", post(search::search_user_playbooks))
        .route("/api/search_agent_playbooks", post(search::search_agent_playbooks))
        .route("/api/search_interactions", post(search::search_interactions))
        .route("/api/search", post(search::search))
        .route("/api/rerun_profile_generation", post(operations::rerun_profiles))
        .route("/api/rerun_playbook_generation", post(operations::rerun_playbooks))
        .route("/api/manual_profile_generation", post(operations::generate_profiles))
        .route("/api/manual_playbook_generation", post(operations::generate_playbooks))
        .route("/api/get_operation_status", get(operations::get_operation_status))
        .route("/api/cancel_operation", post(operations::cancel_operation))
        .route("/api/get_agent_success_evaluation_results", post(evaluations::success_results))
        .route("/api/evaluations/regenerate", post(regeneration::regenerate))
        .route("/api/evaluations/regenerate/{job_id}", get(regeneration::status))
        .route("/api/evaluations/regenerate/{job_id}", delete(regeneration::cancel))
        .route("/api/evaluations/grade_on_demand", post(grading::grade_on_demand))
        .route("/api/evaluations/grade_on_demand/{grade_id}", get(grading::grade))
        .route("/api/evaluations/shadow_comparisons/recent", get(shadow::recent))
        .route("/api/retrieval_experiments", get(experiments::list))
        .route("/api/retrieval_experiments", post(experiments::start))
        .route("/api/retrieval_experiments/stop", post(experiments::stop))
        .route("/api/retrieval_experiments/{experiment_id}/results", get(experiments::results))
        .route("/api/get_evaluation_overview", post(overview::get_evaluation_overview))
        .route("/api/get_retrieved_learning_evaluation_results", post(retrieved_learning::results))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
}
