//! Loading the bank, and everything that is checked about it before the first prompt is rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use sha2::{Digest, Sha256};

use crate::blocks;
use crate::metadata::Metadata;

/// File names of templates end so.
pub const TEMPLATE_SUFFIX: &str = ".prompt";

static BUILTIN_FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../prompt_bank");
static BUILTIN: LazyLock<Result<PromptBank, BankError>> =
    LazyLock::new(|| PromptBank::load(&prompt_folders(&BUILTIN_FILES)));

/// Why a bank is unfit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("prompt {prompt_id}: {fault}")]
pub struct BankError {
    /// The folder at fault.
    pub prompt_id: String,
    /// What is wrong with it.
    pub fault: String,
}

/// One folder of the bank: the files by name.
pub type PromptFolder<'a> = BTreeMap<&'a str, &'a str>;

/// All prompts with their versions.
#[derive(Debug)]
pub struct PromptBank {
    pub(crate) prompts: BTreeMap<String, Prompt>,
    pub(crate) templates: Environment<'static>,
}

/// One prompt.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) metadata: Metadata,
    /// Hex SHA-256 of each version's template.
    pub(crate) digests: BTreeMap<String, String>,
}

impl PromptBank {
    /// The bank that was compiled in.
    ///
    /// # Panics
    /// When the bank in the repository is unfit, which a test of this crate excludes.
    #[must_use]
    pub fn builtin() -> &'static Self {
        match &*BUILTIN {
            Ok(bank) => bank,
            Err(error) => panic!("the compiled-in prompt bank is unfit: {error}"),
        }
    }

    /// Loads and checks a bank: every folder's metadata, files, versions and variables.
    ///
    /// # Errors
    /// The first fault found.
    pub fn load(folders: &BTreeMap<&str, PromptFolder<'_>>) -> Result<Self, BankError> {
        let mut bank = Self { prompts: BTreeMap::new(), templates: environment() };
        for (prompt_id, files) in folders {
            let prompt = load_prompt(prompt_id, files, &mut bank.templates)
                .map_err(|fault| BankError { prompt_id: (*prompt_id).into(), fault })?;
            bank.prompts.insert((*prompt_id).into(), prompt);
        }
        Ok(bank)
    }

    /// All prompt ids in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.prompts.keys().map(String::as_str)
    }

    /// The version that is used when none is named.
    #[must_use]
    pub fn active_version(&self, prompt_id: &str) -> Option<&str> {
        self.prompts.get(prompt_id)?.metadata.highest_active()
    }

    /// All versions of a prompt in the order of their names.
    #[must_use]
    pub fn versions(&self, prompt_id: &str) -> Vec<&str> {
        let prompt = self.prompts.get(prompt_id);
        prompt.map(|prompt| prompt.metadata.versions.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}

/// The name of a version's template in the environment.
pub(crate) fn template_name(prompt_id: &str, version: &str) -> String {
    format!("{prompt_id}@{version}")
}

/// A line that holds only a `{% … %}` leaves no empty line behind.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder().trim_blocks(true).build().unwrap_or_default()
}

fn environment() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_syntax(syntax());
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_formatter(|out, _, value| {
        if value.is_undefined() {
            return Err(minijinja::ErrorKind::UndefinedError.into());
        }
        if !value.is_none() {
            out.write_str(&value.to_string())?;
        }
        Ok(())
    });
    templates.add_filter("block", |value: &minijinja::Value, name: &str| blocks::block(value, name));
    templates
}

fn load_prompt(
    prompt_id: &str,
    files: &PromptFolder<'_>,
    templates: &mut Environment<'static>,
) -> Result<Prompt, String> {
    let json = files.get("metadata.json").ok_or("metadata.json is missing")?;
    let metadata: Metadata = serde_json::from_str(json).map_err(|error| format!("metadata.json: {error}"))?;
    check_metadata(prompt_id, &metadata, files)?;
    let mut digests = BTreeMap::new();
    for (version, about) in &metadata.versions {
        let source = *files.get(about.file.as_str()).ok_or_else(|| format!("{} is missing", about.file))?;
        let name = template_name(prompt_id, version);
        templates
            .add_template_owned(name.clone(), source.trim_end().to_owned())
            .map_err(|error| format!("{}: {error}", about.file))?;
        let template = templates.get_template(&name).map_err(|error| error.to_string())?;
        let placeholders: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        if placeholders != about.variables {
            return Err(format!("{} uses {placeholders:?} but declares {:?}", about.file, about.variables));
        }
        digests.insert(version.clone(), hex::encode(Sha256::digest(source.as_bytes())));
    }
    Ok(Prompt { metadata, digests })
}

fn check_metadata(prompt_id: &str, metadata: &Metadata, files: &PromptFolder<'_>) -> Result<(), String> {
    if metadata.prompt_id != prompt_id {
        return Err(format!("metadata.json speaks of {}", metadata.prompt_id));
    }
    if metadata.description.trim().is_empty() {
        return Err("the description is blank".into());
    }
    if metadata.highest_active() != Some(metadata.active_version.as_str()) {
        return Err(format!(
            "active_version is {} but the highest active version is {}",
            metadata.active_version,
            metadata.highest_active().unwrap_or("none")
        ));
    }
    let declared: BTreeSet<&str> = metadata.versions.values().map(|about| about.file.as_str()).collect();
    let stray = files.keys().find(|file| file.ends_with(TEMPLATE_SUFFIX) && !declared.contains(**file));
    match stray {
        Some(file) => Err(format!("{file} belongs to no version")),
        None => Ok(()),
    }
}

fn prompt_folders<'a>(root: &'a Dir<'a>) -> BTreeMap<&'a str, PromptFolder<'a>> {
    let name =
        |path: &'a std::path::Path| path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    root.dirs()
        .map(|folder| {
            let files = folder
                .files()
                .map(|file| (name(file.path()), file.contents_utf8().unwrap_or_default()))
                .collect();
            (name(folder.path()), files)
        })
        .collect()
}

#[cfg(test)]
#[path = "bank_tests.rs"]
mod tests;
