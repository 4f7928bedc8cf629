//! End to end: the whole deployment in this process, called over HTTP as any client calls it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, their helpers too")]

mod aggregation;
mod aggregation_operations;
mod answers;
mod bad_input;
mod budgets;
mod clock;
mod configuration;
mod http;
mod idempotency;
mod large_input;
mod main_job;
mod providers;
mod script;
mod searching;
mod support;
mod tenants;
mod windows;
