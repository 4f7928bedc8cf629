//! End to end: the whole deployment in this process, called over HTTP as any client calls it.

mod answers;
mod clock;
mod idempotency;
mod main_job;
mod providers;
mod script;
mod support;
mod windows;
