//! `GET /api/profile_change_log`: what changed in profiles, the newest first.

use std::sync::Arc;

use axum::extract::State;
use domain::ids::OrgId;
use domain::views::{LoggedProfileView, ProfileChangeView, ProfileChangesAnswer};
use runtime::App;
use store::{Listing, ProfileChange, Store};

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};

/// Most changes of one answer.
const CHANGES_MAX: usize = 100;
/// An answer gets no further change beyond this size, in bytes: Lambda carries 6 MB, and the route has no pages.
const CHANGES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Entries that are read at a time: each may be 300 KB.
const PAGE_ENTRIES: usize = 20;

pub(crate) async fn profile_change_log(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    let profile_change_logs = newest(&app.services.store, &caller.org).await?;
    ok(ProfileChangesAnswer { success: true, profile_change_logs })
}

async fn newest(store: &Store, org: &OrgId) -> Result<Vec<ProfileChangeView>, Failure> {
    let (mut found, mut bytes, mut page) = (Vec::new(), 0, None);
    loop {
        let (entries, next) = store.list(org, Listing::ProfileChanges, PAGE_ENTRIES, page).await?;
        let keys: Vec<_> = entries.into_iter().map(|entry| entry.key).collect();
        for change in store.profile_changes(&keys).await? {
            let change = view(change);
            bytes += serde_json::to_vec(&change).map_or(0, |json| json.len());
            let is_full = found.len() == CHANGES_MAX || (bytes > CHANGES_BYTES_MAX && !found.is_empty());
            if is_full {
                return Ok(found);
            }
            found.push(change);
        }
        match next {
            Some(next) if found.len() < CHANGES_MAX => page = Some(next),
            _ => return Ok(found),
        }
    }
}

fn view(change: ProfileChange) -> ProfileChangeView {
    let logged = |rows: Vec<_>| rows.into_iter().map(LoggedProfileView::from).collect();
    ProfileChangeView {
        id: 0,
        user_id: change.user_id,
        request_id: change.request_id,
        created_at: change.created_at,
        added_profiles: logged(change.added_profiles),
        removed_profiles: logged(change.removed_profiles),
    }
}
