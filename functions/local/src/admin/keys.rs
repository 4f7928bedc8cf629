//! API keys of organisations: created, listed, taken back.

use domain::ids::OrgId;
use learning::services::Ids;
use runtime::ids::RandomIds;
use runtime::keys::{PresentedKey, lookup_of, new_key, shown_name};
use runtime::{App, SELF_HOST_ORG};
use store::{OrgApiKey, Store};

use super::{AdminError, moment};

/// Fewest characters by which a key may be named: fewer name it by accident.
const NAME_CHARS_MIN: usize = 7;

/// Creates a key and prints it.
pub(super) async fn create(store: &Store, org: OrgId) -> Result<String, AdminError> {
    let key = new_key([RandomIds.uuid(), RandomIds.uuid()]);
    let record = PresentedKey::read(&key).record(&org, store.clock().now());
    if !store.put_api_key(&record).await? {
        return Err("the key could not be stored; try again".into());
    }
    Ok(format!("{key}\n"))
}

/// Lists keys by their names; of the secrets nothing is known.
pub(super) async fn list(store: &Store, org: &OrgId) -> Result<String, AdminError> {
    let mut printed = String::from("key                       created               revoked\n");
    for key in store.api_keys(org).await? {
        let revoked = key.revoked_at.map_or_else(|| "-".to_owned(), moment);
        printed.push_str(&format!(
            "{:25} {:21} {revoked}\n",
            shown_name(&key.lookup),
            moment(key.created_at)
        ));
    }
    Ok(printed)
}

/// Takes the key back that `named` stands for: the key itself, its name, or the beginning of its name.
pub(super) async fn revoke(store: &Store, org: &OrgId, named: &str) -> Result<String, AdminError> {
    let named = named.trim();
    let presented = lookup_of(named);
    // A key that was created before keys were listed is found by itself only.
    if store.revoke_api_key(org, &presented).await? {
        return Ok(format!("{} is revoked\n", shown_name(&presented)));
    }
    if named.chars().count() < NAME_CHARS_MIN {
        return Err(format!("name the key by at least {NAME_CHARS_MIN} characters").into());
    }
    let keys = store.api_keys(org).await?;
    let found: Vec<&OrgApiKey> =
        keys.iter().filter(|key| shown_name(&key.lookup).starts_with(named)).collect();
    match found.as_slice() {
        [key] => {
            store.revoke_api_key(org, &key.lookup).await?;
            Ok(format!("{} is revoked\n", shown_name(&key.lookup)))
        }
        [] => {
            Err(format!("{org} has no key of that name; see: retrospect admin key list --org {org}").into())
        }
        _ => Err(format!("{} keys of {org} begin so; name one with more characters", found.len()).into()),
    }
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
