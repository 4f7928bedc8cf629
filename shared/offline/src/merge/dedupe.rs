//! New profiles against each other and against those that are known.

use domain::entities::ProfileTimeToLive;
use domain::time::EpochSeconds;
use serde::Serialize;

use super::attributes::slot;
use super::features::Features;
use super::removal::Removal;

/// Word overlap from which two facts say the same.
const SAME_OVERLAP: f64 = 0.75;
/// Word overlap that suffices when the meaning is close as well.
const CLOSE_OVERLAP: f64 = 0.5;
/// Cosine of the static table from which two facts are close in meaning.
const CLOSE_COSINE: f32 = 0.9;

/// One profile, new or known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileRow<'a> {
    /// The fact.
    pub content: &'a str,
    /// How long it stays true.
    pub time_to_live: ProfileTimeToLive,
    /// When it was last stated.
    pub modified: EpochSeconds,
}

/// Rows that become one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicateGroup {
    /// `NEW-<position>` and `EXISTING-<position>`.
    pub item_ids: Vec<String>,
    /// The one fact.
    pub merged_content: String,
    /// How long it stays true.
    pub merged_time_to_live: ProfileTimeToLive,
}

/// A new row that is not stored, and the known rows that go with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// `NEW-<position>`.
    pub new_id: String,
    /// `EXISTING-<position>`; may be empty.
    pub existing_ids: Vec<String>,
    /// Why.
    pub reasoning: String,
}

/// What becomes of every new row: it is in exactly one of the three lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Deduplication {
    /// Rows that become one.
    pub duplicate_groups: Vec<DuplicateGroup>,
    /// New rows that stay as they are.
    pub unique_ids: Vec<String>,
    /// New rows that are not stored.
    pub deletions: Vec<Deletion>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The same fact.
    Same,
    /// Another value of the same attribute, or its opposite: the later one holds.
    Supersedes,
}

struct Item<'a> {
    row: ProfileRow<'a>,
    features: Features,
    slot: Option<String>,
}

impl<'a> Item<'a> {
    fn read(row: &ProfileRow<'a>) -> Self {
        let features = Features::of(row.content);
        let slot = slot(&features.folded);
        Self { row: *row, features, slot }
    }

    fn relation(&self, other: &Self) -> Option<Relation> {
        let (a, b) = (&self.features, &other.features);
        if a.folded == b.folded {
            return Some(Relation::Same);
        }
        if self.slot.is_some() && self.slot == other.slot {
            let same = a.overlap(b) >= SAME_OVERLAP && a.negative == b.negative && a.numbers == b.numbers;
            return Some(if same { Relation::Same } else { Relation::Supersedes });
        }
        if self.slot.is_some() && other.slot.is_some() || a.numbers != b.numbers || a.taste != b.taste {
            return None;
        }
        let overlap = a.overlap(b);
        let alike = overlap >= SAME_OVERLAP || (overlap >= CLOSE_OVERLAP && a.cosine(b) >= CLOSE_COSINE);
        match (alike, a.negative == b.negative) {
            (true, true) => Some(Relation::Same),
            (true, false) => Some(Relation::Supersedes),
            (false, _) => None,
        }
    }
}

struct Group {
    new: Vec<usize>,
    existing: Vec<usize>,
    supersedes: bool,
}

/// Decides about every new row. Positions in `new` are the order in which things were said.
#[must_use]
pub fn dedupe_profiles(new: &[ProfileRow<'_>], existing: &[ProfileRow<'_>]) -> Deduplication {
    let new: Vec<Item<'_>> = new.iter().map(Item::read).collect();
    let existing: Vec<Item<'_>> = existing.iter().map(Item::read).collect();
    let (deletions, gone_new, gone_existing) = deletions(&new, &existing);
    let mut groups: Vec<Group> = Vec::new();
    let mut taken = gone_existing;
    for (position, item) in new.iter().enumerate() {
        if !gone_new[position] {
            place(&mut groups, &mut taken, position, item, &new, &existing);
        }
    }
    let mut answer = Deduplication { deletions, ..Deduplication::default() };
    for group in &groups {
        if group.new.len() + group.existing.len() == 1 {
            answer.unique_ids.extend(group.new.iter().map(|position| new_id(*position)));
        } else {
            answer.duplicate_groups.push(merged(group, &new, &existing));
        }
    }
    answer
}

/// Removal requests, and what was said before them in the same batch and is covered by them.
fn deletions(new: &[Item<'_>], existing: &[Item<'_>]) -> (Vec<Deletion>, Vec<bool>, Vec<bool>) {
    let mut found = Vec::new();
    let mut gone_new = vec![false; new.len()];
    let mut gone_existing = vec![false; existing.len()];
    for (position, item) in new.iter().enumerate() {
        let Some(removal) = Removal::read(item.row.content) else { continue };
        gone_new[position] = true;
        let mut existing_ids = Vec::new();
        for (place, known) in existing.iter().enumerate() {
            if !gone_existing[place] && removal.covers(&known.features) {
                gone_existing[place] = true;
                existing_ids.push(existing_id(place));
            }
        }
        let reasoning = "The user asked to forget this.".to_owned();
        found.push(Deletion { new_id: new_id(position), existing_ids, reasoning });
        for (place, earlier) in new[..position].iter().enumerate() {
            if !gone_new[place] && removal.covers(&earlier.features) {
                gone_new[place] = true;
                let reasoning = "Said and taken back in the same conversation.".to_owned();
                found.push(Deletion { new_id: new_id(place), existing_ids: Vec::new(), reasoning });
            }
        }
    }
    (found, gone_new, gone_existing)
}

fn place(
    groups: &mut Vec<Group>,
    taken: &mut [bool],
    position: usize,
    item: &Item<'_>,
    new: &[Item<'_>],
    existing: &[Item<'_>],
) {
    let home = groups.iter_mut().find_map(|group| {
        let relation = group.new.iter().find_map(|member| item.relation(&new[*member]))?;
        Some((group, relation))
    });
    let group = match home {
        Some((group, relation)) => {
            group.new.push(position);
            group.supersedes |= relation == Relation::Supersedes;
            group
        }
        None => {
            groups.push(Group { new: vec![position], existing: Vec::new(), supersedes: false });
            let last = groups.len() - 1;
            &mut groups[last]
        }
    };
    for (place, known) in existing.iter().enumerate() {
        if taken[place] {
            continue;
        }
        if let Some(relation) = item.relation(known) {
            taken[place] = true;
            group.existing.push(place);
            group.supersedes |= relation == Relation::Supersedes;
        }
    }
}

fn merged(group: &Group, new: &[Item<'_>], existing: &[Item<'_>]) -> DuplicateGroup {
    let known = group.existing.iter().map(|place| &existing[*place]);
    let members: Vec<&Item<'_>> = known.chain(group.new.iter().map(|position| &new[*position])).collect();
    // Equal times: `max_by_key` keeps the last, and what is new stands last.
    let latest = members.iter().max_by_key(|item| item.row.modified);
    let fullest = members.iter().max_by_key(|item| (item.features.words.len(), item.row.modified));
    let chosen = if group.supersedes { latest } else { fullest };
    let longest = members.iter().map(|item| item.row.time_to_live).max().unwrap_or_default();
    let time_to_live = latest.filter(|_| group.supersedes).map_or(longest, |item| item.row.time_to_live);
    let mut item_ids: Vec<String> = group.new.iter().map(|position| new_id(*position)).collect();
    item_ids.extend(group.existing.iter().map(|place| existing_id(*place)));
    DuplicateGroup {
        item_ids,
        merged_content: chosen.map_or_else(String::new, |item| item.row.content.to_owned()),
        merged_time_to_live: time_to_live,
    }
}

fn new_id(position: usize) -> String {
    format!("NEW-{position}")
}

fn existing_id(position: usize) -> String {
    format!("EXISTING-{position}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(content: &str, modified: EpochSeconds) -> ProfileRow<'_> {
        ProfileRow { content, time_to_live: ProfileTimeToLive::Infinity, modified }
    }

    fn rows<'a>(contents: &[&'a str], modified: EpochSeconds) -> Vec<ProfileRow<'a>> {
        contents.iter().map(|content| row(content, modified)).collect()
    }

    #[test]
    fn the_later_statement_about_an_attribute_supersedes_the_earlier_one() {
        let answer =
            dedupe_profiles(&rows(&["Name is Anna-Lena"], 2), &rows(&["Likes figs", "Name is Ana"], 1));
        let group = &answer.duplicate_groups[0];
        assert_eq!(group.item_ids, ["NEW-0", "EXISTING-1"]);
        assert_eq!(group.merged_content, "Name is Anna-Lena");
        assert!(answer.unique_ids.is_empty() && answer.deletions.is_empty());
    }

    #[test]
    fn a_newer_known_row_is_not_overwritten_by_an_older_one() {
        let answer = dedupe_profiles(&rows(&["Lives in Rome"], 1), &rows(&["Moved to Turin"], 2));
        assert_eq!(answer.duplicate_groups[0].merged_content, "Moved to Turin");
    }

    #[test]
    fn facts_of_one_batch_are_compared_with_each_other() {
        let answer =
            dedupe_profiles(&rows(&["Likes figs", "Has a cat", "likes figs.", "Dislikes figs"], 1), &[]);
        assert_eq!(answer.duplicate_groups[0].item_ids, ["NEW-0", "NEW-2", "NEW-3"]);
        assert_eq!(answer.duplicate_groups[0].merged_content, "Dislikes figs");
        assert_eq!(answer.unique_ids, ["NEW-1"]);
    }

    #[test]
    fn a_duplicate_keeps_the_longest_time_to_live() {
        let mut new = row("Is training for a marathon", 2);
        new.time_to_live = ProfileTimeToLive::OneWeek;
        let mut known = row("The user is training for a marathon.", 1);
        known.time_to_live = ProfileTimeToLive::OneQuarter;
        let answer = dedupe_profiles(&[new], &[known]);
        assert_eq!(answer.duplicate_groups[0].merged_time_to_live, ProfileTimeToLive::OneQuarter);
    }

    #[test]
    fn a_removal_deletes_what_it_is_about_and_nothing_else() {
        let existing = rows(&["Likes jazz", "Likes blues", "Plays the cello"], 1);
        let answer = dedupe_profiles(
            &rows(&["Enjoys jazz", "Requested removal of the statement: likes jazz", "Has a cat"], 2),
            &existing,
        );
        assert_eq!(answer.deletions[0].new_id, "NEW-1");
        assert_eq!(answer.deletions[0].existing_ids, ["EXISTING-0"]);
        assert_eq!(answer.deletions[1].new_id, "NEW-0");
        assert!(answer.deletions[1].existing_ids.is_empty());
        assert_eq!(answer.unique_ids, ["NEW-2"]);
        assert!(answer.duplicate_groups.is_empty());
    }

    #[test]
    fn different_facts_stay_apart() {
        let new = rows(
            &["Likes green tea", "Speaks Polish", "Flight is from BOS", "秋が好き", "犬を飼っている"],
            2,
        );
        let known = rows(
            &["Likes black coffee", "Speaks Czech", "Flight is on 2025-06-13", "魚が好き", "猫を飼っている"],
            1,
        );
        let answer = dedupe_profiles(&new, &known);
        assert_eq!(answer.unique_ids.len(), 5, "{answer:?}");
    }

    #[test]
    fn the_answer_has_the_shape_of_the_judge() {
        let answer = dedupe_profiles(&rows(&["Likes figs"], 2), &rows(&["Likes figs"], 1));
        let expected = serde_json::json!({
            "duplicate_groups": [{
                "item_ids": ["NEW-0", "EXISTING-0"],
                "merged_content": "Likes figs",
                "merged_time_to_live": "infinity"
            }],
            "unique_ids": [],
            "deletions": []
        });
        assert_eq!(serde_json::to_value(answer).unwrap(), expected);
    }

    const POOL: [&str; 12] = [
        "Likes jazz",
        "Dislikes jazz",
        "likes jazz",
        "Name is Ana",
        "Name is Bo",
        "Lives in Rome",
        "Moved to Oslo",
        "Requested removal of jazz",
        "Requested removal of everything",
        "ジャズが好き",
        "大阪に住んでいる",
        "",
    ];

    proptest! {
        #[test]
        fn every_new_row_is_handled_once_and_every_known_row_at_most_once(
            new in proptest::collection::vec(0..POOL.len(), 0..8),
            known in proptest::collection::vec(0..POOL.len(), 0..8),
        ) {
            let take = |picks: &[usize], at| picks.iter().map(|pick| row(POOL[*pick], at)).collect::<Vec<_>>();
            let answer = dedupe_profiles(&take(&new, 2), &take(&known, 1));
            let mut ids: Vec<String> = answer.unique_ids.clone();
            ids.extend(answer.duplicate_groups.iter().flat_map(|group| group.item_ids.clone()));
            for deletion in &answer.deletions {
                ids.push(deletion.new_id.clone());
                ids.extend(deletion.existing_ids.clone());
            }
            let count = ids.len();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), count, "an id appears twice");
            let new_count = ids.iter().filter(|id| id.starts_with("NEW-")).count();
            prop_assert_eq!(new_count, new.len());
        }
    }
}
