//! The binary `retrospect`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is the program that speaks to people")]

use std::process::ExitCode;

use clap::Parser;
use retrospect::cli::{Cli, Command};
use retrospect::{admin, demo, serve};
use runtime::telemetry::{self, LogFormat};

/// What is logged on a terminal unless RETROSPECT_LOG says otherwise.
const LOG_FILTER: &str = "warn,s3s=off";

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    telemetry::init(LogFormat::Text, LOG_FILTER);
    let outcome = match cli.command {
        None => serve::run(&cli.serve, |text| print!("{text}")).await,
        Some(Command::Serve(options)) => serve::run(&options, |text| print!("{text}")).await,
        Some(Command::Demo(options)) => demo::run(&options, |text| print!("{text}")).await,
        Some(Command::Admin(options)) => admin::run(&options).await.map(|text| print!("{text}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("retrospect: {error}");
            ExitCode::FAILURE
        }
    }
}
