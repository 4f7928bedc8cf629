//! `retrospect admin`: what operators do, on the data of a stopped server or on a deployment's table.

use std::sync::Arc;

use domain::ids::OrgId;
use domain::time::Clock;
use learning::services::Ids;
use runtime::clock::SystemClock;
use runtime::ids::{RandomIds, random_share};
use runtime::keys::{PresentedKey, new_key};
use runtime::{App, SELF_HOST_ORG};
use store::{Objects, Organisation, Retries, Store};

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
    // The directory stays locked until the command is done.
    let (store, _local) = match &options.table {
        Some(table) => (deployed_store(table).await, None),
        None => {
            let data = Data::Directory(DataDir::open(&options.data_dir)?);
            let deployment = Deployment::new(data, Arc::new(SystemClock), &Options::default())?;
            (deployment.app.services.store.clone(), Some(deployment))
        }
    };
    match &options.command {
        AdminCommand::Org(OrgCommand::Create { name }) => create_org(&store, name).await,
        AdminCommand::Key(KeyCommand::Create { org }) => create_key(&store, org).await,
    }
}

/// The table of a deployment, with the credentials and the Region of the environment.
async fn deployed_store(table: &str) -> Store {
    let aws = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // Organisations and keys have no large bodies: no bucket is reached.
    let objects = Objects::new(aws_sdk_s3::Client::new(&aws), String::new());
    let retries = Retries::new(Arc::new(random_share), Arc::clone(&clock));
    Store::new(aws_sdk_dynamodb::Client::new(&aws), table.to_owned(), objects, retries, clock)
}

async fn create_org(store: &Store, name: &str) -> Result<String, AdminError> {
    let id = org_id(name)?;
    let created_at = store.clock().now();
    let organisation = Organisation { id: id.clone(), name: name.trim().to_owned(), created_at };
    if !store.create_organisation(&organisation).await? {
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

async fn create_key(store: &Store, org: &str) -> Result<String, AdminError> {
    let org: OrgId = org.parse()?;
    if store.organisation(&org).await?.is_none() && org.as_str() != SELF_HOST_ORG {
        let advice = "create it with: retrospect admin org create NAME";
        return Err(format!("there is no organisation {org}; {advice}").into());
    }
    let key = new_key([RandomIds.uuid(), RandomIds.uuid()]);
    let record = PresentedKey::read(&key).record(&org, store.clock().now());
    if !store.put_api_key(&record).await? {
        return Err("the key could not be stored; try again".into());
    }
    Ok(format!("{key}\n"))
}

/// Makes a key of the operator's choice admit to the organisation of this machine.
///
/// # Errors
/// When it cannot be stored, or admits to another organisation already.
pub async fn seed_key(app: &App, key: &str) -> Result<(), AdminError> {
    let org: OrgId = SELF_HOST_ORG.parse()?;
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
