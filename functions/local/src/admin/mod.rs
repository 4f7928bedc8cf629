//! `retrospect admin`: what operators do, on the data of a stopped server or on a deployment's table.

mod captured;
pub mod commands;
mod configs;
mod invitations;
mod keys;
mod orgs;
mod place;
mod playbooks;
mod reproduce_timeout;
mod site_vars;

use std::sync::Arc;

use domain::time::EpochSeconds;
use runtime::clock::SystemClock;

pub use keys::seed_key;
pub use place::Place;

use crate::data_dir::DataDir;
use crate::deployment::{Data, Deployment, Options};
use commands::{
    AdminCommand, AdminOptions, ConfigCommand, InvitationCommand, KeyCommand, OrgCommand, PlaybooksCommand,
    SiteVarCommand,
};

/// Why a command was not carried out; printed to whoever gave it.
pub type AdminError = Box<dyn std::error::Error + Send + Sync>;

/// Carries out a command; returns what to print.
///
/// # Errors
/// Why it was not carried out.
pub async fn run(options: &AdminOptions) -> Result<String, AdminError> {
    if let Some(table) = &options.table {
        return carry_out(&Place::deployed(table).await, &options.command).await;
    }
    let data = Data::Directory(DataDir::open(&options.data_dir)?);
    // The models that a server here would use; callers there are none.
    let environment = runtime::settings::variables();
    // The directory stays locked until the command is done.
    let deployment =
        Deployment::new(data, Arc::new(SystemClock), &Options { environment, ..Options::default() })?;
    carry_out(&Place::Whole(Arc::clone(&deployment.app)), &options.command).await
}

/// Carries out a command in a place; returns what to print.
///
/// # Errors
/// Why it was not carried out.
pub async fn carry_out(place: &Place, command: &AdminCommand) -> Result<String, AdminError> {
    let store = place.store();
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
        AdminCommand::Config(ConfigCommand::History { org }) => configs::history(store, &org.parse()?).await,
        AdminCommand::Config(ConfigCommand::Restore { org, version }) => {
            configs::restore(store, &org.parse()?, *version).await
        }
        AdminCommand::Playbooks(PlaybooksCommand::Show(options)) if options.with_interactions => {
            playbooks::show(&place.app().await?.services.store, options).await
        }
        AdminCommand::Playbooks(PlaybooksCommand::Show(options)) => playbooks::show(store, options).await,
        AdminCommand::ReproduceTimeout(options) => {
            reproduce_timeout::run(place.app().await?.as_ref(), options).await
        }
    }
}

/// A time for people: to the second, in UTC.
fn moment(at: EpochSeconds) -> String {
    jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}
