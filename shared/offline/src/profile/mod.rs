//! From the user's turns to facts about the user.

mod correct;
mod dates;
pub(crate) mod en;
mod forget;
pub(crate) mod ja;
mod secrets;
mod window;

use domain::entities::ProfileTimeToLive;

use self::dates::Leaning;

pub use forget::REMOVAL_MARKER;
pub(crate) use forget::is_directive;
pub use window::extract_profiles;

/// A fact as a rule reads it, before its dates are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The fact without a subject.
    pub(crate) content: String,
    /// How long it stays true, unless a date says otherwise.
    pub(crate) time_to_live: ProfileTimeToLive,
    /// How its dates are meant.
    pub(crate) leaning: Leaning,
    /// Whether it is over once its last date has passed.
    pub(crate) is_event: bool,
}

impl Fact {
    fn new(content: String, time_to_live: ProfileTimeToLive) -> Self {
        let lasting = time_to_live == ProfileTimeToLive::Infinity;
        let leaning = if lasting { Leaning::Habit } else { Leaning::Future };
        Self { content, time_to_live, leaning, is_event: false }
    }

    fn lasting(content: String) -> Self {
        Self::new(content, ProfileTimeToLive::Infinity)
    }

    fn event(content: String, time_to_live: ProfileTimeToLive) -> Self {
        Self { content, time_to_live, leaning: Leaning::Future, is_event: true }
    }
}
