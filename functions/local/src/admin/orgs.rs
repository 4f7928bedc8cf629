//! Organisations: created by name, with an invitation where the deployment asks for one.

use domain::ids::OrgId;
use domain::invitations::InvitationCode;
use runtime::{SELF_HOST_ORG, SiteVars};
use store::{Organisation, Redeemed, Store};

use super::AdminError;

/// One text for every way in which an invitation can be of no use, so that nobody learns which codes exist.
const INVITATION_REFUSED: &str =
    "creating an organisation needs an invitation code that is valid and was not used: --invitation CODE";

/// Creates an organisation. A code that is not needed is left unused.
pub(super) async fn create(
    store: &Store,
    name: &str,
    invitation: Option<&str>,
) -> Result<String, AdminError> {
    let id = org_id(name)?;
    let created_at = store.clock().now();
    let organisation = Organisation { id: id.clone(), name: name.trim().to_owned(), created_at };
    let taken = || format!("there is an organisation with the id {id} already");
    if !SiteVars::new(store.clone()).read().await.flags.invitation_only() {
        return if store.create_organisation(&organisation).await? {
            Ok(format!("{id}\n"))
        } else {
            Err(taken().into())
        };
    }
    let code = invitation.and_then(InvitationCode::parse).ok_or(INVITATION_REFUSED)?;
    match store.create_invited_organisation(&organisation, &code.hash()).await? {
        Redeemed::Created => Ok(format!("{id}\n")),
        Redeemed::IdTaken => Err(taken().into()),
        Redeemed::Refused => Err(INVITATION_REFUSED.into()),
    }
}

/// The organisation that a command names; it must exist.
pub(super) async fn existing(store: &Store, org: &str) -> Result<OrgId, AdminError> {
    let org: OrgId = org.parse()?;
    if store.organisation(&org).await?.is_none() && org.as_str() != SELF_HOST_ORG {
        let advice = "create it with: retrospect admin org create NAME";
        return Err(format!("there is no organisation {org}; {advice}").into());
    }
    Ok(org)
}

/// The id of an organisation's name: lower-case letters and digits, with dashes between words.
fn org_id(name: &str) -> Result<OrgId, AdminError> {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-").parse().map_err(|_| "the name needs 1 to 64 letters or digits of A-Z, a-z, 0-9".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organisations_id_is_made_of_its_name() {
        assert_eq!(org_id("Acme, Inc. (EU)").unwrap().as_str(), "acme-inc-eu");
        assert!(org_id("社").is_err());
        assert!(org_id(&"x".repeat(65)).is_err());
    }
}
