//! What crates may depend on, and how they are built.

use std::process::Command;

use serde_json::Value;

use crate::tree::{none, root};

/// The crates from the lowest layer up. A crate knows only crates of layers below its own.
const LAYERS: [&[&str]; 9] = [
    &["clustering", "domain"],
    &["offline", "prompts", "search"],
    &["llm", "store", "wake"],
    &["learning", "recall"],
    &["evaluation"],
    &["runtime"],
    &["aggregate", "api", "evaluate", "learn", "operate", "sweep"],
    &["retrospect"],
    &["bench", "suites"],
];
/// Who speaks to AWS.
const AWS: [&str; 5] = ["llm", "retrospect", "runtime", "store", "wake"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Pairs of a crate and one of its dependencies, those of tests included.
fn dependencies(metadata: &Value) -> Vec<(&str, &Value)> {
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    packages
        .iter()
        .flat_map(|package| {
            let name = package["name"].as_str().expect("a package has a name");
            package["dependencies"].as_array().into_iter().flatten().map(move |dependency| (name, dependency))
        })
        .collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|crates| crates.contains(&name))
}

#[test]
fn every_crate_has_a_layer() {
    let metadata = metadata();
    let names =
        metadata["packages"].as_array().into_iter().flatten().filter_map(|package| package["name"].as_str());
    let homeless: Vec<_> = names.filter(|name| layer(name).is_none()).map(str::to_owned).collect();
    none("name its layer in tests/tidy/crates.rs", &homeless);
}

#[test]
fn dependencies_point_downwards_only() {
    let metadata = metadata();
    let upward: Vec<_> = dependencies(&metadata)
        .into_iter()
        .filter_map(|(name, dependency)| Some((name, dependency["name"].as_str()?)))
        .filter(|(name, dependency)| layer(dependency).is_some_and(|below| layer(name) <= Some(below)))
        .map(|(name, dependency)| format!("{name} must not know {dependency}"))
        .collect();
    none("a crate knows only lower layers", &upward);
}

#[test]
fn only_the_crates_that_own_a_connection_depend_on_the_aws_sdk() {
    let metadata = metadata();
    let intruders: Vec<_> = dependencies(&metadata)
        .into_iter()
        .filter_map(|(name, dependency)| Some((name, dependency["name"].as_str()?)))
        .filter(|(name, dependency)| dependency.starts_with("aws-sdk-") && !AWS.contains(name))
        .map(|(name, dependency)| format!("{name} depends on {dependency}"))
        .collect();
    none("aws-sdk crates belong to store, wake, llm, runtime and the local cloud", &intruders);
}

#[test]
fn every_foreign_dependency_is_pinned() {
    let metadata = metadata();
    let loose: Vec<_> = dependencies(&metadata)
        .into_iter()
        .filter(|(_, dependency)| dependency["path"].is_null())
        .filter(|(_, dependency)| !dependency["req"].as_str().is_some_and(|version| version.starts_with('=')))
        .map(|(name, dependency)| format!("{name}: {} {}", dependency["name"], dependency["req"]))
        .collect();
    none("versions are exact", &loose);
}

#[test]
fn sam_builds_with_the_profile_lambda() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    let profile = manifest.split("[profile.lambda]\n").nth(1).expect("there is a profile lambda");
    let mut wanted: Vec<_> = profile
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.contains('=') && !line.starts_with('#') && !line.starts_with("inherits"))
        .map(|line| format!("profile.release.{}", line.replace(" = ", "=")))
        .collect();
    let metadata = metadata();
    let build = &metadata["metadata"]["lambda"]["build"];
    let mut got: Vec<_> = build["config"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|line| line.as_str().map(str::to_owned))
        .collect();
    wanted.sort();
    got.sort();
    assert_eq!(got, wanted, "[workspace.metadata.lambda.build] config says what [profile.lambda] says");
}
