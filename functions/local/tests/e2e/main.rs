//! End to end: the whole deployment in this process, called over HTTP as any client calls it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, their helpers too")]

mod admin_keys;
mod admin_playbooks;
mod admin_process;
mod answers;
mod bad_input;
mod budgets;
mod change_log;
mod clock;
mod configuration;
mod editing;
mod expansion;
mod http;
mod idempotency;
mod invitations;
mod large_input;
mod log_events;
mod main_job;
mod modes;
mod operations;
mod provenance;
mod providers;
mod reflection;
mod reproduce_timeout;
mod reviewing;
mod script;
mod searching;
mod sessions;
mod site_vars;
mod stalls;
mod support;
mod tagging;
mod tenants;
mod versions;
mod waiting;
mod windows;
