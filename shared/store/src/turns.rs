//! Interactions by their ids alone.

use std::collections::{BTreeMap, BTreeSet};

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, UserHash};

use crate::Store;
use crate::attributes::{ItemReader, PK, USER_NUMBER_BASE};
use crate::error::StoreError;
use crate::keys::{self, UserKeys};
use crate::lookups::user_hash;
use crate::requests::split_interaction_id;

/// Positions this near each other are read in one go.
const GAP_POSITIONS_MAX: i64 = 32;

/// An interaction and the request that it came with.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTurn {
    /// The request.
    pub request: Request,
    /// The interaction.
    pub interaction: Interaction,
}

impl Store {
    /// The interactions with these ids that are still there, in the order of their ids, which is for each user that
    /// of their positions.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or an item is damaged.
    pub async fn turns_by_ids(&self, org: &OrgId, ids: &[i64]) -> Result<Vec<StoredTurn>, StoreError> {
        let wanted: BTreeSet<i64> = ids.iter().copied().filter(|id| *id > 0).collect();
        let mut offsets: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for id in &wanted {
            let (number, offset) = split_interaction_id(*id);
            offsets.entry(number).or_default().push(offset);
        }
        let mut found = BTreeMap::new();
        for (number, (user, base)) in self.owners_of_numbers(org, offsets.keys().copied()).await? {
            let keys = UserKeys { org, user: &user };
            let positions = offsets[&number].iter().map(|offset| base + offset);
            for (first, last) in runs(positions) {
                for document in self.documents(&keys, first, last + 1).await? {
                    for interaction in document.interactions {
                        let id = interaction.interaction_id;
                        if wanted.contains(&id) {
                            let request = document.request.clone();
                            found.insert(id, StoredTurn { request, interaction });
                        }
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// The users of user numbers, and the position from which each number counts; unknown numbers are left out.
    async fn owners_of_numbers(
        &self,
        org: &OrgId,
        numbers: impl Iterator<Item = i64>,
    ) -> Result<BTreeMap<i64, (UserHash, i64)>, StoreError> {
        let by_partition: BTreeMap<_, _> = numbers
            .map(|number| {
                let key = keys::user_number_lookup(org, number);
                (key.pk().to_owned(), (key, number))
            })
            .collect();
        let keys: Vec<_> = by_partition.values().map(|(key, _)| key.clone()).collect();
        let mut users = BTreeMap::new();
        for item in self.get_many(&keys).await? {
            let reader = ItemReader(&item);
            if let Some((_, number)) = by_partition.get(reader.text(PK)?) {
                users.insert(*number, (user_hash(reader)?, reader.count(USER_NUMBER_BASE)));
            }
        }
        Ok(users)
    }
}

/// Ascending positions as stretches from a first to a last one.
fn runs(positions: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for position in positions {
        match runs.last_mut() {
            Some((_, last)) if position - *last <= GAP_POSITIONS_MAX => *last = position,
            _ => runs.push((position, position)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_positions_are_read_together_and_far_ones_apart() {
        let gap = GAP_POSITIONS_MAX;
        for (second, stretches) in [(gap - 1, 1), (gap, 1), (gap + 1, 2)] {
            assert_eq!(runs([0, second].into_iter()).len(), stretches, "{second}");
        }
        assert_eq!(runs([3, 4, 9, 100].into_iter()), [(3, 9), (100, 100)]);
        assert_eq!(runs([].into_iter()), []);
    }
}
