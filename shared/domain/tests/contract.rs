//! Recorded requests, with the answers that clients rely on.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

mod support;

use domain::config::Config;
use domain::errors::ApiError;
use domain::validation::read_json_body;
use serde_json::Value;

fn fixture(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn text<'v>(case: &'v Value, name: &str) -> &'v str {
    case[name].as_str().unwrap_or_default()
}

#[test]
fn every_recorded_refusal_is_given_word_for_word() {
    let mut wrong = Vec::new();
    for case in fixture(include_str!("fixtures/validation_cases.json")) {
        let bytes = match case.get("raw").and_then(Value::as_str) {
            Some(raw) => raw.as_bytes().to_vec(),
            None if case["body"].is_null() => Vec::new(),
            None => case["body"].to_string().into_bytes(),
        };
        let read = read_json_body(case["content_type"].as_str(), &bytes).map_err(ApiError::from);
        let answer =
            read.and_then(|body| support::parse(text(&case, "route"), text(&case, "query"), &body).unwrap());
        match answer {
            Err(error) if error.status == 422 && error.body["detail"] == case["detail"] => {}
            Err(error) => wrong.push(format!("{}: {} {}", case["name"], error.status, error.body)),
            Ok(()) => wrong.push(format!("{}: accepted", case["name"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recorded_request_is_accepted() {
    let mut wrong = Vec::new();
    for case in fixture(include_str!("fixtures/accepted_cases.json")) {
        if let Err(error) = support::parse(text(&case, "route"), text(&case, "query"), &case["body"]).unwrap()
        {
            wrong.push(format!("{}: {}", case["name"], error.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_route_has_recorded_requests() {
    let texts =
        [include_str!("fixtures/validation_cases.json"), include_str!("fixtures/accepted_cases.json")];
    let cases: Vec<Value> = texts.into_iter().flat_map(fixture).collect();
    for route in support::ROUTES.into_iter().filter(|route| *route != "finalize_session") {
        assert!(cases.iter().any(|case| text(case, "route") == route), "{route}");
    }
}

#[test]
fn the_default_configuration_is_spelt_as_recorded() {
    let recorded: Value = serde_json::from_str(include_str!("fixtures/default_config.json")).unwrap();
    let config = Config::default();
    // Compared as text, so that the order of the members counts too.
    assert_eq!(
        serde_json::to_string_pretty(&config.to_wire()).unwrap(),
        serde_json::to_string_pretty(&recorded).unwrap()
    );
}
