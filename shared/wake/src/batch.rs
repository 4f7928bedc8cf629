//! Handling a batch of a FIFO queue: in order within a group, on with the other groups when one fails, and
//! no message taken for handled that was not.

use std::collections::HashSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::FutureExt;
use serde::de::DeserializeOwned;

/// The infrastructure failed: the message must be delivered again. Business failures never come to this;
/// they are recorded, and the message is acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Redeliver(pub String);

/// Hands each message of `event` to `handle` and says which ones must be delivered again.
///
/// - A group stops at its first failure, so that order is kept; other groups go on.
/// - A panic is that message's failure, not the batch's.
/// - A body that cannot be read is acknowledged: a retry cannot mend it.
pub async fn process_fifo_batch<M, F, Fut>(event: SqsEvent, handle: F) -> SqsBatchResponse
where
    M: DeserializeOwned,
    F: Fn(M) -> Fut,
    Fut: Future<Output = Result<(), Redeliver>> + Send,
{
    let mut response = SqsBatchResponse::default();
    let mut stopped: HashSet<String> = HashSet::new();
    for record in event.records {
        let group = record.attributes.get("MessageGroupId").cloned().unwrap_or_default();
        let handled = !stopped.contains(&group) && handle_record(&record, &handle).await;
        if !handled {
            stopped.insert(group);
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = record.message_id.unwrap_or_default();
            response.batch_item_failures.push(failure);
        }
    }
    response
}

/// Whether the message is done with.
async fn handle_record<M, F, Fut>(record: &SqsMessage, handle: &F) -> bool
where
    M: DeserializeOwned,
    F: Fn(M) -> Fut,
    Fut: Future<Output = Result<(), Redeliver>> + Send,
{
    let message_id = record.message_id.as_deref().unwrap_or("");
    let body = record.body.as_deref().unwrap_or("");
    let message = match serde_json::from_str::<M>(body) {
        Ok(message) => message,
        Err(error) => {
            // A malformed body is recorded and acknowledged: a retry cannot mend it. Its text may be anybody's.
            tracing::error!(message_id, line = error.line(), column = error.column(), "malformed message");
            return true;
        }
    };
    // The future is built inside, so that a panic before its first await is caught too. Its type is erased: what
    // workers do is deeper than the compiler follows in one type.
    let outcome = AssertUnwindSafe(async { handle(message).boxed().await }).catch_unwind().await;
    match outcome {
        Ok(Ok(())) => true,
        Ok(Err(Redeliver(reason))) => {
            tracing::warn!(message_id, reason, "message goes back to the queue");
            false
        }
        Err(_) => {
            tracing::error!(message_id, "handler panicked");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn event(messages: &[(&str, &str, &str)]) -> SqsEvent {
        let records = messages
            .iter()
            .map(|(id, group, body)| {
                let mut record = SqsMessage::default();
                record.message_id = Some((*id).to_owned());
                record.body = Some((*body).to_owned());
                record.attributes.insert("MessageGroupId".to_owned(), (*group).to_owned());
                record
            })
            .collect();
        let mut event = SqsEvent::default();
        event.records = records;
        event
    }

    async fn run(messages: &[(&str, &str, &str)]) -> (Vec<i64>, Vec<String>) {
        let seen = Mutex::new(Vec::new());
        let response = process_fifo_batch(event(messages), |number: i64| {
            seen.lock().unwrap().push(number);
            async move {
                assert!(number != 13, "thirteen");
                if number < 0 { Err(Redeliver("negative".to_owned())) } else { Ok(()) }
            }
        })
        .await;
        let failed = response.batch_item_failures.into_iter().map(|f| f.item_identifier).collect();
        (seen.into_inner().unwrap(), failed)
    }

    #[tokio::test]
    async fn a_group_stops_at_its_first_failure_and_other_groups_go_on() {
        let (seen, failed) =
            run(&[("a", "g", "1"), ("b", "g", "-1"), ("c", "h", "2"), ("d", "g", "3")]).await;
        assert_eq!(seen, [1, -1, 2]);
        assert_eq!(failed, ["b", "d"]);
    }

    #[tokio::test]
    async fn a_panic_is_the_failure_of_one_message() {
        let (seen, failed) = run(&[("a", "g", "13"), ("b", "h", "2")]).await;
        assert_eq!(seen, [13, 2]);
        assert_eq!(failed, ["a"]);
    }

    #[tokio::test]
    async fn a_body_that_cannot_be_read_is_acknowledged() {
        let (seen, failed) = run(&[("a", "g", "not json"), ("b", "g", "2")]).await;
        assert_eq!(seen, [2]);
        assert!(failed.is_empty());
    }

    #[tokio::test]
    async fn an_empty_batch_fails_nothing() {
        assert_eq!(run(&[]).await, (vec![], vec![]));
    }
}
