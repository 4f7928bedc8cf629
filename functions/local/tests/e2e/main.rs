//! End to end: the whole deployment in this process, called over HTTP as any client calls it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, their helpers too")]

mod answers;
mod bad_input;
mod budgets;
mod clock;
mod configuration;
mod expansion;
mod http;
mod idempotency;
mod large_input;
mod main_job;
mod providers;
mod reflection;
mod reviewing;
mod script;
mod searching;
mod support;
mod tagging;
mod tenants;
mod windows;
