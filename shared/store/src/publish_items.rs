//! The items that storing a request writes.

use crate::attributes::{
    ADMITTED_PLAYBOOK, ADMITTED_PROFILE, AGENT_VERSION, AT, BARRIER, BY_TIME_PK, BY_TIME_SK, COUNT, DOCUMENT,
    DUE_AT, DUE_PK, FIRST_AT, FIRST_POSITION, Item, ItemBuilder, LAST_POSITION, OBJECT, OBJECT_DIGEST,
    OUTPUT_TOKENS, PAYLOAD_HASH, POSITION, REQUEST, SESSION, SOURCE, USER, USER_HASH, USER_NUMBER,
    USER_NUMBER_BASE, VERSION, number, text,
};
use crate::due;
use crate::experiments::output_tokens;
use crate::heads::Head;
use crate::keys::{self, Listing, UserKeys, time_key};
use crate::publish::{Admission, NewRequest};
use crate::requests::EncodedDocument;
use crate::transaction::Expression;

pub(crate) fn count(new: &NewRequest) -> i64 {
    i64::try_from(new.interactions.len()).unwrap_or(i64::MAX)
}

pub(crate) fn document_item(
    keys: &UserKeys<'_>,
    new: &NewRequest,
    document: &EncodedDocument,
    head: &Head,
) -> Item {
    let request = &new.request;
    let first = head.count - count(new);
    let (object, object_digest) = document.object.as_ref().map(|(o, d)| (o.as_str(), d.as_str())).unzip();
    ItemBuilder::new(&keys.request(first))
        .number(POSITION, first)
        .number(COUNT, count(new))
        .number(USER_NUMBER, head.user_number)
        .number(USER_NUMBER_BASE, head.user_number_base)
        .text(DOCUMENT, &document.text)
        .text_if(OBJECT, object)
        .text_if(OBJECT_DIGEST, object_digest)
        .text(SESSION, request.session_id.as_str())
        .text(SOURCE, &request.source)
        // Who is judged anew follows from the index alone.
        .text(USER, request.user_id.as_str())
        .text(AGENT_VERSION, &request.agent_version)
        .text(BY_TIME_PK, &Listing::Requests.partition(keys.org))
        .text(BY_TIME_SK, &time_key(request.created_at, &request.request_id.hash()[..16]))
        .build()
}

pub(crate) fn receipt_item(keys: &UserKeys<'_>, new: &NewRequest, head: &Head) -> Item {
    let request = &new.request;
    let latest = new.interactions.iter().map(|i| i.created_at).max().unwrap_or(request.created_at);
    ItemBuilder::new(&keys::request_lookup(keys.org, &request.request_id))
        .text(USER_HASH, keys.user.as_str())
        .number(POSITION, head.count - count(new))
        .number(COUNT, count(new))
        .text(PAYLOAD_HASH, &new.payload_hash)
        .number(AT, request.created_at)
        .text(BY_TIME_PK, &Listing::Interactions.partition(keys.org))
        // Later user numbers sort later among equals, as their interaction ids do.
        .text(BY_TIME_SK, &time_key(latest, &time_key(head.user_number, &keys::padded(head.count))))
        .build()
}

/// The condition is the exact count that was read: position order is commit order.
pub(crate) fn head_update(
    keys: &UserKeys<'_>,
    seen: Option<&Head>,
    head: &Head,
    admission: Admission,
) -> Expression {
    let mut update = format!(
        "SET {COUNT} = :count, {ADMITTED_PROFILE} = :ap, {ADMITTED_PLAYBOOK} = :ab, \
         {USER_NUMBER} = :un, {USER_NUMBER_BASE} = :unb"
    );
    if seen.is_none() {
        update.push_str(&format!(", {USER} = :uid"));
    }
    match admission {
        Admission::DueSince(_) => update.push_str(&format!(", {DUE_AT} = :due, {DUE_PK} = :shard")),
        // What was to be looked at later than that is looked at earlier.
        Admission::IdleAt(at) if seen.and_then(|old| old.due_at).is_some_and(|due| due > at) => {
            update.push_str(&format!(", {DUE_AT} = :due, {DUE_PK} = :shard"));
        }
        Admission::IdleAt(_) => update.push_str(&format!(
            ", {DUE_AT} = if_not_exists({DUE_AT}, :due), {DUE_PK} = if_not_exists({DUE_PK}, :shard)"
        )),
        Admission::Nothing => {}
    }
    let mut expression = Expression::new(update)
        .value(":count", number(head.count))
        .value(":ap", number(head.admitted_profile))
        .value(":ab", number(head.admitted_playbook))
        .value(":un", number(head.user_number))
        .value(":unb", number(head.user_number_base));
    expression = match seen {
        Some(old) => expression
            .condition(format!("{COUNT} = :seen AND attribute_not_exists({BARRIER})"))
            .value(":seen", number(old.count)),
        None => expression
            .condition(format!("attribute_not_exists({COUNT}) AND attribute_not_exists({BARRIER})"))
            .value(":uid", text(head.user_id.as_str())),
    };
    let due_at = match admission {
        Admission::DueSince(at) | Admission::IdleAt(at) => at,
        Admission::Nothing => return expression,
    };
    expression.value(":due", number(due_at)).value(":shard", text(&due::partition(keys.user)))
}

pub(crate) fn session_update(new: &NewRequest, head: &Head) -> Expression {
    let request = &new.request;
    let first = head.count - count(new);
    Expression::new(format!(
        "SET {VERSION} = if_not_exists({VERSION}, :zero) + :one, {COUNT} = if_not_exists({COUNT}, :zero) + :one, \
         {SESSION} = :ses, {AT} = :at, {LAST_POSITION} = :pos, {FIRST_POSITION} = if_not_exists({FIRST_POSITION}, :pos), \
         {FIRST_AT} = if_not_exists({FIRST_AT}, :at), {REQUEST} = if_not_exists({REQUEST}, :rid), \
         {AGENT_VERSION} = :av, {SOURCE} = :src \
         ADD {OUTPUT_TOKENS} :tokens"
    ))
    .value(":zero", number(0))
    .value(":one", number(1))
    .value(":ses", text(request.session_id.as_str()))
    .value(":at", number(request.created_at))
    .value(":pos", number(first))
    .value(":rid", text(request.request_id.as_str()))
    .value(":av", text(&request.agent_version))
    .value(":src", text(&request.source))
    .value(":tokens", number(output_tokens(&new.interactions)))
}
