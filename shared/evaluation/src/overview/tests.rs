//! Worked numbers.
