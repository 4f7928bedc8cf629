//! The whole cloud in one process: connectors under the AWS SDK clients, queues, and what the template wires.

pub mod service;
