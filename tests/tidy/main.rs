//! The architecture invariants, as tests. A failure lists every place that breaks a rule.

mod agreements;
mod crates;
mod sources;
mod texts;
mod tree;
