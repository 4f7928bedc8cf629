//! The review of learned playbooks: are they borne out by the turns that they rest on?
//!
//! [`judge()`] says what a model's answer is allowed to do, [`screen()`] does it to new rows, [`evidence`] finds the turns, [`review_playbooks`] asks.
//! Nothing is written here but by [`apply_review`], which replaces a reviewed row in one transaction, or retires it.

mod apply;
pub mod evidence;
pub mod judge;
pub(crate) mod prompt;
mod run;
pub mod schema;
mod screen;

pub use apply::{Applied, apply_review};
pub use judge::{Edit, ReasonCode, Verdict, judge};
pub use run::{Reviewed, SkipReason, review_playbooks};
pub use schema::{ReviewAnswer, ReviewDecision};
pub use screen::screen;
