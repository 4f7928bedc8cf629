//! The words of the system: ids, entities, statuses, configuration, requests and answers of the HTTP API,
//! and what makes each of them valid.
//!
//! *Architecture invariant:* no I/O, no AWS types, no clock, no randomness, no environment.

pub mod canonical;
pub mod config;
pub mod entities;
pub mod errors;
pub mod experiments;
pub mod flags;
pub mod ids;
pub mod invitations;
pub mod judging;
pub mod learning;
pub mod operations;
pub mod outcomes;
pub mod requests;
pub mod sampling;
pub mod site_vars;
pub mod time;
pub mod tokens;
pub mod validation;
pub mod versions;
pub mod views;
