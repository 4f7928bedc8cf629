//! Storing a request: one read, then one transaction of four items (six for a user's first request in a session: that
//! the user is in it, and that the session has a user more).

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, UserHash};
use domain::learning::{AdmissionPolicy, LearningKind};
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{COUNT, Item, USER_NUMBER_BASE, number, text};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::experiments::experiment_session_update;
use crate::heads::Head;
use crate::keys::{self, UserKeys};
use crate::lookups::{RequestReceipt, lookup_item};
use crate::objects::{digest, image_object, request_object};
use crate::publish_items::{count, document_item, head_update, receipt_item, session_update};
use crate::requests::{EncodedDocument, POSITIONS_PER_USER_NUMBER, encode};
use crate::retry::ATTEMPTS_MAX;
use crate::session_parts::census_digit;
use crate::session_timers::{EvaluationWanted, SessionTimer, arm};
use crate::shadow_jobs;
use crate::stalls::{Stall, found_stall, stall_key};
use crate::transaction::{Expression, Transaction, TransactionError};

/// A validated request, ready to be stored.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// The request; `created_at` is when it was received.
    pub request: Request,
    /// Its interactions; their ids are assigned here.
    pub interactions: Vec<Interaction>,
    /// How they count for learning.
    pub policy: AdmissionPolicy,
    /// Identity of the payload: the same request id with another payload is refused.
    pub payload_hash: String,
    /// When its session is to be judged, if it is.
    pub evaluation: Option<EvaluationWanted>,
}

/// When a worker should look at the user after this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A window is due, since this time.
    DueSince(EpochSeconds),
    /// Nothing is due yet; look at this time at the latest.
    IdleAt(EpochSeconds),
    /// Nothing to learn from.
    Nothing,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Position of the first interaction.
    pub first_position: i64,
    /// Whether this very request was stored before, by an earlier try.
    pub repeated: bool,
    /// Whether a worker must be woken.
    pub admission: Admission,
    /// Why the organisation's learning stands still, if it does.
    pub stall: Option<Stall>,
    /// The timer that is to be set for its session.
    pub timer: Option<SessionTimer>,
}

/// Why a request was not stored.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The request id was used for something else.
    #[error("request id is in use")]
    RequestIdInUse(RequestReceipt),
    /// The user is being erased.
    #[error("the user is being erased")]
    Barred,
    /// Nothing is known to have been stored; the same request may be sent again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the read before the transaction found.
struct Found {
    head: Option<Head>,
    session: Option<Item>,
    stall: Option<Stall>,
}

/// Indexes of the items whose refusal means something.
struct Placed {
    lookup: usize,
    head: usize,
}

impl Store {
    /// Stores a request. `admit` decides from the head as it will be, once the request is counted, whether a
    /// worker must look at once; it may be called again when another writer came first.
    ///
    /// # Errors
    /// [`PublishError`]; after [`PublishError::Store`] the same request id may be sent again.
    pub async fn publish(
        &self,
        org: &OrgId,
        new: &NewRequest,
        admit: impl Fn(&Head) -> Admission + Send,
    ) -> Result<Published, PublishError> {
        let user = UserHash::of(&new.request.user_id);
        let keys = UserKeys { org, user: &user };
        let (document, uploads) = large_parts(&keys, new)?;
        if !uploads.is_empty() {
            // What will be refused is refused before anything is stored, and a repeat overwrites nothing.
            if self.request_receipt(org, &new.request.request_id).await?.is_some() {
                let stall = self.stall(org).await?;
                return self.already_stored(org, new, Admission::Nothing, stall).await;
            }
            if self.head(&keys).await?.is_some_and(|head| head.barred) {
                return Err(PublishError::Barred);
            }
            for (object, body) in uploads {
                self.objects.put(&object, body).await?;
            }
        }
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let found = self.find(&keys, &new.request).await?;
            if found.head.as_ref().is_some_and(|head| head.barred) {
                return Err(PublishError::Barred);
            }
            let head = self.next_head(org, new, found.head.as_ref()).await?;
            let admission = admit(&head);
            let (transaction, placed, timer) =
                self.transaction(&keys, new, &document, &found, &head, admission);
            let first_position = head.count - count(new);
            match transaction.commit(self).await {
                Ok(()) => {
                    let stall = found.stall;
                    return Ok(Published { first_position, repeated: false, admission, stall, timer });
                }
                Err(error) if error.condition_failed(placed.lookup) => {
                    // After a first attempt it may be our own write whose answer was lost: then nobody was woken.
                    let admission = if attempt > 0 { admission } else { Admission::Nothing };
                    let stored = self.already_stored(org, new, admission, found.stall).await?;
                    // A timer that is set already is not set again.
                    return Ok(Published { timer: timer.filter(|_| attempt > 0), ..stored });
                }
                // Another publish of this user came first: look again.
                Err(error) if error.condition_failed(placed.head) || error.is_conflict() => {}
                Err(TransactionError::Store(error @ StoreError::Unavailable { .. })) => {
                    // The answer may have been lost after the write.
                    return match self.already_stored(org, new, admission, found.stall).await {
                        Ok(published) => Ok(Published { repeated: false, timer, ..published }),
                        Err(_) => Err(error.into()),
                    };
                }
                Err(error) => return Err(error.into_store_error("publish").into()),
            }
        }
        Err(StoreError::Contended { operation: "publish" }.into())
    }

    /// The request id is taken: by this very request, or by another one.
    async fn already_stored(
        &self,
        org: &OrgId,
        new: &NewRequest,
        admission: Admission,
        stall: Option<Stall>,
    ) -> Result<Published, PublishError> {
        let receipt =
            self.request_receipt(org, &new.request.request_id).await?.ok_or(StoreError::Unavailable {
                operation: "publish",
                detail: "request look-up vanished".to_owned(),
            })?;
        let same_user = receipt.user == UserHash::of(&new.request.user_id);
        if same_user && receipt.payload_hash == new.payload_hash {
            let first_position = receipt.first_position;
            Ok(Published { first_position, repeated: true, admission, stall, timer: None })
        } else {
            Err(PublishError::RequestIdInUse(receipt))
        }
    }

    async fn find(&self, keys: &UserKeys<'_>, request: &Request) -> Result<Found, StoreError> {
        let head_key = keys.head();
        let stall_key = stall_key(keys.org);
        let wanted = [head_key.clone(), keys.session(&request.session_id), stall_key.clone()];
        let mut found = Found { head: None, session: None, stall: None };
        for item in self.get_many(&wanted).await? {
            let sort_key = item.get(crate::attributes::SK);
            if sort_key == Some(&text(head_key.sk())) {
                found.head = Some(Head::from_item(&item)?);
            } else if sort_key == Some(&text(stall_key.sk())) {
                found.stall = found_stall(&item);
            } else {
                found.session = Some(item);
            }
        }
        Ok(found)
    }

    /// The head once this request is counted; a new user, or one whose number is used up, gets a number.
    async fn next_head(&self, org: &OrgId, new: &NewRequest, old: Option<&Head>) -> Result<Head, StoreError> {
        let many = count(new);
        let eligible = |kind: LearningKind| if new.policy.of(kind).eligible { many } else { 0 };
        let mut head = match old {
            Some(head) => head.clone(),
            None => Head {
                user_id: new.request.user_id.clone(),
                user_number: 0,
                user_number_base: 0,
                count: 0,
                admitted_profile: 0,
                admitted_playbook: 0,
                learned_profile: 0,
                learned_playbook: 0,
                due_at: None,
                due_revision: 0,
                purge_epoch: 0,
                barred: false,
            },
        };
        let used_up = head.count + many - head.user_number_base > POSITIONS_PER_USER_NUMBER;
        if old.is_none() || used_up {
            head.user_number = self.take_numbers(org, Counter::User, 1).await?;
            head.user_number_base = head.count;
        }
        head.count += many;
        head.admitted_profile += eligible(LearningKind::Profile);
        head.admitted_playbook += eligible(LearningKind::Playbook);
        Ok(head)
    }

    fn transaction(
        &self,
        keys: &UserKeys<'_>,
        new: &NewRequest,
        document: &EncodedDocument,
        found: &Found,
        head: &Head,
        admission: Admission,
    ) -> (Transaction, Placed, Option<SessionTimer>) {
        let mut transaction = Transaction::default();
        let lookup = transaction.create(self, receipt_item(keys, new, head));
        let head_index =
            transaction.update(self, &keys.head(), head_update(keys, found.head.as_ref(), head, admission));
        transaction.create(self, document_item(keys, new, document, head));
        let session = &new.request.session_id;
        let (update, timer) =
            arm(session_update(new, head), new.evaluation, found.session.as_ref(), keys, session);
        transaction.update(self, &keys.session(session), update);
        let new_number = found.head.as_ref().is_none_or(|old| old.user_number != head.user_number);
        if new_number {
            let mut item = lookup_item(&keys::user_number_lookup(keys.org, head.user_number), keys.user);
            item.insert(USER_NUMBER_BASE.to_owned(), number(head.user_number_base));
            transaction.create(self, item);
        }
        if found.session.is_none() {
            let key = keys::session_member(keys.org, &new.request.session_id, keys.user);
            transaction.put(self, lookup_item(&key, keys.user));
            transaction.update(
                self,
                &census_key(keys, new),
                Expression::new(format!("ADD {COUNT} :one")).value(":one", number(1)),
            );
        }
        if let Some(experiment_id) = &new.request.retrieval_experiment_id {
            let key = keys.experiment_session(experiment_id, &new.request.session_id);
            transaction.update(self, &key, experiment_session_update(keys.org, experiment_id, &new.request));
        }
        if new.interactions.iter().any(Interaction::is_shadowed_answer) {
            // The judge is due, whatever becomes of the wake.
            let first = head.count - count(new);
            transaction.create(self, shadow_jobs::job_item(keys, first, new.request.created_at));
        }
        (transaction, Placed { lookup, head: head_index }, timer)
    }
}

/// The count that says that a session has a user more; see [`crate::session_parts`].
fn census_key(keys: &UserKeys<'_>, new: &NewRequest) -> keys::Key {
    keys::session_census(keys.org, &new.request.session_id, census_digit(keys.user))
}

/// The name of an object and its body.
type Upload = (String, Vec<u8>);

/// Cuts off what does not fit the item: the document, and the objects with their bodies. The name of an object
/// holds the digest of its body, so that none is ever overwritten by another.
fn large_parts(keys: &UserKeys<'_>, new: &NewRequest) -> Result<(EncodedDocument, Vec<Upload>), StoreError> {
    let mut uploads = Vec::new();
    let mut interactions = new.interactions.clone();
    for interaction in &mut interactions {
        if !interaction.image_encoding.is_empty() {
            let image = std::mem::take(&mut interaction.image_encoding).into_bytes();
            let object = image_object(keys.org, keys.user, &new.request.request_id, &digest(&image));
            interaction.image_object = Some(object.clone());
            uploads.push((object, image));
        }
    }
    let mut document = encode(&new.request, &new.policy, &interactions)?;
    if let Some(spilled) = document.spilled.take() {
        let body_digest = digest(&spilled);
        let object = request_object(keys.org, keys.user, &new.request.request_id, &body_digest);
        document.object = Some((object.clone(), body_digest));
        uploads.push((object, spilled));
    }
    Ok((document, uploads))
}
