//! How fast the program is, and what it costs: latency, throughput and processor time of the calls that agents
//! make, start-up, memory, and the AWS calls behind each operation, beside the peer's figures and our targets.
//!
//! `cargo build --release -p retrospect && cargo run --release -p bench`. The server is a process of its own,
//! with its data on disk; the client's processor time is not counted. Ends with 1 when a target is missed and
//! with 2 when something could not be measured. `cargo run --release -p bench -- clustering` measures that alone and
//! needs no server.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to people")]

mod client;
mod clustering;
mod costs;
mod data;
mod load;
mod report;
mod server;
mod startup;
mod targets;
mod workloads;

use std::process::ExitCode;

use report::Report;
use server::Binary;

/// Why something could not be measured; printed.
type BenchError = Box<dyn std::error::Error + Send + Sync>;

/// One thread: what the client takes is kept small, since it takes it from the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("\n{missed} target(s) MISSED");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Measures everything, or the section that was asked for; returns how many targets were missed.
async fn run() -> Result<usize, BenchError> {
    let mut report = Report::new();
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("clustering") => {
            clustering::measure(&mut report)?;
            return Ok(report.missed());
        }
        Some(other) => return Err(format!("there is no section {other}, only: clustering").into()),
    }
    let binary = Binary::find()?;
    println!("seed {:#x}; {} processors\n", data::SEED, std::thread::available_parallelism()?);
    report.process_header();
    clustering::measure(&mut report)?;
    startup::measure(&binary, &mut report).await?;
    report.load_header();
    workloads::measure(&binary, &mut report).await?;
    report.cost_header();
    costs::measure(&mut report).await?;
    Ok(report.missed())
}
