//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::admin::commands::AdminOptions;

/// Memory and self-improvement for AI agents, on this machine.
#[derive(Debug, Parser)]
#[command(name = "retrospect", version, about)]
pub struct Cli {
    /// What to do; `serve` when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `serve`, for when no command is named.
    #[command(flatten)]
    pub serve: ServeOptions,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the whole cloud and serves the API (the default).
    Serve(ServeOptions),
    /// Shows the main job on built-in conversations, in memory, then goes on serving.
    Demo(DemoOptions),
    /// What operators do: organisations, keys, invitations, flags, diagnosis.
    Admin(AdminOptions),
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8081)]
    pub port: u16,
    /// Where data live.
    #[arg(long, default_value = "./.retrospect", env = "RETROSPECT_DATA_DIR")]
    pub data_dir: PathBuf,
    /// Keep data in memory only.
    #[arg(long)]
    pub ephemeral: bool,
    /// Ask for this key; any text. Without it, callers on this machine need none.
    #[arg(long, env = "RETROSPECT_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

/// How to show the main job.
#[derive(Debug, Clone, Args)]
pub struct DemoOptions {
    /// Stop once everything was shown.
    #[arg(long)]
    pub exit: bool,
    /// Port to go on serving on; 0 takes a free one.
    #[arg(long, default_value_t = 8081)]
    pub port: u16,
}
