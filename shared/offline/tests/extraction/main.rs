//! Labelled sentences and conversations, none of which is part of the demo.

mod common;
mod conversations;
mod english;
mod japanese;
