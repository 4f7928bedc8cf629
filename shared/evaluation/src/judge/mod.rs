//! The judge of a session as a whole.

mod answer;
mod ask;
mod transcript;

pub use answer::Judgement;
pub use ask::{JudgeError, judge_session};
pub use transcript::{SessionText, TRANSCRIPT_TOKENS_MAX, session_text};
