//! The program itself, as an operator runs it: arguments, exit codes, what it prints where.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs `retrospect admin` on a data directory, without any variable of this machine.
fn admin(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrospect"));
    command.env_clear().args(["admin", "--data-dir"]).arg(data).args(arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_operator_invites_and_revokes_through_the_program() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str]| admin(folder.path(), arguments);
    let flags = r#"{"invitation_only": {"enabled": true}}"#;
    printed(&run(&["site-vars", "set", "feature_flags", flags]));
    assert_eq!(printed(&run(&["site-vars", "get", "feature_flags"])).trim(), flags);
    let without = refused(&run(&["org", "create", "Tea"]));
    assert!(without.contains("needs an invitation code"), "{without}");
    let codes = printed(&run(&["invitations", "generate", "--count", "2", "--expires-in-days", "30"]));
    assert_eq!(codes.lines().count(), 2, "{codes}");
    let code = codes.lines().next().unwrap();
    assert_eq!(printed(&run(&["org", "create", "Tea", "--invitation", code])), "tea\n");
    let list = printed(&run(&["invitations", "list", "--show-used"]));
    assert_eq!(list.lines().count(), 3, "{list}");
    let key = printed(&run(&["key", "create", "--org", "tea"]));
    let name = &key[..15];
    assert_eq!(printed(&run(&["key", "revoke", "--org", "tea", name])), format!("{name} is revoked\n"));
    assert!(printed(&run(&["key", "list", "--org", "tea"])).contains(name));
}

#[test]
fn numbers_out_of_bounds_are_refused_before_anything_is_opened() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    for arguments in [["--count", "0"], ["--count", "1001"], ["--expires-in-days", "0"]] {
        let output = admin(&data, &[&["invitations", "generate"], &arguments[..]].concat());
        assert!(refused(&output).contains(arguments[0]), "{output:?}");
    }
    assert!(!data.exists());
}
