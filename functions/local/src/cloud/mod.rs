//! The whole cloud in one process: connectors under the AWS SDK clients, queues, and what the template wires.

pub mod clock;
pub mod counters;
pub mod dynamodb;
pub mod faults;
pub mod handlers;
pub mod hub;
mod invocation;
#[cfg(test)]
mod kill_tests;
pub mod kms;
mod mapping;
mod random;
pub mod rules;
pub mod s3;
pub mod scheduler;
pub mod service;
pub mod sqs;
pub mod template;
#[cfg(test)]
mod testing;
