//! Which interactions are learned from next.
//!
//! A user's interactions form a stream of positions 0, 1, 2, …. Each kind of learning has a cursor in it. A *window*
//! is what one extraction reads: the interactions that are new to it, and before them as many already learned ones as
//! the window size leaves room for. Every eligible interaction is new in exactly one window, in order, however it
//! arrived; the policy that applies is the one that was in force when it was admitted.
//!
//! The boundaries depend on the stream alone and not on when a worker happens to look, except where time itself is
//! the reason (a session that fell silent).

pub mod due;
pub mod select;
pub mod stream;

pub use due::{HeadCounters, is_due_on_arrival, is_window_due};
pub use select::{Selection, Slice, WaitReason, Window, WindowReason, select};
pub use stream::{Cursor, InvalidPolicy, Segment, Trigger, needed};

#[cfg(test)]
mod examples_tests;
#[cfg(test)]
mod property_tests;
