//! Invitation codes: made once, shown once, used once.

use serde_json::json;

use crate::support::Site;

const REFUSED: &str =
    "creating an organisation needs an invitation code that is valid and was not used: --invitation CODE";
const DAY: u64 = 86_400;

async fn by_invitation() -> Site {
    let site = Site::offline().await;
    site.set_site_var("feature_flags", &json!({ "invitation_only": { "enabled": true } })).await;
    site
}

async fn codes(site: &Site, arguments: &[&str]) -> Vec<String> {
    let printed = site.admin(&[&["invitations", "generate"], arguments].concat()).await.unwrap();
    printed.lines().map(str::to_owned).collect()
}

async fn create(site: &Site, name: &str, code: &str) -> Result<String, String> {
    site.admin(&["org", "create", name, "--invitation", code]).await
}

#[tokio::test]
async fn codes_are_of_one_form_and_all_different() {
    let site = Site::offline().await;
    let mut codes = codes(&site, &["--count", "20"]).await;
    let form = regex::Regex::new(r"^[A-HJ-KM-NP-Z2-9]{4}(-[A-HJ-KM-NP-Z2-9]{4}){3}$").unwrap();
    assert!(codes.iter().all(|code| form.is_match(code)), "{codes:?}");
    codes.sort();
    codes.dedup();
    assert_eq!(codes.len(), 20);
    assert_eq!(self::codes(&site, &[]).await.len(), 1, "one when no number is said");
}

#[tokio::test]
async fn a_code_stands_nowhere_in_the_table() {
    let site = Site::offline().await;
    let code = codes(&site, &[]).await.remove(0);
    let plain = code.replace('-', "");
    for item in site.items().await {
        let text = format!("{item:?}");
        assert!(!text.contains(&code) && !text.contains(&plain), "{text}");
    }
}

#[tokio::test]
async fn where_invitations_are_needed_each_admits_one_organisation() {
    let site = by_invitation().await;
    let code = codes(&site, &[]).await.remove(0);
    assert_eq!(site.admin(&["org", "create", "Tea"]).await, Err(REFUSED.to_owned()));
    assert_eq!(create(&site, "Tea", &code.to_lowercase().replace('-', " ")).await, Ok("tea\n".to_owned()));
    assert_eq!(create(&site, "Rum", &code).await, Err(REFUSED.to_owned()));
    site.admin(&["key", "create", "--org", "tea"]).await.unwrap();
    let refused = site.admin(&["key", "create", "--org", "rum"]).await.unwrap_err();
    assert!(refused.starts_with("there is no organisation rum"), "{refused}");
}

#[tokio::test]
async fn every_code_of_no_use_is_refused_with_the_same_words() {
    let site = by_invitation().await;
    let old = codes(&site, &["--expires-in-days", "1"]).await.remove(0);
    site.advance(DAY);
    for code in ["", "nonsense", "ABCD-EFGH-JKMN-2345", &old] {
        assert_eq!(create(&site, "Tea", code).await, Err(REFUSED.to_owned()), "{code}");
    }
}

#[tokio::test]
async fn a_code_is_valid_until_its_last_second() {
    let site = by_invitation().await;
    let mut two = codes(&site, &["--count", "2", "--expires-in-days", "30"]).await;
    site.advance(30 * DAY - 1);
    assert_eq!(create(&site, "Tea", &two.remove(0)).await, Ok("tea\n".to_owned()));
    site.advance(1);
    assert_eq!(create(&site, "Rum", &two.remove(0)).await, Err(REFUSED.to_owned()));
}

#[tokio::test]
async fn a_name_that_is_taken_leaves_the_code_unused_and_no_code_tells_no_names() {
    let site = by_invitation().await;
    let mut two = codes(&site, &["--count", "2"]).await;
    create(&site, "Tea", &two.remove(0)).await.unwrap();
    let taken = create(&site, "tea!", &two[0]).await.unwrap_err();
    assert_eq!(taken, "there is an organisation with the id tea already");
    assert_eq!(create(&site, "Rum", &two[0]).await, Ok("rum\n".to_owned()));
    assert_eq!(create(&site, "Tea", &two[0]).await, Err(REFUSED.to_owned()));
}

#[tokio::test]
async fn of_many_at_once_a_code_admits_one() {
    let site = by_invitation().await;
    let code = codes(&site, &[]).await.remove(0);
    let names: Vec<String> = (0..8).map(|n| format!("org {n}")).collect();
    let created = futures::future::join_all(names.iter().map(|name| create(&site, name, &code))).await;
    assert_eq!(created.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{created:?}");
}

#[tokio::test]
async fn where_none_is_needed_a_code_is_left_unused() {
    let site = Site::offline().await;
    let code = codes(&site, &[]).await.remove(0);
    assert_eq!(create(&site, "Tea", &code).await, Ok("tea\n".to_owned()));
    assert!(site.admin(&["invitations", "list"]).await.unwrap().contains(&code[..4]));
}

#[tokio::test]
async fn the_list_shows_what_can_be_used_and_on_request_what_became_of_the_rest() {
    let site = by_invitation().await;
    let expired = codes(&site, &["--expires-in-days", "1"]).await.remove(0);
    let used = codes(&site, &[]).await.remove(0);
    create(&site, "Tea", &used).await.unwrap();
    site.advance(DAY);
    let unused = codes(&site, &["--expires-in-days", "2"]).await.remove(0);
    let list = site.admin(&["invitations", "list"]).await.unwrap();
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains(&unused[..4]), "{list}");
    let all = site.admin(&["invitations", "list", "--show-used"]).await.unwrap();
    let line = |code: &str| all.lines().find(|line| line.starts_with(&code[..4])).unwrap().to_owned();
    assert_eq!(all.lines().count(), 4, "{all}");
    assert!(line(&expired).contains(" expired "), "{all}");
    assert!(line(&unused).contains(" unused "), "{all}");
    let used = line(&used);
    assert!(used.contains(" used ") && used.ends_with(" tea"), "{all}");
}
