//! Comparing what the agent answered with what a shadow agent would have: one verdict per turn.
//!
//! Shadow answers of earlier turns never count: from the second turn on, the user reacts to the answer that was given.
//! So each turn is judged by itself, before the same conversation.

mod ask;
mod context;
mod failure;
mod run;
mod schema;

pub use ask::render;
pub use context::{
    ANSWER_CHARS_MAX, CONTEXT_CHARS_MAX, answer, conversation, last_message, regular_is_first,
};
pub use failure::{ATTEMPTS_MAX, PUT_OFF_SECONDS_FIRST, PUT_OFF_SECONDS_MAX, put_off_seconds};
pub use run::{ShadowError, ShadowReport, judge_request};
pub use schema::{REASON_CHARS_MAX, ShadowComparisonOutput};
