//! Crashes and faults: whatever dies, fails, doubles or comes late, every acknowledged publish is stored once and
//! learned once, and nothing stays due for ever.
//!
//! Most of it runs in this process against the local cloud, on a clock that moves only when nothing else is to be
//! done; `process` kills real processes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that fails shows its seed")]

mod aggregation;
mod crowd;
mod judging;
mod learn_messages;
mod learn_store_faults;
mod learn_workers;
mod lifecycle;
mod operate_messages;
mod operate_workers;
mod outcomes;
mod process;
mod publish_faults;
mod reflection;
mod restart;
mod retrieved_learning;
mod simulation;
mod stalls;
mod support;
mod sweep_faults;
mod tagging;
mod versions;
mod versions_meeting;
mod versions_simulation;
