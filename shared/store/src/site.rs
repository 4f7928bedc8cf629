//! What belongs to the deployment and to no organisation: its variables, and invitations to create organisations.

use domain::ids::OrgId;
use domain::site_vars::SiteKey;
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::api_keys::{Organisation, organisation_item};
use crate::attributes::{AT, DOCUMENT, Item, ItemBuilder, ItemReader, PK, SK, number, text};
use crate::error::StoreError;
use crate::keys;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction};

/// First characters of a code.
const PREFIX: &str = "pre";
/// Until when a code is valid, in epoch seconds; absent: for ever.
const EXPIRES_AT: &str = "exp";
/// When a code was used, and which organisation was created with it.
const USED_AT: &str = "usat";
const USED_BY: &str = "usby";

/// A variable of the deployment, as it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteVar {
    /// Its key.
    pub key: String,
    /// What it was set to.
    pub text: String,
    /// When.
    pub set_at: EpochSeconds,
}

/// An invitation: of the code only the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Hex SHA-256 of the code.
    pub code_hash: String,
    /// Its first characters, to recognise it by.
    pub prefix: String,
    /// When it was made.
    pub created_at: EpochSeconds,
    /// From when on it is no longer valid; `None`: never.
    pub expires_at: Option<EpochSeconds>,
    /// When it was used, and by which organisation.
    pub used: Option<(EpochSeconds, OrgId)>,
}

/// What became of an attempt to create an organisation with an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// The organisation exists and the invitation is used.
    Created,
    /// The id is taken; the invitation can still be used.
    IdTaken,
    /// There is no such invitation, or it was used, or it is no longer valid. Nothing was created.
    Refused,
}

impl Store {
    /// All variables of the deployment, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails. An item that is damaged is left out: one bad variable must not take the
    /// others with it.
    pub async fn site_vars(&self) -> Result<Vec<SiteVar>, StoreError> {
        let range = Range::prefix(keys::SITE_PARTITION, keys::SITE_VARIABLE_PREFIX);
        let items = self.query_all(range).await?;
        let read = |item: &Item| {
            let var = site_var(item);
            if let Err(error) = &var {
                tracing::error!(event = "site_var_unreadable", %error);
            }
            var.ok()
        };
        Ok(items.iter().filter_map(read).collect())
    }

    /// Sets a variable of the deployment.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn put_site_var(&self, key: &SiteKey, value: &str) -> Result<(), StoreError> {
        let item = ItemBuilder::new(&keys::site_variable(key))
            .text(DOCUMENT, value)
            .number(AT, self.clock.now())
            .build();
        self.put_one(item, None, Vec::new()).await.map(drop)
    }

    /// Stores an invitation; `false` when there is one with the same code.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn create_invitation(&self, invitation: &Invitation) -> Result<bool, StoreError> {
        let mut item = ItemBuilder::new(&keys::invitation(&invitation.code_hash))
            .text(PREFIX, &invitation.prefix)
            .number(AT, invitation.created_at);
        if let Some(at) = invitation.expires_at {
            item = item.number(EXPIRES_AT, at);
        }
        self.put_one(item.build(), Some(&format!("attribute_not_exists({PK})")), Vec::new()).await
    }

    /// All invitations, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn invitations(&self) -> Result<Vec<Invitation>, StoreError> {
        let range = Range::prefix(keys::INVITATION_PARTITION, keys::INVITATION_PREFIX);
        let items = self.query_all(range).await?;
        let mut found = items.iter().map(invitation).collect::<Result<Vec<_>, _>>()?;
        found.sort_by(|a, b| (a.created_at, &a.prefix).cmp(&(b.created_at, &b.prefix)));
        Ok(found)
    }

    /// Creates an organisation and uses up the invitation with this hash, both or neither.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn create_invited_organisation(
        &self,
        organisation: &Organisation,
        code_hash: &str,
    ) -> Result<Redeemed, StoreError> {
        let now = self.clock.now();
        let valid = format!(
            "attribute_exists({PK}) AND attribute_not_exists({USED_AT}) \
             AND (attribute_not_exists({EXPIRES_AT}) OR {EXPIRES_AT} > :now)"
        );
        for attempt in 1..=ATTEMPTS_MAX {
            let redeem = Expression::new(format!("SET {USED_AT} = :now, {USED_BY} = :org"))
                .condition(valid.clone())
                .value(":now", number(now))
                .value(":org", text(organisation.id.as_str()));
            let mut transaction = Transaction::default();
            let invitation = transaction.update(self, &keys::invitation(code_hash), redeem);
            let created = transaction.create(self, organisation_item(organisation));
            match transaction.commit(self).await {
                Ok(()) => return Ok(Redeemed::Created),
                // Asked first: whoever has no invitation is not told which ids are taken.
                Err(error) if error.condition_failed(invitation) => return Ok(Redeemed::Refused),
                Err(error) if error.condition_failed(created) => return Ok(Redeemed::IdTaken),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(error) => return Err(error.into_store_error("create organisation")),
            }
        }
        Err(StoreError::Contended { operation: "create organisation" })
    }
}

fn site_var(item: &Item) -> Result<SiteVar, StoreError> {
    let reader = ItemReader(item);
    let key = reader.text(SK)?.strip_prefix(keys::SITE_VARIABLE_PREFIX);
    Ok(SiteVar {
        key: key.ok_or_else(|| reader.corrupt(SK))?.to_owned(),
        text: reader.text(DOCUMENT)?.to_owned(),
        set_at: reader.number(AT)?,
    })
}

fn invitation(item: &Item) -> Result<Invitation, StoreError> {
    let reader = ItemReader(item);
    let hash = reader.text(SK)?.strip_prefix(keys::INVITATION_PREFIX);
    let used = match reader.number_opt(USED_AT) {
        None => None,
        Some(at) => Some((at, reader.text(USED_BY)?.parse().map_err(|_| reader.corrupt(USED_BY))?)),
    };
    Ok(Invitation {
        code_hash: hash.ok_or_else(|| reader.corrupt(SK))?.to_owned(),
        prefix: reader.text(PREFIX)?.to_owned(),
        created_at: reader.number(AT)?,
        expires_at: reader.number_opt(EXPIRES_AT),
        used,
    })
}
