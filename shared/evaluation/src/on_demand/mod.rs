//! Verdicts that callers ask for: answered from what is known, else judged by the worker, whether or not the caller
//! waits for it.

mod ask;
mod work;

pub use ask::{Asked, GradeQuestion, ask};
pub use work::{Graded, Grader, carry_out};
