//! wake
