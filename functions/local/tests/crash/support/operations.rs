//! Batch operations of a process: starting, watching, carrying out.

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use domain::learning::LearningKind;
use http::StatusCode;
use serde_json::{Value, json};

use super::clock::pass;
use super::world::{Process, hash, keys, org, record};

/// The time-out of the operate function in the template, in milliseconds.
const OPERATE_MS: i64 = 720_000;
/// Minutes in which an operation must come to its end.
const MINUTES_MAX: usize = 60;

/// The status of an operation of profiles.
pub(crate) const PROFILES: &str = "profile_generation";
/// The status of an operation of playbooks.
pub(crate) const PLAYBOOKS: &str = "playbook_generation";

impl Process {
    /// Calls a route and expects a 200.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    /// Starts a rerun of profiles of all users.
    pub(crate) async fn rerun(&self) {
        let answer = self.ask("POST", "/api/rerun_profile_generation", Some(&json!({}))).await;
        assert_eq!(answer["success"], true, "{answer}");
    }

    /// What is said of the last operation of a service.
    pub(crate) async fn operation(&self, service: &str) -> Value {
        let answer =
            self.ask("GET", &format!("/api/get_operation_status?service_name={service}"), None).await;
        answer["operation_status"].clone()
    }

    /// Receives one message of the operations' queue.
    pub(crate) async fn receive_operation(&self) -> Option<Message> {
        let url = &self.app.settings.queues.operate;
        let receive = self.sqs.receive_message().queue_url(url).max_number_of_messages(1);
        let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
        receive.send().await.ok()?.messages.unwrap_or_default().pop()
    }

    /// Handles messages of the operations' queue as one batch.
    pub(crate) async fn handle_operations(&self, messages: &[Message]) -> SqsBatchResponse {
        let mut event = SqsEvent::default();
        event.records = messages.iter().map(record).collect();
        operate::handle(&self.app, event, self.app.services.clock.now_ms() + OPERATE_MS).await
    }

    /// Acknowledges a message of the operations' queue.
    pub(crate) async fn delete_operation(&self, message: &Message) {
        let handle = message.receipt_handle.clone().unwrap();
        let url = &self.app.settings.queues.operate;
        // One that is not deleted comes again.
        let _ = self.sqs.delete_message().queue_url(url).receipt_handle(handle).send().await;
    }

    /// What a mapping does with one message. `None` when none came.
    pub(crate) async fn operate_once(&self) -> Option<bool> {
        let message = self.receive_operation().await?;
        let mut failures = self.handle_operations(std::slice::from_ref(&message)).await.batch_item_failures;
        if self.comes_twice() {
            failures = self.handle_operations(std::slice::from_ref(&message)).await.batch_item_failures;
        }
        if failures.is_empty() {
            self.delete_operation(&message).await;
        }
        Some(failures.is_empty())
    }

    /// Works until the queue of operations has nothing to give.
    pub(crate) async fn drain_operations(&self) {
        while self.operate_once().await.is_some() {}
    }

    /// Lets the queue and the sweep run, minute after minute, until the operation of a service is over.
    pub(crate) async fn run_operation(&self, service: &str) -> Value {
        for _ in 0..MINUTES_MAX {
            self.drain_operations().await;
            let operation = self.operation(service).await;
            if operation["status"] != "in_progress" {
                return operation;
            }
            pass(60).await;
            self.sweep().await.unwrap();
        }
        panic!("not over after {MINUTES_MAX} minutes: {}", self.operation(service).await);
    }

    /// Rows of a user, whatever their status: pending ones first.
    pub(crate) async fn rows(&self, user: &str, kind: LearningKind) -> (usize, usize) {
        let (org, user) = (org(), hash(user));
        let keys = keys(&org, &user);
        let store = &self.app.services.store;
        let pending: Vec<bool> = match kind {
            LearningKind::Profile => {
                let rows = store.profiles(&keys).await.unwrap();
                rows.iter().map(|row| row.profile.status.is_some()).collect()
            }
            LearningKind::Playbook => {
                let rows = store.user_playbooks(&keys).await.unwrap();
                rows.iter().map(|row| row.playbook.status.is_some()).collect()
            }
        };
        let many = pending.iter().filter(|pending| **pending).count();
        (many, pending.len() - many)
    }
}
