//! Judging what agents did: sessions, outcomes, shadow answers, and the numbers made of them.

pub mod experiments;
pub mod judge;
pub mod on_demand;
pub mod outcomes;
pub mod overview;
pub mod regeneration;
pub mod retrieved;
pub mod session;
pub mod shadow;
pub mod timers;
