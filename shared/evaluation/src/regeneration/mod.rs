//! Judging the sessions of a span of time anew: a sample of them, so many at once, until all had their turn or a
//! caller stops it.

mod lane;
mod sample;
mod start;

pub use lane::{CandidateJudge, Judged, LaneError, LaneOutcome, work_in_lane};
pub use start::{REQUESTS_PER_JOB_MAX, StartError, Started, start};
