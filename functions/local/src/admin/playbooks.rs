//! The rules of the users of an organisation, and what they were learned from.

use std::collections::HashMap;

use domain::entities::{Interaction, UserPlaybook};
use domain::ids::{OrgId, UserHash, UserId};
use store::{Listing, Store, StoreError, UserKeys, UserPlaybookRow, split_interaction_id};

use super::commands::PlaybooksShow;
use super::{AdminError, moment};

/// Entries of the list that are read at once.
const PAGE: usize = 100;
/// Characters of an interaction that are shown.
const INTERACTION_CHARS_SHOWN: usize = 500;

/// Prints the rules of users, oldest first. Those of agents are not shown.
pub(super) async fn show(store: &Store, options: &PlaybooksShow) -> Result<String, AdminError> {
    let org: OrgId = options.org.parse()?;
    let mut printed = user_playbooks(store, &org, options).await?;
    if printed.is_empty() {
        printed.push_str("no playbook\n");
    }
    Ok(printed)
}

async fn user_playbooks(store: &Store, org: &OrgId, options: &PlaybooksShow) -> Result<String, AdminError> {
    let mut rows = match &options.user {
        Some(user) => {
            let user = UserHash::of(&UserId::new(user)?);
            store.user_playbooks(&UserKeys { org, user: &user }).await?
        }
        None => all_user_playbooks(store, org).await?,
    };
    let wanted = options.agent_version.as_deref();
    rows.retain(|row| wanted.is_none_or(|version| row.playbook.agent_version == version));
    rows.sort_by_key(|row| row.playbook.user_playbook_id);
    let mut sources = Sources { store, org, users: HashMap::new() };
    let mut printed = String::new();
    for UserPlaybookRow { playbook, .. } in &rows {
        printed.push_str(&playbook_lines(playbook));
        if options.with_interactions {
            for id in &playbook.source_interaction_ids {
                printed.push_str(&source_line(*id, sources.find(*id).await?.as_ref()));
            }
        }
    }
    Ok(printed)
}

async fn all_user_playbooks(store: &Store, org: &OrgId) -> Result<Vec<UserPlaybookRow>, StoreError> {
    let (mut rows, mut page) = (Vec::new(), None);
    loop {
        let (entries, next) = store.list(org, Listing::UserPlaybooks, PAGE, page).await?;
        let keys: Vec<_> = entries.into_iter().map(|entry| entry.key).collect();
        rows.extend(store.user_playbooks_by_keys(&keys).await?);
        match next {
            Some(next) => page = Some(next),
            None => return Ok(rows),
        }
    }
}

fn playbook_lines(playbook: &UserPlaybook) -> String {
    let mut lines = format!(
        "user playbook {}  user {}  agent {}  created {}  {}\n",
        playbook.user_playbook_id,
        playbook.user_id.as_ref().map_or("-", UserId::as_str),
        playbook.agent_version,
        moment(playbook.created_at),
        playbook.status.map_or("current", domain::entities::Status::as_str),
    );
    let members = [
        ("trigger", playbook.trigger.as_deref()),
        ("content", Some(playbook.content.as_str())),
        ("rationale", playbook.rationale.as_deref()),
        ("blocked by", playbook.blocking_issue.as_ref().map(|issue| issue.details.as_str())),
        ("notes", playbook.notes.as_deref()),
    ];
    for (name, text) in members {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            lines.push_str(&format!("  {name:11} {}\n", one_line(text)));
        }
    }
    let sources = playbook.source_interaction_ids.len();
    lines.push_str(&format!("  {:11} {sources} interactions\n", "learned of"));
    lines
}

fn source_line(id: i64, interaction: Option<&Interaction>) -> String {
    let Some(interaction) = interaction else { return format!("    {id}  is gone\n") };
    let cut: String = interaction.content.chars().take(INTERACTION_CHARS_SHOWN).collect();
    let more = if cut.len() < interaction.content.len() { " …" } else { "" };
    format!("    {id}  {}  {}: {}{more}\n", moment(interaction.created_at), interaction.role, one_line(&cut))
}

/// What users wrote must not look like lines of ours, nor steer the terminal.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim().chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// Finds interactions by their ids.
struct Sources<'a> {
    store: &'a Store,
    org: &'a OrgId,
    /// By user number: whose it is, and from which position it counts.
    users: HashMap<i64, Option<(UserHash, i64)>>,
}

impl Sources<'_> {
    async fn find(&mut self, id: i64) -> Result<Option<Interaction>, StoreError> {
        let (number, distance) = split_interaction_id(id);
        if !self.users.contains_key(&number) {
            self.users.insert(number, self.store.user_of_number(self.org, number).await?);
        }
        let Some(Some((user, base))) = self.users.get(&number) else { return Ok(None) };
        let position = base + distance;
        let keys = UserKeys { org: self.org, user };
        let documents = self.store.documents(&keys, position, position + 1).await?;
        let mut interactions = documents.into_iter().flat_map(|document| document.interactions);
        Ok(interactions.find(|interaction| interaction.interaction_id == id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(content: &str) -> Interaction {
        Interaction { content: content.to_owned(), role: "User".to_owned(), ..Interaction::default() }
    }

    #[test]
    fn what_was_said_stays_on_its_line_and_is_cut_at_the_limit() {
        for (length, cut) in [
            (INTERACTION_CHARS_SHOWN - 1, false),
            (INTERACTION_CHARS_SHOWN, false),
            (INTERACTION_CHARS_SHOWN + 1, true),
        ] {
            let line = source_line(1, Some(&said(&"ä".repeat(length))));
            assert_eq!(line.ends_with(" …\n"), cut, "{length}");
        }
        let line = source_line(1, Some(&said("a\nuser playbook 2\u{1b}[2J")));
        assert!(line.ends_with("User: a\\nuser playbook 2\\u{1b}[2J\n"), "{line}");
        assert_eq!(source_line(7, None), "    7  is gone\n");
    }
}
