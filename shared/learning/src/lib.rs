//! Learning: from a user's stream of interactions to profiles and playbooks.
//!
//! The worker ([`worker::learn_user`]) takes a user's lease, learns window after window through the `pipeline`, and
//! commits each with its cursor. What needs neither a store nor a model is here as plain functions: which window is
//! next ([`windows`]), how it is shown to a model ([`formatting`]), whether a model is asked at all ([`gate`]), and
//! what its answers are allowed to do ([`profile`], [`playbook`], [`reflection`], [`changelog`]).
//!
//! *Architecture invariant:* a model's answer is a proposal. It is checked against what the model was shown, and only
//! rows that it was shown and named can be retired.

pub mod admission;
pub mod aggregation;
pub mod candidates;
pub mod changelog;
pub mod coverage;
pub mod expansion;
pub mod formatting;
pub mod gate;
pub mod generation;
pub mod images;
mod lenient;
mod pipeline;
pub mod playbook;
pub mod profile;
pub mod provenance;
pub mod reflection;
pub mod review;
pub mod services;
pub mod tagging;
pub mod versions;
pub mod windows;
pub mod worker;

pub use pipeline::{Replay, replay_last_window};
