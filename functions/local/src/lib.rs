//! `retrospect`: everything that runs on AWS, in one process on a laptop.

pub mod admin;
pub mod cli;
pub mod cloud;
pub mod data_dir;
pub mod demo;
pub mod deployment;
pub mod serve;
pub mod server;
