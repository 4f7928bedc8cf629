//! What was said in a session, as one digest. It is fed request by request, so that no session is ever whole in
//! memory.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::encoding::{CanonicalFault, Floats, separate, write, write_text};
use crate::entities::{Interaction, Request};
use crate::ids::SessionId;
use crate::time::EpochSeconds;

/// Depth of the objects of a request and its interactions within the whole.
const REQUEST_DEPTH: usize = 3;
const INTERACTION_DEPTH: usize = 4;

/// Why a session has no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoryFault {
    /// Something in it has no canonical spelling.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// A time has no date.
    #[error("a time lies outside the years that can be written")]
    Time,
}

/// The digest so far.
#[derive(Debug, Clone)]
pub struct TrajectoryHasher {
    hash: Sha256,
    requests: usize,
}

impl Default for TrajectoryHasher {
    fn default() -> Self {
        let mut hash = Sha256::new();
        hash.update(br#"{"requests":["#);
        Self { hash, requests: 0 }
    }
}

impl TrajectoryHasher {
    /// Adds the next request in the order of `(created_at, request_id)`. Its interactions may come in any order; they
    /// must have their ids and images.
    ///
    /// # Errors
    /// [`TrajectoryFault`]; the digest is worth nothing then.
    pub fn add(&mut self, request: &Request, interactions: &[Interaction]) -> Result<(), TrajectoryFault> {
        let mut ordered: Vec<&Interaction> = interactions.iter().collect();
        ordered.sort_by_key(|interaction| (interaction.created_at, interaction.interaction_id));
        let mut text = String::new();
        separate(self.requests, &mut text);
        text.push_str(r#"{"interactions":["#);
        for (index, interaction) in ordered.into_iter().enumerate() {
            separate(index, &mut text);
            let object = interaction_object(request, interaction)?;
            write(&object, INTERACTION_DEPTH, Floats::Written, &mut text)?;
            self.hash.update(&text);
            text.clear();
        }
        text.push_str(r#"],"request":"#);
        write(&request_object(request)?, REQUEST_DEPTH, Floats::Written, &mut text)?;
        text.push('}');
        self.hash.update(text);
        self.requests += 1;
        Ok(())
    }

    /// How many requests were added.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Hex SHA-256 of the session whose requests were added.
    #[must_use]
    pub fn finish(mut self, session: &SessionId) -> String {
        let mut text = String::from(r#"],"session_id":"#);
        write_text(session.as_str(), &mut text);
        text.push('}');
        self.hash.update(text);
        hex::encode(self.hash.finalize())
    }
}

/// A stored time: `YYYY-MM-DDTHH:MM:SS+00:00`; `None` outside the years 0 to 9999.
#[must_use]
pub fn stored_time_text(at: EpochSeconds) -> Option<String> {
    // Not as an instant, which ends some hours before the last year does.
    let epoch = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
    let moment = epoch.checked_add(jiff::SignedDuration::from_secs(at)).ok()?;
    (moment.year() >= 0).then(|| moment.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string())
}

fn time_text(at: EpochSeconds) -> Result<String, TrajectoryFault> {
    stored_time_text(at).ok_or(TrajectoryFault::Time)
}

fn request_object(request: &Request) -> Result<Value, TrajectoryFault> {
    Ok(json!({
        "agent_version": request.agent_version,
        "created_at": time_text(request.created_at)?,
        "evaluation_only": request.evaluation_only,
        "request_id": request.request_id,
        "retrieval_experiment_arm": request.retrieval_experiment_arm,
        "retrieval_experiment_id": request.retrieval_experiment_id,
        "session_id": request.session_id,
        "source": request.source,
        "user_id": request.user_id,
    }))
}

fn interaction_object(request: &Request, interaction: &Interaction) -> Result<Value, TrajectoryFault> {
    let tools: Vec<Value> = interaction
        .tools_used
        .iter()
        .map(|tool| {
            let mut object = json!({ "tool_name": tool.tool_name, "tool_data": tool.tool_data });
            // Nothing said of how it went is the same as no such member.
            if !tool.status.is_empty() {
                object["status"] = tool.status.as_str().into();
            }
            object
        })
        .collect();
    Ok(json!({
        "interaction_id": interaction.interaction_id,
        "user_id": request.user_id,
        "request_id": request.request_id,
        "content": interaction.content,
        "role": interaction.role,
        "user_action": interaction.user_action,
        "created_at": time_text(interaction.created_at)?,
        "token_count": interaction.token_count,
        "user_action_description": interaction.user_action_description,
        "interacted_image_url": interaction.interacted_image_url,
        "image_encoding": interaction.image_encoding,
        "shadow_content": interaction.shadow_content,
        "expert_content": interaction.expert_content,
        "tools_used": tools,
        "citations": interaction.citations,
        // Receipts were exchanged for their digests when they came.
        "retrieved_learnings": interaction.retrieved_learnings,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::{RetrievedLearning, ToolUsed};
    use crate::ids::{RequestId, UserId, hash_hex};

    /// The bytes of the example, as they are recorded elsewhere.
    const BYTES: &str = r#"{"requests":[{"interactions":[{"citations":[],"content":"hello é","created_at":"2026-01-01T00:00:00+00:00","expert_content":"","image_encoding":"","interacted_image_url":"","interaction_id":1,"request_id":"r1","retrieved_learnings":[],"role":"User","shadow_content":"","token_count":null,"tools_used":[],"user_action":"none","user_action_description":"","user_id":"u1"},{"citations":[],"content":"hi","created_at":"2026-01-01T00:00:00+00:00","expert_content":"","image_encoding":"","interacted_image_url":"","interaction_id":2,"request_id":"r1","retrieved_learnings":[{"exposure_receipt_digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","kind":"profile","learning_id":"p1"}],"role":"Assistant","shadow_content":"","token_count":null,"tools_used":[{"tool_data":{"n":1.0,"q":"x"},"tool_name":"search"}],"user_action":"none","user_action_description":"","user_id":"u1"}],"request":{"agent_version":"v1","created_at":"2026-01-01T00:00:00+00:00","evaluation_only":false,"request_id":"r1","retrieval_experiment_arm":null,"retrieval_experiment_id":null,"session_id":"s1","source":"support.chat","user_id":"u1"}}],"session_id":"s1"}"#;
    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_767_225_600;

    fn request() -> Request {
        Request {
            request_id: RequestId::new("r1").unwrap(),
            user_id: UserId::new("u1").unwrap(),
            created_at: NEW_YEAR,
            source: "support.chat".into(),
            agent_version: "v1".into(),
            session_id: SessionId::new("s1").unwrap(),
            evaluation_only: false,
            retrieval_experiment_id: None,
            retrieval_experiment_arm: None,
        }
    }

    fn turn(interaction_id: i64, role: &str, content: &str) -> Interaction {
        let (role, content) = (role.to_owned(), content.to_owned());
        Interaction { interaction_id, created_at: NEW_YEAR, role, content, ..Interaction::default() }
    }

    fn example() -> Vec<Interaction> {
        let tool_data = json!({ "q": "x", "n": 1.0 }).as_object().unwrap().clone();
        let learning = RetrievedLearning {
            kind: "profile".into(),
            learning_id: "p1".into(),
            exposure_receipt_digest: Some(hash_hex("abc")),
        };
        let hi = Interaction {
            tools_used: vec![ToolUsed { tool_name: "search".into(), tool_data, status: String::new() }],
            retrieved_learnings: vec![learning],
            ..turn(2, "Assistant", "hi")
        };
        vec![turn(1, "User", "hello é"), hi]
    }

    fn digest(requests: &[(Request, Vec<Interaction>)]) -> String {
        let mut hasher = TrajectoryHasher::default();
        for (request, interactions) in requests {
            hasher.add(request, interactions).unwrap();
        }
        hasher.finish(&SessionId::new("s1").unwrap())
    }

    #[test]
    fn the_recorded_session_has_the_recorded_digest() {
        assert_eq!(BYTES.len(), 1150);
        assert_eq!(hash_hex(BYTES), "bd4deae46f852629c44f36d38d4a76cfe104a32e5a0dceaf3e497cf819579233");
        assert_eq!(digest(&[(request(), example())]), hash_hex(BYTES));
    }

    #[test]
    fn a_request_without_interactions_stands_in_the_digest_too() {
        let expected = "b73c2cc5ee4f79d64dc6778be360f56b91eea366b3cb7cfa197de6c6964e75b3";
        assert_eq!(digest(&[(request(), Vec::new())]), expected);
    }

    #[test]
    fn interactions_are_ordered_by_their_times_and_then_by_their_ids() {
        let mut reversed = example();
        reversed.reverse();
        assert_eq!(digest(&[(request(), reversed)]), hash_hex(BYTES));
        let mut later = example();
        later[0].created_at += 1;
        assert_ne!(digest(&[(request(), later)]), hash_hex(BYTES));
    }

    #[test]
    fn the_digest_fed_by_pieces_is_that_of_the_whole() {
        let whole = BYTES.replace(
            r#"}}],"session_id""#,
            r#"}},{"interactions":[],"request":{"agent_version":"v1","created_at":"2026-01-01T00:00:01+00:00","evaluation_only":true,"request_id":"r2","retrieval_experiment_arm":null,"retrieval_experiment_id":null,"session_id":"s1","source":"","user_id":"u1"}}],"session_id""#,
        );
        let second = Request {
            request_id: RequestId::new("r2").unwrap(),
            created_at: NEW_YEAR + 1,
            source: String::new(),
            evaluation_only: true,
            ..request()
        };
        assert_eq!(digest(&[(request(), example()), (second, Vec::new())]), hash_hex(&whole));
    }

    #[test]
    fn what_has_no_spelling_has_no_digest() {
        let with = |data: Value| {
            let tool_data = data.as_object().unwrap().clone();
            let tool = ToolUsed { tool_name: "t".into(), tool_data, status: String::new() };
            let turn = Interaction { tools_used: vec![tool], ..turn(1, "User", "x") };
            TrajectoryHasher::default().add(&request(), &[turn])
        };
        assert_eq!(with(json!({ "n": (1_i64 << 53) - 1 })), Ok(()));
        let too_large = Err(TrajectoryFault::Canonical(CanonicalFault::IntegerTooLarge));
        assert_eq!(with(json!({ "n": 1_i64 << 53 })), too_large);
        // The data itself is at depth 7, so its member at 8.
        let nested = |levels: usize| json!({ "n": (0..levels).fold(json!(1), |inner, _| json!([inner])) });
        assert_eq!(with(nested(92)), Ok(()));
        assert_eq!(with(nested(93)), Err(TrajectoryFault::Canonical(CanonicalFault::TooDeep)));
        let mut late = request();
        late.created_at = i64::MAX;
        assert_eq!(TrajectoryHasher::default().add(&late, &[]), Err(TrajectoryFault::Time));
    }

    #[test]
    fn stored_times_are_written_to_the_end_of_the_last_year() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00+00:00"),
            (NEW_YEAR, "2026-01-01T00:00:00+00:00"),
            (1_709_210_096, "2024-02-29T12:34:56+00:00"),
            (253_402_300_799, "9999-12-31T23:59:59+00:00"),
        ] {
            assert_eq!(stored_time_text(at).as_deref(), Some(text));
        }
        assert_eq!(stored_time_text(253_402_300_800), None);
    }
}
