//! What a cluster is known by.

use std::collections::BTreeSet;

use domain::entities::UserPlaybook;
use domain::ids::hash_hex;

/// Hex digits of a fingerprint.
const FINGERPRINT_CHARS: usize = 16;

/// User playbooks that say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The members' ids, ascending.
    pub ids: Vec<i64>,
    /// Identity of the set of members.
    pub fingerprint: String,
    /// Identity of what they say.
    pub content_hash: String,
}

impl Cluster {
    /// The cluster of these playbooks.
    #[must_use]
    pub fn of(members: &[&UserPlaybook]) -> Self {
        let mut members = members.to_vec();
        members.sort_by_key(|member| member.user_playbook_id);
        let ids: Vec<i64> = members.iter().map(|member| member.user_playbook_id).collect();
        let fingerprint = fingerprint(&ids);
        Self { ids, fingerprint, content_hash: content_hash(&members) }
    }

    /// Members that it shares with a set of ids.
    #[must_use]
    pub fn overlap(&self, ids: &[i64]) -> usize {
        overlap(&self.ids, ids)
    }
}

/// How many ids two lists share.
#[must_use]
pub fn overlap(left: &[i64], right: &[i64]) -> usize {
    let left: BTreeSet<i64> = left.iter().copied().collect();
    right.iter().copied().collect::<BTreeSet<i64>>().intersection(&left).count()
}

/// Identity of a set of ids, in any order.
#[must_use]
pub fn fingerprint(ids: &[i64]) -> String {
    let ids: BTreeSet<i64> = ids.iter().copied().collect();
    let text: Vec<String> = ids.iter().map(i64::to_string).collect();
    hash_hex(&text.join(","))[..FINGERPRINT_CHARS].to_owned()
}

/// Identity of what playbooks say: a member that was edited makes another one.
fn content_hash(members: &[&UserPlaybook]) -> String {
    let texts: Vec<_> = members
        .iter()
        .map(|member| (member.user_playbook_id, &member.content, &member.trigger, &member.rationale))
        .collect();
    let text = serde_json::to_string(&texts).unwrap_or_default();
    hash_hex(&text)[..FINGERPRINT_CHARS].to_owned()
}

/// From how many users the members are; those of no user count as one.
#[must_use]
pub fn distinct_users(members: &[&UserPlaybook]) -> usize {
    members.iter().map(|member| member.user_id.as_ref()).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_contract() {
        for (ids, expected) in [
            (&[1, 2, 3][..], "8a6ae15122001229"),
            (&[10, 9, 2], "73078315e2b4bc52"),
            (&[2, 9, 10], "73078315e2b4bc52"),
            (&[7, 101], "264ed95fff962991"),
            (&[5], "ef2d127de37b942b"),
        ] {
            assert_eq!(fingerprint(ids), expected, "{ids:?}");
        }
    }

    #[test]
    fn an_edited_member_changes_the_content_and_not_the_fingerprint() {
        let row = |id: i64, content: &str| UserPlaybook {
            user_playbook_id: id,
            content: content.to_owned(),
            ..super::super::prompt::tests::playbook()
        };
        let (a, b, edited) = (row(1, "a"), row(2, "b"), row(2, "c"));
        let (before, after) = (Cluster::of(&[&b, &a]), Cluster::of(&[&a, &edited]));
        assert_eq!(before.ids, [1, 2]);
        assert_eq!(before.fingerprint, after.fingerprint);
        assert_ne!(before.content_hash, after.content_hash);
        assert_eq!(before, Cluster::of(&[&a, &b]));
    }
}
