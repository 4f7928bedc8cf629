//! The index from outside: recorded searches and rules that hold for any.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;
mod golden;
mod properties;
