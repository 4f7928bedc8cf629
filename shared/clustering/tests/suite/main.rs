//! Clusters from outside: what the reference libraries find, rules that hold for any rows, and limits.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod agglomerative;
mod common;
mod hdbscan;
mod limits;
mod properties;
