//! Rules as operators see them, with the words that they were learned from.

use serde_json::json;

use crate::script::{attentive_model, provider};
use crate::support::{Site, request, with};

/// Two users with a rule each, of two versions of the agent.
async fn site() -> Site {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    for (user, version, rule) in [("ana", "v1", "be brief"), ("bo", "v2", "use euros")] {
        let turns = ["hello".to_owned(), format!("rule: {rule}")];
        let said: Vec<&str> = turns.iter().map(String::as_str).collect();
        let more = json!({ "session_finished": true, "agent_version": version });
        site.acme.publish(&with(request(user, user, user, &said), more)).await;
        site.learn().await;
    }
    site
}

async fn show(site: &Site, more: &[&str]) -> String {
    site.admin(&[&["playbooks", "show", "--org", "acme"], more].concat()).await.unwrap()
}

#[tokio::test]
async fn rules_are_printed_with_what_they_hold() {
    let site = site().await;
    let printed = show(&site, &[]).await;
    let first = printed.lines().next().unwrap();
    assert_eq!(first, "user playbook 1  user ana  agent v1  created 2025-06-16T10:00:00Z  current");
    for line in
        ["  trigger     When it comes to be brief", "  content     use euros", "  learned of  1 interactions"]
    {
        assert!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }
    assert!(!printed.contains("rule: "), "no interaction unless it is asked for: {printed}");
}

#[tokio::test]
async fn rules_are_narrowed_to_a_user_and_a_version_of_the_agent() {
    let site = site().await;
    let rules = |printed: &str| printed.lines().filter(|line| line.starts_with("user playbook ")).count();
    assert_eq!(rules(&show(&site, &[]).await), 2);
    for (more, kept) in [
        (&["--user", "ana"][..], "be brief"),
        (&["--agent-version", "v2"][..], "use euros"),
        (&["--user", "bo", "--agent-version", "v2"][..], "use euros"),
    ] {
        let printed = show(&site, more).await;
        assert!(rules(&printed) == 1 && printed.contains(kept), "{more:?}: {printed}");
    }
    for more in [&["--user", "cy"][..], &["--user", "ana", "--agent-version", "v2"][..]] {
        assert_eq!(show(&site, more).await, "no playbook\n", "{more:?}");
    }
    let other = site.admin(&["playbooks", "show", "--org", "beta"]).await.unwrap();
    assert_eq!(other, "no playbook\n");
}

#[tokio::test]
async fn the_interactions_that_a_rule_was_learned_from_are_printed_on_request() {
    let site = site().await;
    let printed = show(&site, &["--with-interactions", "--user", "ana"]).await;
    let said: Vec<&str> = printed.lines().filter(|line| line.contains("User: ")).collect();
    assert_eq!(said.len(), 1, "{printed}");
    assert!(said[0].ends_with("2025-06-16T10:00:00Z  User: rule: be brief"), "{printed}");
}
