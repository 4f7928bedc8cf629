//! Keys of two organisations, and of numbers.

use domain::ids::UserId;

use super::*;

fn org(name: &str) -> OrgId {
    name.parse().unwrap()
}

#[test]
fn two_organisations_never_share_a_key() {
    let user = UserHash::of(&UserId::new("ana").unwrap());
    let (a, b) = (org("a"), org("b"));
    let keys = |org| {
        let keys = UserKeys { org, user: &user };
        vec![
            keys.head(),
            keys.lease(),
            keys.request(7),
            keys.user_playbook(7),
            request_lookup(org, &RequestId::new("r").unwrap()),
            session_member(org, &SessionId::new("s").unwrap(), &user),
            session_census(org, &SessionId::new("s").unwrap(), '0'),
            session_outcome(org, &SessionId::new("s").unwrap()),
            profile_lookup(org, &ProfileId::new("p").unwrap()),
            user_playbook_lookup(org, 7),
            version_mark(org, LearningKind::Profile, VersionMark::Pending, &user),
            version_operation(org, LearningKind::Profile),
            counter(org, "user"),
            org_api_key(org, "id#a"),
            AgentKeys { org, agent_version: "v1" }.aggregation(),
            AgentKeys { org, agent_version: "v1" }.agent_playbook(7),
            agent_version_entry(&AgentKeys { org, agent_version: "v1" }),
            agent_playbook_lookup(org, 7),
            aggregation_operation(org, "o"),
            aggregation_request(org, "r"),
        ]
    };
    for (left, right) in keys(&a).iter().zip(keys(&b)) {
        assert_ne!(left.pk(), right.pk());
    }
}

#[test]
fn the_look_up_of_a_row_follows_from_its_own_key() {
    let (org, user) = (org("a"), UserHash::of(&UserId::new("ana").unwrap()));
    let keys = UserKeys { org: &org, user: &user };
    let id = ProfileId::new("p").unwrap();
    let found = row_lookup(&org, LearningKind::Profile, keys.profile(&id).sk());
    assert_eq!(found, Some(profile_lookup(&org, &id)));
    let found = row_lookup(&org, LearningKind::Playbook, keys.user_playbook(70).sk());
    assert_eq!(found, Some(user_playbook_lookup(&org, 70)));
    assert_eq!(row_lookup(&org, LearningKind::Playbook, "HEAD"), None);
}

#[test]
fn text_order_of_positions_is_number_order() {
    let numbers = [0, 1, 9, 10, 99, 4_194_304, 999_999_999_999];
    let keys: Vec<_> = numbers.iter().map(|n| padded(*n)).collect();
    assert!(keys.is_sorted());
}
