//! Upgrades and downgrades over HTTP: what is current, what was before, and what callers are told.

use domain::learning::LearningKind;
use domain::versions::VersionChange;
use serde_json::{Value, json};
use store::{RowScope, VersionOperation, VersionUsers};

use crate::script::{attentive_model, provider};
use crate::support::{Caller, Site, contents, request, with};

const UPGRADE_PROFILES: &str = "/api/upgrade_all_profiles";
const DOWNGRADE_PROFILES: &str = "/api/downgrade_all_profiles";
const UPGRADE_PLAYBOOKS: &str = "/api/upgrade_all_user_playbooks";
const DOWNGRADE_PLAYBOOKS: &str = "/api/downgrade_all_user_playbooks";
const NOTHING_PENDING: &str = "No pending items found to upgrade";

/// Profiles with these contents, which are their ids too.
async fn add_profiles(caller: &Caller, user: &str, status: Value, names: &[&str]) {
    let profile = |name: &&str| {
        json!({
            "profile_id": name, "user_id": user, "content": name, "status": status,
            "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
        })
    };
    let profiles: Vec<_> = names.iter().map(profile).collect();
    caller.ok("/api/add_user_profile", &json!({ "user_profiles": profiles })).await;
}

async fn add_playbook(caller: &Caller, version: &str, status: Value, content: &str) {
    let playbook = json!({
        "user_id": "ana", "agent_version": version, "request_id": "r1", "content": content, "status": status,
    });
    caller.ok("/api/add_user_playbook", &json!({ "user_playbooks": [playbook] })).await;
}

/// A user's profiles: current, pending, archived ones.
async fn profiles(caller: &Caller, user: &str) -> [Vec<String>; 3] {
    let mut found = [const { Vec::new() }; 3];
    for (found, status) in found.iter_mut().zip([json!(null), json!("pending"), json!("archived")]) {
        let body = json!({ "user_id": user, "top_k": 1_000, "status_filter": [status] });
        *found = contents(&caller.ok("/api/get_profiles", &body).await["user_profiles"]);
    }
    found
}

/// Ana's playbooks: current, pending, archived ones.
async fn playbooks(caller: &Caller) -> [Vec<String>; 3] {
    let mut found = [const { Vec::new() }; 3];
    for (found, status) in found.iter_mut().zip([json!(null), json!("pending"), json!("archived")]) {
        let body = json!({ "user_id": "ana", "limit": 1_000, "status_filter": [status] });
        *found = contents(&caller.ok("/api/get_user_playbooks", &body).await["user_playbooks"]);
    }
    found
}

fn names(groups: [&[&str]; 3]) -> [Vec<String>; 3] {
    groups.map(|group| group.iter().map(ToString::to_string).collect())
}

/// Ana and Bo have a version of each kind, Cy has nothing pending.
async fn populate(caller: &Caller) {
    for user in ["ana", "bo"] {
        for (status, word) in [(json!(null), "now"), (json!("pending"), "next"), (json!("archived"), "past")]
        {
            add_profiles(caller, user, status, &[&format!("{user} {word}")]).await;
        }
    }
    add_profiles(caller, "cy", json!(null), &["cy now"]).await;
    add_profiles(caller, "cy", json!("archived"), &["cy past"]).await;
}

#[tokio::test]
async fn an_upgrade_promotes_what_is_pending_archives_what_was_current_and_deletes_what_was_archived() {
    let site = Site::offline().await;
    populate(&site.acme).await;
    // Loaded before: the upgrade must be seen all the same.
    assert_eq!(profiles(&site.acme, "ana").await, names([&["ana now"], &["ana next"], &["ana past"]]));
    let answer = site.acme.ok(UPGRADE_PROFILES, &json!({})).await;
    let expected = json!({
        "success": true,
        "profiles_archived": 3,
        "profiles_promoted": 2,
        "profiles_deleted": 3,
        "message": "Upgraded: 2 promoted, 3 archived, 3 old archived deleted",
    });
    assert_eq!(answer, expected);
    for user in ["ana", "bo"] {
        let (now, next) = (format!("{user} now"), format!("{user} next"));
        assert_eq!(profiles(&site.acme, user).await, names([&[&next], &[], &[&now]]));
    }
    // As recorded: whoever has nothing pending is archived too, unless only affected users are asked for.
    assert_eq!(profiles(&site.acme, "cy").await, names([&[], &[], &["cy now"]]));
    let found = site.acme.ok("/api/search_profiles", &json!({ "user_id": "ana", "query": "ana" })).await;
    assert_eq!(contents(&found["user_profiles"]), ["ana next"]);
    // The id of a deleted profile is free again.
    add_profiles(&site.acme, "dee", json!(null), &["ana past"]).await;
    let again = site.acme.ok(UPGRADE_PROFILES, &json!({})).await;
    let nothing = json!({
        "success": false,
        "profiles_archived": 0,
        "profiles_promoted": 0,
        "profiles_deleted": 0,
        "message": NOTHING_PENDING,
    });
    assert_eq!(again, nothing);
}

#[tokio::test]
async fn a_downgrade_swaps_the_versions_and_a_second_one_swaps_them_back() {
    let site = Site::offline().await;
    populate(&site.acme).await;
    let before = profiles(&site.acme, "ana").await;
    let answer = site.acme.ok(DOWNGRADE_PROFILES, &json!({ "user_id": "ana" })).await;
    let expected = json!({
        "success": true,
        "profiles_demoted": 1,
        "profiles_restored": 1,
        "message": "Downgraded: 1 archived, 1 restored",
    });
    assert_eq!(answer, expected);
    assert_eq!(profiles(&site.acme, "ana").await, names([&["ana past"], &["ana next"], &["ana now"]]));
    site.acme.ok(DOWNGRADE_PROFILES, &json!({ "user_id": "ana" })).await;
    assert_eq!(profiles(&site.acme, "ana").await, before);
    let nobody = site.acme.ok(DOWNGRADE_PROFILES, &json!({ "user_id": "nobody" })).await;
    assert_eq!(nobody["message"], "No archived items found to restore");
}

#[tokio::test]
async fn users_without_pending_profiles_are_left_alone_when_only_affected_ones_are_asked_for() {
    let site = Site::offline().await;
    populate(&site.acme).await;
    let answer = site.acme.ok(UPGRADE_PROFILES, &json!({ "only_affected_users": true })).await;
    assert_eq!(answer["message"], "Upgraded: 2 promoted, 2 archived, 2 old archived deleted");
    assert_eq!(profiles(&site.acme, "cy").await, names([&["cy now"], &[], &["cy past"]]));
    add_profiles(&site.acme, "dee", json!(null), &["dee now"]).await;
    let answer = site.acme.ok(DOWNGRADE_PROFILES, &json!({ "only_affected_users": true })).await;
    assert_eq!(answer["message"], "Downgraded: 3 archived, 3 restored");
    assert_eq!(profiles(&site.acme, "dee").await, names([&["dee now"], &[], &[]]));
}

#[tokio::test]
async fn a_user_and_profile_ids_bound_every_step_of_a_change() {
    let site = Site::offline().await;
    populate(&site.acme).await;
    let answer = site.acme.ok(UPGRADE_PROFILES, &json!({ "user_id": "bo" })).await;
    assert_eq!(answer["message"], "Upgraded: 1 promoted, 1 archived, 1 old archived deleted");
    assert_eq!(profiles(&site.acme, "ana").await, names([&["ana now"], &["ana next"], &["ana past"]]));
    let ids = json!({ "profile_ids": ["ana next", "cy past", "unknown"] });
    let answer = site.acme.ok(UPGRADE_PROFILES, &ids).await;
    assert_eq!(answer["message"], "Upgraded: 1 promoted, 0 archived, 1 old archived deleted");
    assert_eq!(profiles(&site.acme, "ana").await, names([&["ana next", "ana now"], &[], &["ana past"]]));
    assert_eq!(profiles(&site.acme, "cy").await, names([&["cy now"], &[], &[]]));
    for body in [json!({ "profile_ids": [] }), json!({ "profile_ids": ["ana past"], "user_id": "bo" })] {
        assert_eq!(site.acme.ok(DOWNGRADE_PROFILES, &body).await["success"], false, "{body}");
    }
    let body = json!({ "profile_ids": ["ana past"], "user_id": "ana", "only_affected_users": true });
    assert_eq!(
        site.acme.ok(DOWNGRADE_PROFILES, &body).await["message"],
        "Downgraded: 0 archived, 1 restored"
    );
}

#[tokio::test]
async fn playbooks_change_by_agent_version_and_need_not_archive() {
    let site = Site::offline().await;
    for version in ["v1", "v2"] {
        add_playbook(&site.acme, version, json!(null), &format!("{version} now")).await;
        add_playbook(&site.acme, version, json!("pending"), &format!("{version} next")).await;
        add_playbook(&site.acme, version, json!("archived"), &format!("{version} past")).await;
    }
    let body = json!({ "agent_version": "v1", "playbook_name": null, "archive_current": true });
    let expected = json!({
        "success": true,
        "user_playbooks_deleted": 1,
        "user_playbooks_archived": 1,
        "user_playbooks_promoted": 1,
        "message": "Upgraded: 1 promoted, 1 archived, 1 old archived deleted",
    });
    assert_eq!(site.acme.ok(UPGRADE_PLAYBOOKS, &body).await, expected);
    let body = json!({ "agent_version": "v2", "archive_current": false });
    let answer = site.acme.ok(UPGRADE_PLAYBOOKS, &body).await;
    assert_eq!(answer["message"], "Upgraded: 1 promoted, 0 archived, 0 old archived deleted");
    let mut seen = playbooks(&site.acme).await;
    seen.iter_mut().for_each(|group| group.sort());
    assert_eq!(seen, names([&["v1 next", "v2 next", "v2 now"], &[], &["v1 now", "v2 past"]]));
    let answer = site.acme.ok(DOWNGRADE_PLAYBOOKS, &json!({ "agent_version": "v2" })).await;
    let expected = json!({
        "success": true,
        "user_playbooks_demoted": 2,
        "user_playbooks_restored": 1,
        "message": "Downgraded: 2 archived, 1 restored",
    });
    assert_eq!(answer, expected);
    // Lists and searches over all users follow at once.
    let query = json!({ "query": "now", "status_filter": [null] });
    let found = site.acme.ok("/api/search_user_playbooks", &query).await;
    assert_eq!(contents(&found["user_playbooks"]), Vec::<String>::new());
    let answer = site.acme.ok(DOWNGRADE_PLAYBOOKS, &json!({ "agent_version": "v3" })).await;
    let expected = json!({
        "success": false,
        "user_playbooks_demoted": 0,
        "user_playbooks_restored": 0,
        "message": "No archived items found to restore",
    });
    assert_eq!(answer, expected);
}

/// A preview, looked at, upgraded, regretted.
#[tokio::test]
async fn what_a_rerun_prepared_is_upgraded_and_the_version_before_can_be_restored() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let said = with(request("ana", "s1", "r1", &["fact: likes tea"]), json!({ "session_finished": true }));
    site.acme.publish(&said).await;
    site.learn().await;
    add_profiles(&site.acme, "ana", json!(null), &["by hand"]).await;
    let started = site.acme.ok("/api/rerun_profile_generation", &json!({})).await;
    assert_eq!(started["success"], true, "{started}");
    // While it makes rows, no version changes, and the other way round.
    let refused = site.acme.ok(DOWNGRADE_PROFILES, &json!({})).await;
    assert_eq!(refused["message"], "No archived items found to restore");
    add_profiles(&site.acme, "bo", json!("pending"), &["bo next"]).await;
    let refused = site.acme.ok(UPGRADE_PROFILES, &json!({})).await;
    let busy = "Failed to upgrade: another operation on these items is in progress";
    assert_eq!((&refused["success"], &refused["message"]), (&json!(false), &json!(busy)));
    site.operate().await;
    let [current, pending, _] = profiles(&site.acme, "ana").await;
    assert_eq!((current.len(), pending.len()), (2, 1), "{current:?} {pending:?}");
    let upgraded = site.acme.ok(UPGRADE_PROFILES, &json!({ "only_affected_users": true })).await;
    assert_eq!(upgraded["message"], "Upgraded: 2 promoted, 2 archived, 0 old archived deleted");
    assert_eq!(profiles(&site.acme, "ana").await, [pending.clone(), vec![], current.clone()]);
    site.acme.ok(DOWNGRADE_PROFILES, &json!({ "user_id": "ana" })).await;
    assert_eq!(profiles(&site.acme, "ana").await, [current, vec![], pending]);
}

#[tokio::test]
async fn a_rerun_is_refused_while_versions_change() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["I like tea"])).await;
    let (store, org) = (&site.deployment.app.services.store, "acme".parse().unwrap());
    let operation = VersionOperation {
        operation_id: "run".to_owned(),
        kind: LearningKind::Profile,
        change: VersionChange::UPGRADE,
        scope: RowScope::All,
        users: VersionUsers::All,
        only_affected_users: false,
        started_at: 0,
    };
    assert!(store.begin_version_operation(&org, &operation).await.unwrap());
    assert_eq!(site.acme.ok("/api/rerun_profile_generation", &json!({})).await["success"], false);
    // The other kind is another matter.
    let playbooks = site.acme.ok("/api/rerun_playbook_generation", &json!({ "agent_version": "" })).await;
    assert!(!playbooks["msg"].as_str().unwrap().contains("in progress"), "{playbooks}");
    // Nobody is at it: the sweep wakes it, and it ends.
    site.advance(600);
    site.sweep().await;
    assert!(site.operate().await >= 1);
    assert!(!store.version_progress(&org, LearningKind::Profile).await.unwrap().unwrap().is_active);
    assert_eq!(site.acme.ok("/api/rerun_profile_generation", &json!({})).await["success"], true);
}

#[tokio::test]
async fn a_change_of_one_organisation_leaves_another_with_the_same_ids_alone() {
    let site = Site::offline().await;
    let beta = site.caller("beta").await;
    for caller in [&site.acme, &beta] {
        populate(caller).await;
        add_playbook(caller, "v1", json!("pending"), "next").await;
    }
    let ids = json!({ "profile_ids": ["ana next"] });
    for (path, body) in [
        (UPGRADE_PROFILES, ids),
        (UPGRADE_PROFILES, json!({})),
        (DOWNGRADE_PROFILES, json!({ "user_id": "ana" })),
        (UPGRADE_PLAYBOOKS, json!({})),
    ] {
        assert_eq!(site.acme.ok(path, &body).await["success"], true, "{path}");
    }
    assert_eq!(profiles(&beta, "ana").await, names([&["ana now"], &["ana next"], &["ana past"]]));
    assert_eq!(profiles(&beta, "cy").await, names([&["cy now"], &[], &["cy past"]]));
    assert_eq!(playbooks(&beta).await, names([&[], &["next"], &[]]));
}

#[tokio::test]
async fn what_breaks_a_rule_is_named_and_changes_nothing() {
    let site = Site::offline().await;
    populate(&site.acme).await;
    add_playbook(&site.acme, "v1", json!("pending"), "next").await;
    let before = site.stored().await;
    let many = vec!["p"; 1_001];
    for (path, body, field) in [
        (UPGRADE_PROFILES, json!({ "user_id": "  " }), "user_id"),
        (DOWNGRADE_PROFILES, json!({ "user_id": 7 }), "user_id"),
        (UPGRADE_PROFILES, json!({ "profile_ids": "ana now" }), "profile_ids"),
        (UPGRADE_PROFILES, json!({ "profile_ids": [""] }), "profile_ids"),
        (DOWNGRADE_PROFILES, json!({ "profile_ids": many }), "profile_ids"),
        (UPGRADE_PROFILES, json!({ "only_affected_users": "perhaps" }), "only_affected_users"),
        (UPGRADE_PLAYBOOKS, json!({ "agent_version": "v".repeat(1_001) }), "agent_version"),
        (UPGRADE_PLAYBOOKS, json!({ "archive_current": [] }), "archive_current"),
        (DOWNGRADE_PLAYBOOKS, json!({ "playbook_name": 1 }), "playbook_name"),
    ] {
        let answer = site.acme.post(path, &body).await;
        assert_eq!(answer.status, 422, "{path} {field}");
        assert!(answer.body.to_string().contains(field), "{path}: {}", answer.body);
    }
    assert_eq!(site.stored().await, before);
}
