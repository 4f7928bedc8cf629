//! The verdict on a session as a whole: what the judge is shown, what it may answer, and what is made of it.
//!
//! *Architecture invariant:* no verdict is invented. What cannot be read as one, after one repair, is an error.

mod ask;
mod error;
pub mod images;
pub mod schema;
pub mod transcript;

#[cfg(test)]
#[path = "tests/answers.rs"]
mod answers_tests;
#[cfg(test)]
#[path = "tests/transcripts.rs"]
mod transcript_tests;

pub use ask::{FAILURE_REASON_CHARS_MAX, Judgement, PURPOSE, judge_session};
pub(crate) use ask::{TEMPERATURE, generation_timeout, render};
pub use error::JudgeError;
