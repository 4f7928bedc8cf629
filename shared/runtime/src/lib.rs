//! runtime

pub mod clock;
