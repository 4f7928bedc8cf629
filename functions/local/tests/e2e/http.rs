//! What holds for every route: keys, methods, paths, headers.

use serde_json::json;

use crate::support::Site;

const PUBLIC: [&str; 9] = [
    "/",
    "/health",
    "/health/live",
    "/health/ready",
    "/healthz",
    "/meta/version",
    "/docs",
    "/redoc",
    "/openapi.json",
];

#[tokio::test]
async fn who_brings_no_key_reads_public_pages_and_nothing_else() {
    let site = Site::offline().await;
    let stranger = site.stranger();
    for (method, path) in api::ROUTES {
        let answer = stranger.send(method, path, Some(("application/json", b"{}".to_vec()))).await;
        if PUBLIC.contains(&path) {
            assert_eq!(answer.status, 200, "{path}");
        } else {
            assert_eq!(answer.status, 401, "{path}: {}", answer.body);
            assert_eq!(answer.body, json!({ "detail": "Authentication required" }), "{path}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer", "{path}");
        }
    }
    assert_eq!(stranger.send("GET", "/api/no_such_route", None).await.status, 401);
}

#[tokio::test]
async fn a_key_that_is_not_whole_opens_nothing() {
    let site = Site::offline().await;
    let key = site.acme.key().to_owned();
    let mut cut = key.clone();
    cut.pop();
    for wrong in [cut, format!("{key}0"), "rk_".to_owned(), key.to_uppercase()] {
        let caller = site.acme.with_key(&wrong);
        assert_eq!(caller.send("GET", "/api/whoami", None).await.status, 401, "{wrong}");
    }
    assert_eq!(site.acme.get("/api/whoami").await["org_id"], "acme");
}

#[tokio::test]
async fn a_path_that_is_not_there_is_not_found() {
    let site = Site::offline().await;
    for path in ["/api/no_such_route", "/api", "/api/search/profiles", "//health"] {
        let answer = site.acme.send("GET", path, None).await;
        assert_eq!((answer.status, &answer.body), (404, &json!({ "detail": "Not Found" })), "{path}");
    }
}

#[tokio::test]
async fn a_method_that_a_route_does_not_know_is_refused_with_those_it_knows() {
    let site = Site::offline().await;
    for (_, path) in api::ROUTES {
        let known: Vec<&str> =
            api::ROUTES.iter().filter(|(_, other)| *other == path).map(|(method, _)| *method).collect();
        let methods = ["DELETE", "PUT", "PATCH", "HEAD", "POST", "GET"];
        for wrong in methods.into_iter().filter(|method| !known.contains(method)) {
            let answer = site.acme.send(wrong, path, None).await;
            assert_eq!(answer.status, 405, "{wrong} {path}");
            assert_eq!(answer.headers["allow"], known.join(", "), "{wrong} {path}");
        }
    }
}

#[tokio::test]
async fn a_slash_too_many_leads_to_the_route_that_was_meant() {
    let site = Site::offline().await;
    for (method, path) in api::ROUTES.into_iter().filter(|(_, path)| *path != "/") {
        let path = path.replace('{', "a-").replace('}', "-b");
        let answer = site.acme.send(method, &format!("{path}/?a=1"), None).await;
        assert_eq!(answer.status, 307, "{path}");
        let location = answer.headers["location"].to_str().unwrap();
        assert!(location.ends_with(&format!("{path}?a=1")), "{location}");
    }
}

#[tokio::test]
async fn every_answer_carries_an_id_of_its_own_and_the_security_headers() {
    let site = Site::offline().await;
    let mut ids = std::collections::HashSet::new();
    for (caller, path) in [
        (&site.acme, "/api/whoami"),
        (&site.acme, "/api/no_such_route"),
        (&site.stranger(), "/api/whoami"),
        (&site.stranger(), "/health"),
    ] {
        let answer = caller.send("GET", path, None).await;
        assert!(ids.insert(answer.headers["x-correlation-id"].to_str().unwrap().to_owned()), "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(answer.headers["x-frame-options"], "DENY", "{path}");
    }
}
