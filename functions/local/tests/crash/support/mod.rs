//! The world that the tests break: the local cloud, processes in it, and what must hold afterwards.

pub(crate) mod chance;
pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod judging;
pub(crate) mod model;
pub(crate) mod operations;
pub(crate) mod outcomes;
pub(crate) mod publish;
pub(crate) mod rows;
pub(crate) mod versions;
pub(crate) mod world;
