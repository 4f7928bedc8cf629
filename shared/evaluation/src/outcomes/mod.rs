//! Outcomes of sessions: reported by callers, or inferred from verdicts until somebody reports.
//!
//! There is one outcome a session. It is bound to the session by a digest of everything that was published in it; the
//! digest is made outside of any transaction, and written only if the session is still as it was read. Whoever comes in
//! between makes the write fail, and the session is read again, three times at most.

mod infer;
mod read;
mod report;
mod rules;
#[cfg(test)]
mod rules_tests;

pub use infer::{InferError, InferredOutcome, infer_outcome};
pub use report::report_outcome;

/// How often a session is read anew because it changed under the write.
pub const OUTCOME_ATTEMPTS: u32 = 3;
