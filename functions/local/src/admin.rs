//! `retrospect admin`: what operators do, on the data of a stopped server.

use std::sync::Arc;

use domain::ids::OrgId;
use runtime::App;
use runtime::clock::SystemClock;
use runtime::keys::{PresentedKey, new_key};
use store::Organisation;

use crate::cli::{AdminCommand, AdminOptions, KeyCommand, OrgCommand};
use crate::data_dir::DataDir;
use crate::deployment::{Data, Deployment, Options};

/// Why a command was not carried out; printed to whoever gave it.
pub type AdminError = Box<dyn std::error::Error + Send + Sync>;

/// Carries out a command; returns what to print.
///
/// # Errors
/// Why it was not carried out.
pub async fn run(options: &AdminOptions) -> Result<String, AdminError> {
    let data = Data::Directory(DataDir::open(&options.data_dir)?);
    let deployment = Deployment::new(data, Arc::new(SystemClock), &Options::default())?;
    match &options.command {
        AdminCommand::Org(OrgCommand::Create { name }) => create_org(&deployment.app, name).await,
        AdminCommand::Key(KeyCommand::Create { org }) => create_key(&deployment.app, org).await,
    }
}

async fn create_org(app: &App, name: &str) -> Result<String, AdminError> {
    let id = org_id(name)?;
    let created_at = app.services.clock.now();
    let organisation = Organisation { id: id.clone(), name: name.trim().to_owned(), created_at };
    if !app.services.store.create_organisation(&organisation).await? {
        return Err(format!("there is an organisation with the id {id} already").into());
    }
    Ok(format!("{id}\n"))
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

async fn create_key(app: &App, org: &str) -> Result<String, AdminError> {
    let org: OrgId = org.parse()?;
    if app.services.store.organisation(&org).await?.is_none() && org.as_str() != runtime::SELF_HOST_ORG {
        return Err(format!("there is no organisation {org}; create it with: retrospect admin org create NAME").into());
    }
    let key = new_key([app.services.ids.uuid(), app.services.ids.uuid()]);
    let record = PresentedKey::read(&key).record(&org, app.services.clock.now());
    if !app.services.store.put_api_key(&record).await? {
        return Err("the key could not be stored; try again".into());
    }
    Ok(format!("{key}\n"))
}

/// Makes a key of the operator's choice admit to the organisation of this machine.
///
/// # Errors
/// When it cannot be stored, or admits to another organisation already.
pub async fn seed_key(app: &App, key: &str) -> Result<(), AdminError> {
    let org: OrgId = runtime::SELF_HOST_ORG.parse()?;
    let record = PresentedKey::read(key.trim()).record(&org, app.services.clock.now());
    if app.services.store.put_api_key(&record).await? {
        Ok(())
    } else {
        Err("this --api-key admits to another organisation".into())
    }
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
