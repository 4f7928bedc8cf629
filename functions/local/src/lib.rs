//! `retrospect`: everything that runs on AWS, in one process on a laptop.

pub mod cloud;
