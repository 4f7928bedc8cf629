//! Lists that are kept in two places say the same.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;
use serde_json::Value;

use crate::tree::{files, root};

type Names = BTreeSet<String>;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the groups of the pattern catch in the text, joined by a space.
fn caught(pattern: &str, text: &str) -> Names {
    let pattern = Regex::new(pattern).expect("the pattern is valid");
    let joined = |captures: regex::Captures<'_>| {
        let groups: Vec<_> =
            captures.iter().skip(1).flatten().map(|group| group.as_str().to_uppercase()).collect();
        groups.join(" ")
    };
    pattern.captures_iter(text).map(joined).collect()
}

#[test]
fn the_router_its_list_and_the_open_api_document_name_the_same_routes() {
    let routes = read("functions/api/src/routes/mod.rs");
    let listed = caught(r#"\("([A-Z]+)", "(/[^"]*)"\)"#, &routes);
    assert!(listed.len() > 20, "only {} routes found", listed.len());
    let served = caught(r#"\.route\("(/[^"]*)", ([a-z]+)\("#, &routes);
    let served: Names =
        served.iter().filter_map(|route| route.split_once(' ')).map(|(p, m)| format!("{m} {p}")).collect();
    assert_eq!(served, listed, "the router and ROUTES");

    let document: Value =
        serde_json::from_str(&read("functions/api/src/openapi.json")).expect("openapi.json is JSON");
    let mut described = Names::new();
    for (path, operations) in document["paths"].as_object().expect("the document has paths") {
        for method in operations.as_object().into_iter().flat_map(|operations| operations.keys()) {
            described.insert(format!("{method} {path}").to_uppercase());
        }
    }
    assert_eq!(described, listed, "openapi.json and ROUTES");
}

#[test]
fn the_prompts_of_the_bank_are_those_that_the_code_renders() {
    let entries = fs::read_dir(root().join("prompt_bank")).expect("there is a prompt bank");
    let bank: Names = entries
        .map(|entry| entry.expect("the prompt bank can be read"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().to_uppercase())
        .collect();
    let code: String = files()
        .iter()
        .filter(|file| file.is_product() && file.crate_folder() != "shared/prompts")
        .flat_map(|file| file.product_lines().map(|(_, line)| format!("{line}\n")).collect::<Vec<_>>())
        .collect();
    let rendered = caught(r#"\brender\(\s*"([a-z_]+)""#, &code);
    assert_eq!(rendered, bank, "rendered by the code, and in the bank");
}
