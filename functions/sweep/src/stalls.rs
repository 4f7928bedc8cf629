//! Overdue users whose organisation's learning stands still are not woken, but taken out of the common index.

use std::collections::{BTreeMap, HashMap};

use domain::ids::OrgId;
use runtime::App;
use store::{DueEntry, DueUser, TendedStall};
use wake::WakeReason;

use super::Settled;

/// What this sweep knows of organisations.
#[derive(Default)]
pub(crate) struct Stalls(HashMap<OrgId, bool>);

impl Stalls {
    /// Tells users who are held up, by organisation, from entries that can be dealt with.
    pub(crate) async fn separate<'e>(
        &mut self,
        app: &App,
        due: &'e [DueEntry],
    ) -> (BTreeMap<OrgId, Vec<DueUser>>, Vec<&'e DueEntry>) {
        let (mut held, mut free) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        for entry in due {
            match entry {
                DueEntry::User(user) if self.is_stalled(app, &user.org).await => {
                    held.entry(user.org.clone()).or_default().push(user.clone());
                }
                _ => free.push(entry),
            }
        }
        (held, free)
    }

    /// Where that cannot be read, its users are woken: their workers look once more.
    async fn is_stalled(&mut self, app: &App, org: &OrgId) -> bool {
        if let Some(known) = self.0.get(org) {
            return *known;
        }
        let stalled = match app.services.stall(org).await {
            Ok(stall) => stall.is_some_and(|stall| stall.stalled),
            Err(error) => {
                tracing::warn!(event = "stall_unreadable", org = org.as_str(), %error);
                false
            }
        };
        self.0.insert(org.clone(), stalled);
        stalled
    }
}

/// Parks users; how many. Those of an organisation that is not stalled any more are for the next sweep.
pub(crate) async fn park(app: &App, held: BTreeMap<OrgId, Vec<DueUser>>, failed: &mut usize) -> usize {
    let mut parked = 0;
    for (org, users) in held {
        match app.services.store.park_users(&org, &users).await {
            Ok(many) => parked += many.unwrap_or(0),
            Err(error) => {
                *failed += users.len();
                tracing::warn!(event = "sweep_failed", org = org.as_str(), %error);
            }
        }
    }
    parked
}

/// Looks after a stall: wakes the user who is let through.
pub(crate) async fn tend(app: &App, org: &OrgId) -> Result<Settled, String> {
    let services = &app.services;
    match services.store.tend_stall(org).await.map_err(|error| error.to_string())? {
        TendedStall::Nobody => Ok(Settled::Gone),
        TendedStall::PutBack(many) => Ok(Settled::PutBack(many)),
        TendedStall::Probe(user) => {
            let now = services.clock.now();
            services
                .wakes
                .learn(org, &user, WakeReason::Swept, now)
                .await
                .map_err(|error| error.to_string())?;
            Ok(Settled::Woken)
        }
    }
}
