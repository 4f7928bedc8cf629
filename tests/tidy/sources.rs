//! What Rust files may say, and how long they may be.

use regex::Regex;

use crate::tree::{File, files, none};

/// Lines of a file that needs no reason for its length.
const FILE_LINES_MAX: usize = 400;
/// How a longer file gives its reason, in the documentation at its head.
const REASON: &str = "//! Over 400 lines";
/// Lines of the `main.rs` of a function.
const MAIN_LINES_MAX: usize = 59;

/// Places in products that match the pattern, outside the crates named.
fn found(pattern: &str, except: &[&str]) -> Vec<String> {
    let pattern = Regex::new(pattern).expect("a pattern of a rule is valid");
    let is_judged = |file: &File| file.is_product() && !except.contains(&file.crate_folder());
    let mut places = Vec::new();
    for file in files().iter().filter(|file| is_judged(file)) {
        for (number, line) in file.product_lines().filter(|(_, line)| pattern.is_match(line)) {
            places.push(format!("{}:{number}: {}", file.path, line.trim()));
        }
    }
    places
}

#[test]
fn products_are_judged_and_their_tests_are_not() {
    let files = files();
    let products = files.iter().filter(|file| file.is_product()).count();
    assert!(products > 100, "only {products} files of products found");
    let main = files
        .iter()
        .find(|file| file.path == "functions/local/src/main.rs")
        .expect("the program has a main.rs");
    assert!(main.is_product() && main.crate_folder() == "functions/local");

    let file = |path: &str| File { path: path.to_owned(), text: String::new() };
    for test in [
        "shared/a/src/tests.rs",
        "shared/a/src/b/tests/c.rs",
        "shared/a/src/b_tests.rs",
        "shared/a/tests/b.rs",
    ] {
        assert!(!file(test).is_product(), "{test}");
    }
    let text = "a();\n// b();\n#[cfg(test)]\nmod inner;\nc();\n#[cfg(test)]\nmod tests {\nd();\n}\n";
    let file = File { path: "shared/a/src/b.rs".to_owned(), text: text.to_owned() };
    let lines: Vec<_> = file.product_lines().map(|(number, _)| number).collect();
    assert_eq!(lines, [1, 3, 4, 5, 6], "no comment, no test");
}

#[test]
fn time_chance_and_environment_come_from_the_runtime_alone() {
    let pattern = r"SystemTime::now|Uuid::new_v4|\benv::(var|set_var|remove_var)|Zoned::now|Timestamp::now";
    none("take it from App", &found(pattern, &["shared/runtime", "functions/local"]));
}

#[test]
fn only_the_program_prints() {
    none("log instead", &found(r"\b(e?print(ln)?|dbg)!", &["shared/runtime", "functions/local"]));
}

#[test]
fn keys_and_attributes_of_the_table_are_named_in_the_store_alone() {
    let pattern = r#""([A-Z]{1,3}#|(PK|SK|btpk|btsk|duepk|dueat|by_time)")"#;
    none("ask the store", &found(pattern, &["shared/store"]));
}

#[test]
fn nothing_is_left_to_be_done_later() {
    let pattern = Regex::new(r"\b(todo|unimplemented)!\(|#\[ignore").expect("the pattern is valid");
    let mut places = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            places.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
        }
    }
    none("finish it", &places);
}

#[test]
fn a_long_file_gives_its_reason() {
    let long: Vec<_> = files()
        .iter()
        .filter(|file| file.is_rust() && file.text.lines().count() > FILE_LINES_MAX)
        .filter(|file| {
            !file.text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.starts_with(REASON))
        })
        .map(|file| format!("{}: {} lines", file.path, file.text.lines().count()))
        .collect();
    none(&format!("split it, or begin a paragraph of its head with \"{REASON}\" and the reason"), &long);
}

#[test]
fn the_functions_only_translate_their_events() {
    let long: Vec<_> = files()
        .iter()
        .filter(|file| file.path.starts_with("functions/") && file.path.ends_with("/src/main.rs"))
        .filter(|file| file.crate_folder() != "functions/local" && file.text.lines().count() > MAIN_LINES_MAX)
        .map(|file| format!("{}: {} lines", file.path, file.text.lines().count()))
        .collect();
    none("a function's main.rs builds the application and hands it the event", &long);
}
