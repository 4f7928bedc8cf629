//! The files of the repository, as the rules read them.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 7] =
    [".git", ".venv", ".retrospect", ".aws-sam", "target", "node_modules", "__pycache__"];
/// Folders of code that is compiled into no product.
const TEST_FOLDERS: [&str; 4] = ["tests", "testing", "examples", "benches"];

/// A text file.
pub(crate) struct File {
    /// Relative to the repository, with `/`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

/// The repository's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository").to_owned()
}

/// Every text file of ours, sorted by path.
pub(crate) fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be read") {
        let entry = entry.expect("a folder of the repository can be read");
        let name = entry.file_name().into_string().expect("file names are UTF-8");
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            if !FOREIGN.contains(&name.as_str()) {
                collect(&entry.path(), &format!("{path}/"), files);
            }
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            // What is not UTF-8 is an asset.
            files.push(File { path, text });
        }
    }
}

impl File {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is Rust that is compiled into a product. Of such a file, see [`Self::product_lines`].
    pub(crate) fn is_product(&self) -> bool {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let stem = name.trim_end_matches(".rs");
        self.is_rust()
            && (folder.starts_with("functions/") || folder.starts_with("shared/"))
            && folder.split('/').any(|part| part == "src")
            && !folder.split('/').any(|part| TEST_FOLDERS.contains(&part))
            && !TEST_FOLDERS.contains(&stem)
            && !stem.ends_with("_tests")
    }

    /// Lines with their numbers, from 1, without comments and without the tests at the end of the file.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut after_cfg_test = false;
        self.text
            .lines()
            .enumerate()
            .take_while(move |(_, line)| {
                let tests_begin = after_cfg_test && line.starts_with("mod ") && line.ends_with('{');
                after_cfg_test =
                    line.starts_with("#[cfg(test)]") || (after_cfg_test && line.starts_with("#["));
                !tests_begin
            })
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(index, line)| (index + 1, line))
    }

    /// The folder of the crate, as `shared/store`.
    pub(crate) fn crate_folder(&self) -> &str {
        let mut slashes = self.path.match_indices('/').map(|(at, _)| at);
        slashes.nth(1).map_or(&self.path, |at| &self.path[..at])
    }
}

/// Fails with every violation.
pub(crate) fn none(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n  {}", violations.join("\n  "));
}
