//! What makes a bank unfit, and that ours is not.

use super::*;

const METADATA: &str = r#"{"prompt_id":"greet","description":"d","active_version":"1.0.0","versions":{
    "1.0.0":{"file":"1.0.0.prompt","active":true,"variables":["name"],"changelog":"first"}}}"#;

fn load(metadata: &str, files: &[(&'static str, &'static str)]) -> Result<PromptBank, String> {
    let mut folder: PromptFolder<'_> = files.iter().copied().collect();
    folder.insert("metadata.json", metadata);
    PromptBank::load(&BTreeMap::from([("greet", folder)])).map_err(|error| error.to_string())
}

fn fault(metadata: &str, files: &[(&'static str, &'static str)]) -> String {
    load(metadata, files).map(|_| ()).unwrap_err()
}

#[test]
fn the_compiled_in_bank_is_fit() {
    let bank = PromptBank::builtin();
    assert!(bank.ids().count() >= 11);
    for id in bank.ids() {
        assert!(bank.active_version(id).is_some(), "{id}");
    }
}

#[test]
fn a_folder_whose_metadata_names_another_prompt_is_refused() {
    let text = fault(&METADATA.replace("greet", "other"), &[("1.0.0.prompt", "{{ name }}")]);
    assert_eq!(text, "prompt greet: metadata.json speaks of other");
}

#[test]
fn a_version_without_its_file_is_refused() {
    assert_eq!(fault(METADATA, &[]), "prompt greet: 1.0.0.prompt is missing");
}

#[test]
fn a_file_without_its_version_is_refused() {
    let text = fault(METADATA, &[("1.0.0.prompt", "{{ name }}"), ("2.0.0.prompt", "{{ name }}")]);
    assert_eq!(text, "prompt greet: 2.0.0.prompt belongs to no version");
}

#[test]
fn variables_must_be_declared_and_used() {
    let unused = fault(METADATA, &[("1.0.0.prompt", "hello")]);
    assert!(unused.contains("uses {} but declares {\"name\"}"), "{unused}");
    let undeclared = fault(METADATA, &[("1.0.0.prompt", "{{ name }} {{ age }}")]);
    assert!(undeclared.contains("uses {\"age\", \"name\"}"), "{undeclared}");
}

#[test]
fn an_active_version_that_is_not_the_highest_is_refused() {
    let metadata = METADATA.replace("\"active_version\":\"1.0.0\"", "\"active_version\":\"0.9.0\"");
    let text = fault(&metadata, &[("1.0.0.prompt", "{{ name }}")]);
    assert!(text.ends_with("active_version is 0.9.0 but the highest active version is 1.0.0"), "{text}");
}

#[test]
fn a_template_that_cannot_be_parsed_is_refused() {
    assert!(fault(METADATA, &[("1.0.0.prompt", "{{ name")]).starts_with("prompt greet: 1.0.0.prompt: "));
}

#[test]
fn an_unknown_field_in_the_metadata_is_refused() {
    let text =
        fault(&METADATA.replace("\"description\"", "\"descripton\""), &[("1.0.0.prompt", "{{ name }}")]);
    assert!(text.contains("metadata.json"), "{text}");
}
