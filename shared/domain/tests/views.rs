//! What callers see, member by member, as recorded.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::entities::{
    Interaction, Request, RetrievalExperimentArm, RetrievedLearning, Status, ToolUsed, UserPlaybook,
    UserProfile,
};
use domain::ids::{ProfileId, RequestId, SessionId, UserId};
use domain::views::{
    AddedAnswer, ConfigAnswer, ExperimentAssignment, InteractionView, InteractionsAnswer, LearningReason,
    LearningState, ProfilesAnswer, PublishAnswer, RequestDataView, RequestsAnswer, SessionView,
    UnifiedSearchAnswer, UserPlaybooksAnswer,
};
use serde::Serialize;

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn user() -> UserId {
    UserId::new("gold-user").unwrap()
}

fn request_id() -> RequestId {
    RequestId::new("r1").unwrap()
}

fn interaction() -> InteractionView {
    let interaction = Interaction {
        interaction_id: 10,
        created_at: 1_796_048_835,
        role: "Assistant".into(),
        content: "booked".into(),
        tools_used: vec![ToolUsed {
            tool_name: "book".into(),
            status: "success".into(),
            ..ToolUsed::default()
        }],
        retrieved_learnings: vec![RetrievedLearning {
            kind: "user_playbook".into(),
            learning_id: "1".into(),
            exposure_receipt_digest: None,
        }],
        image_encoding: "hidden".into(),
        ..Interaction::default()
    };
    InteractionView::new(user(), request_id(), interaction)
}

#[test]
fn an_interaction_is_shown_without_its_image_and_citations() {
    assert_eq!(
        text(&InteractionsAnswer::found(vec![interaction()])),
        r#"{"success":true,"interactions":[{"interaction_id":10,"user_id":"gold-user","request_id":"r1","created_at":1796048835,"role":"Assistant","content":"booked","user_action":"none","user_action_description":"","interacted_image_url":"","shadow_content":"","expert_content":"","tools_used":[{"tool_name":"book","tool_data":{},"status":"success"}],"retrieved_learnings":[{"kind":"user_playbook","learning_id":"1"}]}],"msg":"Found 1 interaction(s)"}"#
    );
}

#[test]
fn sessions_hold_requests_and_requests_interactions() {
    let request = Request {
        request_id: request_id(),
        user_id: user(),
        created_at: 5,
        source: String::new(),
        agent_version: "v1".into(),
        session_id: SessionId::new("s").unwrap(),
        evaluation_only: false,
        retrieval_experiment_id: Some("e".into()),
        retrieval_experiment_arm: Some(RetrievalExperimentArm::Holdout),
    };
    let requests = vec![RequestDataView { request: request.into(), interactions: Vec::new() }];
    let session = SessionView { session_id: SessionId::new("s").unwrap(), requests };
    assert_eq!(
        text(&RequestsAnswer::new(vec![session], false)),
        r#"{"success":true,"sessions":[{"session_id":"s","requests":[{"request":{"request_id":"r1","user_id":"gold-user","created_at":5,"source":"","agent_version":"v1","session_id":"s","evaluation_only":false,"retrieval_experiment_id":"e","retrieval_experiment_arm":"holdout"},"interactions":[]}]}],"has_more":false,"msg":"Found 1 request(s) in 1 session(s)"}"#
    );
}

fn profile() -> UserProfile {
    UserProfile {
        profile_id: ProfileId::new("p-gold-4").unwrap(),
        user_id: user(),
        content: "Pending fact".into(),
        last_modified_timestamp: 1_700_000_000,
        generated_from_request_id: "r0".into(),
        profile_time_to_live: domain::entities::ProfileTimeToLive::OneMonth,
        expiration_timestamp: 4_102_444_800,
        custom_features: None,
        source: None,
        status: Some(Status::Pending),
        extractor_names: None,
        expanded_terms: Some("hidden".into()),
        tags: None,
        source_interaction_ids: vec![1],
        source_span: Some("span".into()),
        notes: Some("hidden".into()),
        reader_angle: None,
        merged_into: None,
        superseded_by: None,
        created_at: 1,
    }
}

#[test]
fn a_profile_is_shown_with_its_source_and_tags_even_if_it_has_none() {
    assert_eq!(
        text(&ProfilesAnswer::matching(vec![profile().into()])),
        r#"{"success":true,"user_profiles":[{"profile_id":"p-gold-4","user_id":"gold-user","content":"Pending fact","last_modified_timestamp":1700000000,"generated_from_request_id":"r0","profile_time_to_live":"one_month","expiration_timestamp":4102444800,"source":"","status":"pending","source_span":"span","source_interaction_ids":[1],"tags":[]}],"msg":"Found 1 matching profile(s)"}"#
    );
}

#[test]
fn a_playbook_without_a_user_or_source_is_shown_without_them() {
    let playbook: UserPlaybook = serde_json::from_value(serde_json::json!({
        "user_playbook_id": 8, "agent_version": "v2", "request_id": "r9", "created_at": 1_796_048_842,
        "content": "Ask for the missing export tool", "trigger": "export requested",
        "blocking_issue": {"kind": "missing_tool", "details": "no export"},
    }))
    .unwrap();
    assert_eq!(
        text(&UserPlaybooksAnswer::found(vec![playbook.into()])),
        r#"{"success":true,"user_playbooks":[{"user_playbook_id":8,"agent_version":"v2","request_id":"r9","playbook_name":"","created_at":1796048842,"content":"Ask for the missing export tool","trigger":"export requested","source_interaction_ids":[],"tags":[]}],"msg":"Found 1 user playbook(s)"}"#
    );
}

#[test]
fn a_withheld_search_names_the_arm() {
    let experiment =
        ExperimentAssignment { experiment_id: "exp-1".into(), arm: RetrievalExperimentArm::Holdout };
    assert_eq!(
        text(&ProfilesAnswer::withheld(experiment)),
        r#"{"success":true,"user_profiles":[],"msg":"Retrieval withheld by experiment assignment","experiment":{"experiment_id":"exp-1","arm":"holdout"}}"#
    );
    assert_eq!(
        text(&UnifiedSearchAnswer { success: true, ..UnifiedSearchAnswer::default() }),
        r#"{"success":true,"profiles":[],"agent_playbooks":[],"user_playbooks":[],"degraded":false}"#
    );
}

#[test]
fn a_publish_is_answered_as_recorded() {
    let answer = PublishAnswer {
        success: true,
        message: PublishAnswer::message(0),
        request_id: Some("golden-req-1".into()),
        storage_type: Some("dynamodb".into()),
        storage_label: Some("table".into()),
        profiles_added: Some(0),
        playbooks_added: Some(0),
        learning_status: Some(LearningState::Deferred),
        learning_reason: Some(LearningReason::WaitingForWindow),
        ..PublishAnswer::default()
    };
    assert_eq!(
        text(&answer),
        r#"{"success":true,"message":"Interaction published successfully","warnings":[],"request_id":"golden-req-1","storage_type":"dynamodb","storage_label":"table","profiles_added":0,"playbooks_added":0,"learning_status":"deferred","learning_reason":"waiting_for_window"}"#
    );
    assert_eq!(
        text(&PublishAnswer::duplicate("golden-req-1")),
        r#"{"success":false,"message":"request_id 'golden-req-1' already exists","warnings":[]}"#
    );
    assert_eq!(PublishAnswer::message(1), "Interaction published successfully with 1 warning(s)");
    assert_eq!(
        PublishAnswer::stall_warning(Some("billing_error")),
        "Reflexio learning is paused (billing_error); wait for the limit/reset condition to clear, then run an explicit override retry to resume."
    );
    assert!(PublishAnswer::stall_warning(None).contains("(unknown)"));
}

#[test]
fn counts_and_changes_are_told_in_words() {
    assert_eq!(
        text(&AddedAnswer::profiles(3)),
        r#"{"success":true,"message":"Added 3 profile(s)","added_count":3}"#
    );
    assert_eq!(
        text(&AddedAnswer::playbooks(1)),
        r#"{"success":true,"message":"Added 1 item(s)","added_count":1}"#
    );
    assert_eq!(text(&ConfigAnswer::unchanged()), r#"{"success":true,"msg":"Configuration unchanged"}"#);
}
