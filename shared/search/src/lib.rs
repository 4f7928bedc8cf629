//! Finding memories by meaning and by words, in memory.
//!
//! The caller loads rows (of one user, or of one organisation), builds a [`MemoryIndex`] from them, keeps it in
//! a [`VersionedCache`] under the version that was read first, and asks it. Around the index stand the rules of
//! a search request that need no store: the opt-out [`guard`], the learnings [`served`] to a session before,
//! and the ageing of scores in [`postprocess`].
//!
//! *Architecture invariant:* no I/O, no AWS types, no clock, no randomness, no environment. Times are passed in.

pub mod cache;
pub mod fusion;
pub mod guard;
pub mod index;
pub mod lexical;
pub mod postprocess;
pub mod query;
pub mod served;
pub mod threshold;
pub mod tokenize;
pub mod vector;

pub use cache::VersionedCache;
pub use fusion::{Fusion, RrfParameters};
pub use guard::opts_out_of_personalisation;
pub use index::{Document, Hit, MemoryIndex, Outcome, SearchMode, SearchQuery};
pub use served::ServedLearnings;
pub use threshold::{DEFAULT_COSINE_THRESHOLD, default_cosine_threshold};
pub use vector::{QuantizedVector, VectorError};
