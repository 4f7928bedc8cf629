//! A session as it is read for the judgement of its learnings.

use std::collections::HashSet;

use domain::entities::{Interaction, RetrievedLearningKind, RetrievedLearningResult};
use domain::ids::{RequestId, SessionId, UserId};
use domain::time::EpochSeconds;
use store::{RequestDocument, Store, StoreError, UserKeys};

use super::fingerprint::fingerprint;

/// Learnings attached to the interactions of a session, repeats included.
pub const ATTACHMENTS_MAX: usize = 5_000;
/// Learnings to be judged, each once per interaction.
pub const CANDIDATES_MAX: usize = 1_000;
/// Positions of the user's stream that are read at a time.
const POSITIONS_PER_READ: i64 = 500;

/// A session, and what must not have changed when its verdicts are committed.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) session_version: i64,
    pub(crate) purge_epoch: i64,
    pub(crate) fingerprint: String,
    pub(crate) user_id: UserId,
    /// Of the last request.
    pub(crate) agent_version: String,
    /// The earliest time of the requests.
    pub(crate) began_at: EpochSeconds,
    /// In the order of their times and ids.
    pub(crate) interactions: Vec<Interaction>,
}

/// One attached learning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Candidate {
    pub(crate) interaction_id: i64,
    pub(crate) interaction_created_at: EpochSeconds,
    pub(crate) kind: RetrievedLearningKind,
    pub(crate) learning_id: String,
}

impl Candidate {
    /// What a verdict is about.
    pub(crate) fn of(row: &RetrievedLearningResult) -> Self {
        Self {
            interaction_id: row.interaction_id.unwrap_or_default(),
            interaction_created_at: row.interaction_created_at.unwrap_or_default(),
            kind: row.kind,
            learning_id: row.learning_id.clone(),
        }
    }

    /// How the judges call it.
    pub(crate) fn reference(&self) -> String {
        format!("{}:{}:{}", self.interaction_id, self.kind.as_str(), self.learning_id)
    }
}

/// Why a session's learnings are not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    Attachments,
    Candidates,
}

impl TooMany {
    /// As it stands in the diagnostics.
    pub(crate) fn error_type(self) -> &'static str {
        match self {
            Self::Attachments => "attachment_limit_exceeded",
            Self::Candidates => "candidate_limit_exceeded",
        }
    }
}

impl Snapshot {
    /// Reads a user's part in a session, up to a request if one is given; `None` when there is nothing of it, or the
    /// user is being erased.
    pub(crate) async fn read(
        store: &Store,
        keys: &UserKeys<'_>,
        session: &SessionId,
        through: Option<&RequestId>,
    ) -> Result<Option<Self>, StoreError> {
        // Head and session first: whatever is committed after these reads fails the check of the commit.
        let Some(head) = store.head(keys).await?.filter(|head| !head.barred) else { return Ok(None) };
        let Some(record) = store.session(keys, session).await? else { return Ok(None) };
        let mut documents = Vec::new();
        let mut from = record.first_position;
        while from <= record.last_position {
            let to = (from + POSITIONS_PER_READ).min(record.last_position + 1);
            let page = store.documents(keys, from, to).await?;
            let is_new = |document: &RequestDocument| document.first_position >= from;
            documents
                .extend(page.into_iter().filter(|one| is_new(one) && one.request.session_id == *session));
            from = to;
        }
        documents.sort_by(|left, right| order(left).cmp(&order(right)));
        if let Some(through) = through {
            let Some(last) = documents.iter().position(|one| one.request.request_id == *through) else {
                return Ok(None);
            };
            documents.truncate(last + 1);
        }
        Ok(Self::of(documents, record.version, head.purge_epoch))
    }

    fn of(documents: Vec<RequestDocument>, session_version: i64, purge_epoch: i64) -> Option<Self> {
        let last = &documents.last()?.request;
        let (user_id, agent_version) = (last.user_id.clone(), last.agent_version.clone());
        let times = documents.iter().map(|document| document.request.created_at);
        let began_at = times.filter(|at| *at > 0).min().unwrap_or(0);
        let mut interactions: Vec<Interaction> =
            documents.into_iter().flat_map(|document| document.interactions).collect();
        interactions.sort_by_key(|one| (one.created_at, one.interaction_id));
        let fingerprint = fingerprint(&interactions);
        Some(Self {
            session_version,
            purge_epoch,
            fingerprint,
            user_id,
            agent_version,
            began_at,
            interactions,
        })
    }

    /// The attached learnings, each once per interaction.
    pub(crate) fn candidates(&self) -> Result<Vec<Candidate>, TooMany> {
        let attached: usize = self.interactions.iter().map(|one| one.retrieved_learnings.len()).sum();
        if attached > ATTACHMENTS_MAX {
            return Err(TooMany::Attachments);
        }
        let (mut seen, mut candidates) = (HashSet::new(), Vec::new());
        for interaction in &self.interactions {
            for attached in &interaction.retrieved_learnings {
                let Some(kind) = RetrievedLearningKind::parse(&attached.kind) else { continue };
                let candidate = Candidate {
                    interaction_id: interaction.interaction_id,
                    interaction_created_at: interaction.created_at,
                    kind,
                    learning_id: attached.learning_id.clone(),
                };
                if seen.insert(candidate.clone()) {
                    candidates.push(candidate);
                }
            }
        }
        if candidates.len() > CANDIDATES_MAX { Err(TooMany::Candidates) } else { Ok(candidates) }
    }
}

fn order(document: &RequestDocument) -> (EpochSeconds, &str) {
    (document.request.created_at, document.request.request_id.as_str())
}

#[cfg(test)]
mod tests {
    use domain::entities::RetrievedLearning;

    use super::*;

    fn snapshot(attached: impl Iterator<Item = (i64, String)>) -> Snapshot {
        let mut interactions: Vec<Interaction> = Vec::new();
        for (id, learning_id) in attached {
            if interactions.last().is_none_or(|last| last.interaction_id != id) {
                interactions.push(Interaction { interaction_id: id, ..Interaction::default() });
            }
            let kind = "profile".to_owned();
            let learning = RetrievedLearning { kind, learning_id, exposure_receipt_digest: None };
            interactions.last_mut().unwrap().retrieved_learnings.push(learning);
        }
        Snapshot {
            session_version: 1,
            purge_epoch: 0,
            fingerprint: String::new(),
            user_id: UserId::new("u").unwrap(),
            agent_version: String::new(),
            began_at: 0,
            interactions,
        }
    }

    #[test]
    fn a_learning_is_a_candidate_once_for_each_interaction() {
        let attached = [(1, "a"), (1, "a"), (1, "b"), (2, "a")].map(|(id, name)| (id, name.to_owned()));
        let candidates = snapshot(attached.into_iter()).candidates().unwrap();
        let refs: Vec<String> = candidates.iter().map(Candidate::reference).collect();
        assert_eq!(refs, ["1:profile:a", "1:profile:b", "2:profile:a"]);
    }

    #[test]
    fn what_is_no_known_kind_is_no_candidate() {
        let mut session = snapshot([(1, "a".to_owned())].into_iter());
        session.interactions[0].retrieved_learnings[0].kind = "rule".to_owned();
        assert_eq!(session.candidates(), Ok(Vec::new()));
    }

    #[test]
    fn candidates_have_their_limit() {
        for many in [CANDIDATES_MAX - 1, CANDIDATES_MAX, CANDIDATES_MAX + 1] {
            let session = snapshot((0..many).map(|n| (n as i64 / 500, n.to_string())));
            let expected = if many > CANDIDATES_MAX { Err(TooMany::Candidates) } else { Ok(many) };
            assert_eq!(session.candidates().map(|found| found.len()), expected, "{many}");
        }
    }

    #[test]
    fn attachments_have_their_limit_repeats_included() {
        for many in [ATTACHMENTS_MAX - 1, ATTACHMENTS_MAX, ATTACHMENTS_MAX + 1] {
            let session = snapshot((0..many).map(|n| (n as i64 / 500, "same".to_owned())));
            let expected =
                if many > ATTACHMENTS_MAX { Err(TooMany::Attachments) } else { Ok(many.div_ceil(500)) };
            assert_eq!(session.candidates().map(|found| found.len()), expected, "{many}");
        }
    }
}
