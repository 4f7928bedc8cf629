//! What is published: every interaction says which one it is.

use serde_json::{Value, json};

/// One publish call.
#[derive(Debug, Clone)]
pub(crate) struct Publish {
    pub(crate) user: String,
    pub(crate) request: String,
    pub(crate) session: String,
    pub(crate) size: usize,
    pub(crate) force: bool,
    pub(crate) finished: bool,
    pub(crate) evaluation_only: bool,
}

impl Publish {
    /// The `n`-th call of a user with `size` interactions, all in one session.
    pub(crate) fn new(user: &str, n: usize, size: usize) -> Self {
        Self {
            user: user.to_owned(),
            request: format!("{user}-{n}"),
            session: format!("{user}-session"),
            size,
            force: false,
            finished: false,
            evaluation_only: false,
        }
    }

    /// What the interaction at `index` says, and nothing else says.
    pub(crate) fn mark(&self, index: usize) -> String {
        format!("{}-{index}", self.request)
    }

    pub(crate) fn body(&self) -> Value {
        let turns: Vec<Value> =
            (0..self.size).map(|index| json!({ "role": "User", "content": self.mark(index) })).collect();
        self.body_with(turns)
    }

    /// The same call with other interactions.
    pub(crate) fn body_with(&self, turns: Vec<Value>) -> Value {
        json!({
            "user_id": self.user,
            "request_id": self.request,
            "session_id": self.session,
            "interaction_data_list": turns,
            "force_extraction": self.force,
            "session_finished": self.finished,
            "evaluation_only": self.evaluation_only,
        })
    }
}
