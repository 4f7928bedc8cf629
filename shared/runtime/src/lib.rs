//! The application: clients, clock, identifiers, secrets, telemetry; the one place that reads the environment.

pub mod app;
pub mod clock;
pub mod ids;
pub mod keys;
mod models;
pub mod orgs;
pub mod process;
pub mod secrets;
pub mod settings;
pub mod site;
mod stalls;
pub mod telemetry;
pub mod usage;

pub use app::{App, World};
pub use orgs::{LoadedOrg, OrgError, Orgs, SaveError};
pub use settings::{Access, SELF_HOST_ORG, Settings, SettingsError};
pub use site::{SiteSnapshot, SiteVars};
