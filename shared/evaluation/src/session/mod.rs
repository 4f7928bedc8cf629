//! Judging sessions: when a session is judged, and what comes of it.

mod look;
mod run;
mod trajectory;

pub use look::{ATTEMPTS_MAX, Looked, look};
pub use run::{Run, RunError, RunOrder, RunOutcome, run};
