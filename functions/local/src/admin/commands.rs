//! The commands of `retrospect admin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use domain::invitations::{INVITATION_DAYS_MAX, INVITATIONS_MAX};

/// What operators do: to a stopped local server, or to a deployment by the name of its table.
#[derive(Debug, Clone, Args)]
pub struct AdminOptions {
    /// Where data live.
    #[arg(long, default_value = "./.retrospect", env = "RETROSPECT_DATA_DIR", global = true)]
    pub data_dir: PathBuf,
    /// The table of a deployment (stack output TableName), reached with the usual AWS credentials.
    #[arg(long, global = true)]
    pub table: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub command: AdminCommand,
}

/// What an operator does.
#[derive(Debug, Clone, Subcommand)]
pub enum AdminCommand {
    /// Organisations.
    #[command(subcommand)]
    Org(OrgCommand),
    /// API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Codes that admit new organisations while the flag `invitation_only` is on.
    #[command(subcommand)]
    Invitations(InvitationCommand),
    /// Variables of the whole deployment: feature flags, default models.
    #[command(subcommand)]
    SiteVars(SiteVarCommand),
    /// Shows every feature flag that is set, as it is for an organisation.
    Flags {
        /// The organisation.
        #[arg(long)]
        org: String,
    },
    /// Configurations of organisations, as they were.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Rules that were learned.
    #[command(subcommand)]
    Playbooks(PlaybooksCommand),
    /// Replays an extraction against the configured model, writes nothing, and shows where the time goes.
    ReproduceTimeout(ReproduceTimeout),
}

/// Organisations.
#[derive(Debug, Clone, Subcommand)]
pub enum OrgCommand {
    /// Creates an organisation; prints its id.
    Create {
        /// Its name; the id is made of it.
        name: String,
        /// An invitation code; needed while the flag `invitation_only` is on.
        #[arg(long)]
        invitation: Option<String>,
    },
}

/// API keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyCommand {
    /// Creates a key; prints it once, since only its hash is stored.
    Create {
        /// The organisation it admits to.
        #[arg(long)]
        org: String,
    },
    /// Lists the keys of an organisation, by the names that `revoke` takes.
    List {
        /// The organisation.
        #[arg(long)]
        org: String,
    },
    /// Takes a key back; it admits nobody after five seconds.
    Revoke {
        /// The organisation it admits to.
        #[arg(long)]
        org: String,
        /// The key, or its name in the list, or enough of the beginning of that.
        key: String,
    },
}

/// Invitation codes.
#[derive(Debug, Clone, Subcommand)]
pub enum InvitationCommand {
    /// Makes codes; prints each once, since only its hash is stored.
    Generate {
        /// How many.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVITATIONS_MAX)))]
        count: u32,
        /// For how long they are valid; for ever when it is not said.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVITATION_DAYS_MAX)))]
        expires_in_days: Option<u32>,
    },
    /// Lists the codes that can be used, by their first characters.
    List {
        /// Those too that were used or are no longer valid.
        #[arg(long)]
        show_used: bool,
    },
}

/// Variables of the deployment.
#[derive(Debug, Clone, Subcommand)]
pub enum SiteVarCommand {
    /// Prints a variable.
    Get {
        /// Its key, such as `feature_flags`.
        key: String,
    },
    /// Sets a variable. Running processes follow within a minute.
    Set {
        /// Its key: `feature_flags`, `llm_model_setting`, or one of your own.
        key: String,
        /// Its value: JSON, or plain text.
        #[arg(required_unless_present = "file", conflicts_with = "file")]
        value: Option<String>,
        /// A file that holds the value.
        #[arg(long)]
        file: Option<PathBuf>,
    },
    /// Lists the variables that are set.
    List,
}

/// Configurations.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Lists the versions that are kept, newest first.
    History {
        /// The organisation.
        #[arg(long)]
        org: String,
    },
    /// Makes an earlier version the current one, as a new version. Experiments stay as they are.
    Restore {
        /// The organisation.
        #[arg(long)]
        org: String,
        /// Which version.
        #[arg(long)]
        version: i64,
    },
}

/// Rules that were learned.
#[derive(Debug, Clone, Subcommand)]
pub enum PlaybooksCommand {
    /// Prints them, oldest first.
    Show(PlaybooksShow),
}

/// Which rules to print.
#[derive(Debug, Clone, Args)]
pub struct PlaybooksShow {
    /// The organisation.
    #[arg(long)]
    pub org: String,
    /// Only those of this version of the agent.
    #[arg(long)]
    pub agent_version: Option<String>,
    /// Only those of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// The interactions too that each was learned from.
    #[arg(long)]
    pub with_interactions: bool,
}

/// What to replay.
#[derive(Debug, Clone, Args)]
pub struct ReproduceTimeout {
    /// Where the prompts come from.
    #[arg(long, value_enum)]
    pub mode: TimeoutMode,
    /// The organisation whose models are asked.
    #[arg(long)]
    pub org: String,
    /// The user whose last window is replayed.
    #[arg(long, required_if_eq("mode", "storage"))]
    pub user: Option<String>,
    /// What is extracted.
    #[arg(long, value_enum, default_value_t = ReplayedKind::Profile)]
    pub kind: ReplayedKind,
    /// A file of captured prompts: one JSON object a line, `{"purpose": …, "messages": [{"role", "content"}]}`, or the
    /// body of a request in OpenAI's format.
    #[arg(long, required_if_eq("mode", "log"))]
    pub file: Option<PathBuf>,
}

/// Where prompts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimeoutMode {
    /// They are made of stored interactions, as extraction makes them.
    Storage,
    /// They stand in a file.
    Log,
}

/// What is extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayedKind {
    /// Profiles.
    Profile,
    /// User playbooks.
    Playbook,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn accepts(arguments: &[&str]) -> bool {
        Cli::try_parse_from([&["retrospect", "admin"], arguments].concat()).is_ok()
    }

    #[test]
    fn codes_are_made_up_to_the_limits_and_not_beyond() {
        let number = |number: u32| number.to_string();
        let counts = [(0, false), (1, true), (INVITATIONS_MAX - 1, true), (INVITATIONS_MAX, true)];
        for (count, ok) in counts.into_iter().chain([(INVITATIONS_MAX + 1, false)]) {
            assert_eq!(accepts(&["invitations", "generate", "--count", &number(count)]), ok, "{count}");
        }
        let days = [(0, false), (1, true), (INVITATION_DAYS_MAX - 1, true), (INVITATION_DAYS_MAX, true)];
        for (days, ok) in days.into_iter().chain([(INVITATION_DAYS_MAX + 1, false)]) {
            assert_eq!(
                accepts(&["invitations", "generate", "--expires-in-days", &number(days)]),
                ok,
                "{days}"
            );
        }
    }

    #[test]
    fn a_replay_needs_a_user_or_a_file() {
        let replay = |more: &[&str]| accepts(&[&["reproduce-timeout", "--org", "acme"], more].concat());
        assert!(replay(&["--mode", "storage", "--user", "ana"]));
        assert!(replay(&["--mode", "storage", "--user", "ana", "--kind", "playbook"]));
        assert!(replay(&["--mode", "log", "--file", "prompts.jsonl"]));
        assert!(!replay(&["--mode", "storage"]));
        assert!(!replay(&["--mode", "log"]));
        assert!(!replay(&["--user", "ana"]));
    }

    #[test]
    fn a_variable_is_set_to_a_value_or_from_a_file() {
        assert!(accepts(&["site-vars", "set", "motto", "be kind"]));
        assert!(accepts(&["site-vars", "set", "motto", "--file", "motto.txt"]));
        assert!(!accepts(&["site-vars", "set", "motto"]));
        assert!(!accepts(&["site-vars", "set", "motto", "be kind", "--file", "motto.txt"]));
    }
}
