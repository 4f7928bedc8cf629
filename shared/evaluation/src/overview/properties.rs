//! Against a naive computation.
