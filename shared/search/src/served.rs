//! Which learnings a session was already served, so that it is not told the same thing twice.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use parking_lot::Mutex;

/// Most sessions remembered; the one that was idle longest is forgotten first.
pub const MAX_SESSIONS: usize = 1_024;
/// Most learnings remembered of a session; the ones served first are forgotten first.
pub const MAX_ENTRIES_PER_SESSION: usize = 2_000;
/// A session is forgotten after this time without a search, in seconds (12 hours).
pub const SESSION_IDLE_SECONDS: i64 = 43_200;

/// The learnings served to the sessions of this process. A scope is any text that names one session and all
/// that it belongs to; the caller puts the organisation into it. It is a convenience, not a promise: another
/// process does not know of it.
#[derive(Debug, Default)]
pub struct ServedLearnings {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_scope: HashMap<String, Session>,
    /// Scopes by (last use, a number that makes it unique), longest idle first.
    by_use: BTreeMap<(i64, u64), String>,
    uses: u64,
}

#[derive(Debug, Default)]
struct Session {
    last_use: (i64, u64),
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl ServedLearnings {
    /// Nothing served yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The learnings that `scope` was served before, and thereby a use of the session. `now` is in epoch seconds.
    #[must_use]
    pub fn served(&self, scope: &str, now: i64) -> HashSet<String> {
        let mut sessions = self.sessions.lock();
        sessions.forget_idle(now);
        sessions.touch(scope, now);
        sessions.by_scope.get(scope).map(|session| session.ids.clone()).unwrap_or_default()
    }

    /// Remembers that `ids` were served to `scope`; to be called once the answer is on its way. `now` is in
    /// epoch seconds.
    pub fn record(&self, scope: &str, ids: impl IntoIterator<Item = String>, now: i64) {
        let mut sessions = self.sessions.lock();
        sessions.forget_idle(now);
        let mut ids = ids.into_iter().peekable();
        if ids.peek().is_none() {
            return sessions.touch(scope, now);
        }
        sessions.by_scope.entry(scope.to_owned()).or_default();
        sessions.touch(scope, now);
        if let Some(session) = sessions.by_scope.get_mut(scope) {
            ids.for_each(|id| session.add(id));
        }
        while sessions.by_scope.len() > MAX_SESSIONS {
            sessions.forget_oldest();
        }
    }

    /// Forgets a session.
    pub fn forget(&self, scope: &str) {
        let mut sessions = self.sessions.lock();
        if let Some(session) = sessions.by_scope.remove(scope) {
            sessions.by_use.remove(&session.last_use);
        }
    }

    /// How many sessions are remembered.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.lock().by_scope.len()
    }
}

impl Sessions {
    fn touch(&mut self, scope: &str, now: i64) {
        let Some(session) = self.by_scope.get_mut(scope) else { return };
        self.uses += 1;
        self.by_use.remove(&session.last_use);
        session.last_use = (now, self.uses);
        self.by_use.insert(session.last_use, scope.to_owned());
    }

    fn forget_oldest(&mut self) {
        if let Some((_, scope)) = self.by_use.pop_first() {
            self.by_scope.remove(&scope);
        }
    }

    fn forget_idle(&mut self, now: i64) {
        let idle = |last_use: i64| now.saturating_sub(last_use) >= SESSION_IDLE_SECONDS;
        while self.by_use.first_key_value().is_some_and(|((last_use, _), _)| idle(*last_use)) {
            self.forget_oldest();
        }
    }
}

impl Session {
    fn add(&mut self, id: String) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_ENTRIES_PER_SESSION
            && let Some(first) = self.order.pop_front()
        {
            self.ids.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("profile:{n}")).collect()
    }

    #[test]
    fn a_session_remembers_what_it_was_served_and_others_do_not() {
        let served = ServedLearnings::new();
        served.record("org-a/s", ids(0..2), NOW);
        served.record("org-a/s", ids(1..3), NOW + 1);
        assert_eq!(served.served("org-a/s", NOW + 2), ids(0..3).into_iter().collect());
        assert!(served.served("org-b/s", NOW + 2).is_empty());
    }

    #[test]
    fn asking_for_an_unknown_session_or_recording_nothing_remembers_nothing() {
        let served = ServedLearnings::new();
        assert!(served.served("a", NOW).is_empty());
        served.record("a", [], NOW);
        assert_eq!(served.sessions(), 0);
    }

    #[test]
    fn a_session_remembers_up_to_its_most_entries() {
        for (count, first_kept) in [
            (MAX_ENTRIES_PER_SESSION - 1, true),
            (MAX_ENTRIES_PER_SESSION, true),
            (MAX_ENTRIES_PER_SESSION + 1, false),
        ] {
            let served = ServedLearnings::new();
            served.record("s", ids(0..count), NOW);
            let known = served.served("s", NOW);
            assert_eq!(known.len(), count.min(MAX_ENTRIES_PER_SESSION));
            assert_eq!(known.contains("profile:0"), first_kept);
            assert!(known.contains(&format!("profile:{}", count - 1)));
        }
    }

    #[test]
    fn the_session_that_was_idle_longest_is_forgotten_beyond_the_most() {
        for (count, first_kept) in [(MAX_SESSIONS - 1, true), (MAX_SESSIONS, true), (MAX_SESSIONS + 1, false)]
        {
            let served = ServedLearnings::new();
            for n in 0..count {
                served.record(&format!("s{n}"), ids(0..1), NOW);
            }
            assert_eq!(served.sessions(), count.min(MAX_SESSIONS));
            assert_eq!(!served.served("s0", NOW).is_empty(), first_kept, "{count}");
        }
    }

    #[test]
    fn a_use_keeps_a_session_from_being_the_oldest() {
        let served = ServedLearnings::new();
        for n in 0..MAX_SESSIONS {
            served.record(&format!("s{n}"), ids(0..1), NOW);
        }
        assert!(!served.served("s0", NOW).is_empty());
        served.record("another", ids(0..1), NOW);
        assert!(!served.served("s0", NOW).is_empty());
        assert!(served.served("s1", NOW).is_empty());
    }

    #[test]
    fn a_session_is_forgotten_after_twelve_idle_hours() {
        for (idle, kept) in [
            (SESSION_IDLE_SECONDS - 1, true),
            (SESSION_IDLE_SECONDS, false),
            (SESSION_IDLE_SECONDS + 1, false),
        ] {
            let served = ServedLearnings::new();
            served.record("s", ids(0..1), NOW);
            assert_eq!(!served.served("s", NOW + idle).is_empty(), kept, "{idle}");
        }
    }

    #[test]
    fn a_forgotten_session_starts_afresh() {
        let served = ServedLearnings::new();
        served.record("s", ids(0..3), NOW);
        served.forget("s");
        assert!(served.served("s", NOW).is_empty());
        served.record("s", ids(5..6), NOW);
        assert_eq!(served.served("s", NOW).len(), 1);
    }
}
