//! End to end: the whole deployment in this process, called over HTTP as any client calls it.

mod clock;
mod main_job;
mod script;
mod support;
