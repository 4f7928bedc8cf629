//! Invitation codes: made, printed once, listed by their first characters.

use domain::invitations::InvitationCode;
use domain::time::EpochSeconds;
use runtime::ids::random_bytes;
use store::{Invitation, Store};

use super::{AdminError, moment};

const SECONDS_PER_DAY: i64 = 86_400;
/// Random bytes for one code: twice what it needs, since some are passed over.
const RANDOM_BYTES: usize = 32;

/// Makes `count` codes and prints them, one a line.
pub(super) async fn generate(
    store: &Store,
    count: u32,
    expires_in_days: Option<u32>,
) -> Result<String, AdminError> {
    let created_at = store.clock().now();
    let expires_at = expires_in_days.map(|days| created_at + i64::from(days) * SECONDS_PER_DAY);
    let mut printed = String::new();
    for _ in 0..count {
        let code = new_code(store, created_at, expires_at).await?;
        printed.push_str(&format!("{}\n", code.expose()));
    }
    Ok(printed)
}

async fn new_code(
    store: &Store,
    created_at: EpochSeconds,
    expires_at: Option<EpochSeconds>,
) -> Result<InvitationCode, AdminError> {
    loop {
        // Too few usable bytes, or a code that exists: both next to impossible, and mended by other bytes.
        let Some(code) = InvitationCode::from_random(&random_bytes::<RANDOM_BYTES>()) else { continue };
        let invitation = Invitation {
            code_hash: code.hash(),
            prefix: code.prefix().to_owned(),
            created_at,
            expires_at,
            used: None,
        };
        if store.create_invitation(&invitation).await? {
            return Ok(code);
        }
    }
}

/// Lists the codes that can be used; with `show_used` all, and what became of them.
pub(super) async fn list(store: &Store, show_used: bool) -> Result<String, AdminError> {
    let now = store.clock().now();
    let all = store.invitations().await?;
    let mut printed = String::from(if show_used {
        "code                 created               expires               status     used at               used by\n"
    } else {
        "code                 created               expires\n"
    });
    for invitation in all.iter().filter(|invitation| show_used || status(invitation, now) == "unused") {
        let code = format!("{}-…", invitation.prefix);
        let expires = invitation.expires_at.map_or_else(|| "never".to_owned(), moment);
        let mut line = format!("{code:20} {:21} {expires:21}", moment(invitation.created_at));
        if show_used {
            let (at, by) = match &invitation.used {
                Some((at, org)) => (moment(*at), org.to_string()),
                None => ("-".to_owned(), "-".to_owned()),
            };
            line.push_str(&format!(" {:10} {at:21} {by}", status(invitation, now)));
        }
        printed.push_str(line.trim_end());
        printed.push('\n');
    }
    Ok(printed)
}

fn status(invitation: &Invitation, now: EpochSeconds) -> &'static str {
    if invitation.used.is_some() {
        "used"
    } else if invitation.expires_at.is_some_and(|at| at <= now) {
        "expired"
    } else {
        "unused"
    }
}
