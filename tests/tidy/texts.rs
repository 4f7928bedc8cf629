//! What no text of the repository mentions.

use regex::Regex;

use crate::tree::{files, none};

#[test]
fn nothing_names_a_place_on_somebodys_machine() {
    // In pieces, so that this file does not break the rule.
    let homes = ["work", "root", "home", "Users"].join("|");
    let pattern =
        Regex::new(&format!(r#"(^|[\s"'`(=:])/({homes})/[A-Za-z0-9._-]"#)).expect("the pattern is valid");
    let mut places = Vec::new();
    for file in files() {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            places.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
        }
    }
    none("a path of one machine means nothing on another", &places);
}

#[test]
fn only_the_replay_looks_beside_the_repository() {
    let outside = Regex::new(r"\.\./shared/(contract|spec|data|embedding|seeds|[a-z_]+\.md)\b")
        .expect("the pattern is valid");
    let allowed = "tests/compat/run.sh";
    let mut places = Vec::new();
    for file in files().iter().filter(|file| file.path != allowed) {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| outside.is_match(line)) {
            places.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
        }
    }
    none("the repository stands alone", &places);
}
