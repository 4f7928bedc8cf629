//! `retrospect admin`: what operators do, on the data of a stopped server or on a deployment's table.

pub mod commands;
mod invitations;
mod keys;
mod orgs;
mod site_vars;

use std::sync::Arc;

use domain::time::{Clock, EpochSeconds};
use runtime::clock::SystemClock;
use runtime::ids::random_share;
use store::{Objects, Retries, Store};

pub use keys::seed_key;

use crate::data_dir::DataDir;
use crate::deployment::{Data, Deployment, Options};
use commands::{AdminCommand, AdminOptions, InvitationCommand, KeyCommand, OrgCommand, SiteVarCommand};

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
    carry_out(&store, &options.command).await
}

/// Carries out a command on a table; returns what to print.
///
/// # Errors
/// Why it was not carried out.
pub async fn carry_out(store: &Store, command: &AdminCommand) -> Result<String, AdminError> {
    match command {
        AdminCommand::Org(OrgCommand::Create { name, invitation }) => {
            orgs::create(store, name, invitation.as_deref()).await
        }
        AdminCommand::Key(KeyCommand::Create { org }) => {
            keys::create(store, orgs::existing(store, org).await?).await
        }
        AdminCommand::Key(KeyCommand::List { org }) => keys::list(store, &org.parse()?).await,
        AdminCommand::Key(KeyCommand::Revoke { org, key }) => keys::revoke(store, &org.parse()?, key).await,
        AdminCommand::Invitations(InvitationCommand::Generate { count, expires_in_days }) => {
            invitations::generate(store, *count, *expires_in_days).await
        }
        AdminCommand::Invitations(InvitationCommand::List { show_used }) => {
            invitations::list(store, *show_used).await
        }
        AdminCommand::SiteVars(SiteVarCommand::Get { key }) => site_vars::get(store, key).await,
        AdminCommand::SiteVars(SiteVarCommand::Set { key, value, file }) => {
            site_vars::set(store, key, value.as_deref(), file.as_deref()).await
        }
        AdminCommand::SiteVars(SiteVarCommand::List) => site_vars::list(store).await,
        AdminCommand::Flags { org } => site_vars::flags(store, &org.parse()?).await,
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

/// A time for people: to the second, in UTC.
fn moment(at: EpochSeconds) -> String {
    jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}
