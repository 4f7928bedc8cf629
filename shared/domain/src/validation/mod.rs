//! Reading what callers send: JSON as Python reads it, then typed values by the rules of pydantic 2, with
//! errors of exactly its shape, since clients and their tests look into them.
//!
//! A request is read in schema order and every fault of every field is reported; checks across fields run
//! only when all fields could be read. See [`Fields`] for how a request type is written.
//!
//! *Where we are stricter on purpose:* U+0000 and lone surrogates are refused in every text, JSON is bounded
//! in depth, integers in 64 bits, and the faults and echoes of one answer in number and size.

mod body;
mod fault;
mod fields;
mod json;
mod marks;
mod moments;
mod query;
pub mod rules;
pub mod urls;

pub use body::{BodyFault, read_json_body};
pub use fault::{ECHO_BYTES_MAX, FAULTS_MAX, Faults, Path, ValidationErrors};
pub use fields::{Fields, Rule, object, read_body, read_query};
pub use json::{JSON_DEPTH_MAX, JsonFault, read_json};
pub use moments::{Moment, TimeRange, moment, written_epoch};
pub use query::query_object;
