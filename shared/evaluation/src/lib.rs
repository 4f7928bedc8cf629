//! Judging what agents did: sessions, outcomes, shadow answers, and the numbers made of them.

pub mod shadow;
