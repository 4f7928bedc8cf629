//! API keys as operators see them: listed by name, taken back.

use crate::support::Site;

/// Creates a key of an organisation through the command.
async fn key(site: &Site, org: &str) -> String {
    site.admin(&["key", "create", "--org", org]).await.unwrap().trim().to_owned()
}

async fn site() -> Site {
    let site = Site::offline().await;
    for org in ["Tea", "Rum"] {
        site.admin(&["org", "create", org]).await.unwrap();
    }
    site
}

async fn status(site: &Site, key: &str) -> u16 {
    site.acme.with_key(key).send("GET", "/api/whoami", None).await.status
}

#[tokio::test]
async fn keys_are_listed_by_name_with_what_became_of_them() {
    let site = site().await;
    let first = key(&site, "tea").await;
    site.advance(60);
    let second = key(&site, "tea").await;
    key(&site, "rum").await;
    site.admin(&["key", "revoke", "--org", "tea", &first]).await.unwrap();
    let list = site.admin(&["key", "list", "--org", "tea"]).await.unwrap();
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(first.starts_with(lines[1][0]) && lines[1][2] != "-", "{list}");
    assert!(second.starts_with(lines[2][0]) && lines[2][2] == "-", "{list}");
    for key in [&first, &second] {
        let secret = key.rsplit('_').next().unwrap();
        assert!(!list.contains(secret), "{list}");
    }
}

#[tokio::test]
async fn a_revoked_key_admits_for_no_more_than_five_seconds() {
    let site = site().await;
    let (gone, kept) = (key(&site, "tea").await, key(&site, "tea").await);
    assert_eq!((status(&site, &gone).await, status(&site, &kept).await), (200, 200));
    site.admin(&["key", "revoke", "--org", "tea", &gone[..15]]).await.unwrap();
    site.advance(4);
    assert_eq!(status(&site, &gone).await, 200, "a warm process has looked just now");
    site.advance(1);
    assert_eq!((status(&site, &gone).await, status(&site, &kept).await), (401, 200));
}

#[tokio::test]
async fn a_key_is_named_by_itself_or_by_the_beginning_that_no_other_has() {
    let site = site().await;
    let own = key(&site, "tea").await;
    let short = site.admin(&["key", "revoke", "--org", "tea", &own[..6]]).await.unwrap_err();
    assert_eq!(short, "name the key by at least 7 characters");
    site.admin(&["key", "revoke", "--org", "tea", &own[..9]]).await.unwrap();
    // A second time changes nothing.
    let list = site.admin(&["key", "list", "--org", "tea"]).await.unwrap();
    site.advance(60);
    site.admin(&["key", "revoke", "--org", "tea", &own]).await.unwrap();
    assert_eq!(site.admin(&["key", "list", "--org", "tea"]).await.unwrap(), list);
}

#[tokio::test]
async fn a_key_of_another_organisation_is_not_found() {
    let site = site().await;
    let key = key(&site, "tea").await;
    for named in [&key, &key[..15], "rk_000000000000", "golden-secret"] {
        let refused = site.admin(&["key", "revoke", "--org", "rum", named]).await.unwrap_err();
        assert!(refused.starts_with("rum has no key of that name"), "{refused}");
    }
    assert_eq!(status(&site, &key).await, 200);
}
