//! Which memories were cited, and whether enough came after to judge them.

use domain::entities::{Citation, Interaction};
use domain::ids::{ProfileId, RequestId};

/// The role of turns whose citations count, to the letter.
pub const CITING_ROLE: &str = "Assistant";

/// A turn of the window that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct SeenTurn<'a> {
    /// The turn.
    pub interaction: &'a Interaction,
    /// The request that it came with.
    pub request_id: &'a RequestId,
    /// Whether facts are learned from it: else it says nothing of cited facts.
    pub for_profiles: bool,
    /// Whether rules are learned from it: else it says nothing of cited rules.
    pub for_playbooks: bool,
}

/// A memory of the user that can be revised.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A fact.
    Profile(ProfileId),
    /// A rule of the user.
    Playbook(i64),
}

impl Target {
    /// What a citation names; `None` for rules of the agent, which are nobody's own, and for what cannot be an id.
    #[must_use]
    pub fn of(citation: &Citation) -> Option<Self> {
        match citation.kind.as_str() {
            "profile" => ProfileId::new(&citation.real_id).ok().map(Self::Profile),
            "playbook" | "user_playbook" => {
                citation.real_id.trim().parse().ok().filter(|id| *id > 0).map(Self::Playbook)
            }
            _ => None,
        }
    }

    /// The kind as models are told it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Profile(_) => "profile",
            Self::Playbook(_) => "playbook",
        }
    }

    /// The id as text.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Profile(id) => id.as_str().to_owned(),
            Self::Playbook(id) => id.to_string(),
        }
    }
}

/// A memory that was cited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The memory; `None` when it is none that can be revised.
    pub target: Option<Target>,
    /// The place in the window at which it was cited first.
    pub position: usize,
}

/// What a window cites, each memory once, in the order of its first citation.
#[must_use]
pub fn cited(window: &[SeenTurn<'_>]) -> Vec<Cited> {
    let mut found: Vec<Cited> = Vec::new();
    let mut others: Vec<(&str, &str)> = Vec::new();
    for (position, turn) in window.iter().enumerate() {
        if turn.interaction.role != CITING_ROLE {
            continue;
        }
        for citation in &turn.interaction.citations {
            let target = Target::of(citation);
            let (is_known, counts) = match &target {
                Some(target) => (
                    found.iter().any(|cited| cited.target.as_ref() == Some(target)),
                    match target {
                        Target::Profile(_) => turn.for_profiles,
                        Target::Playbook(_) => turn.for_playbooks,
                    },
                ),
                None => (others.contains(&(&citation.kind, &citation.real_id)), true),
            };
            if is_known || !counts {
                continue;
            }
            if target.is_none() {
                others.push((&citation.kind, &citation.real_id));
            }
            found.push(Cited { target, position });
        }
    }
    found
}

/// Whether enough is new to look again.
#[must_use]
pub fn is_gate_open(new_interactions: usize, stride: u32) -> bool {
    new_interactions >= stride as usize
}

/// Whether a citation can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// Enough came after it.
    Full,
    /// Little came after it, but it will have left the window by the next time.
    LastChance,
    /// It is judged when more came after it.
    Deferred,
}

/// What came after the turn at `position` of a window of `turns`: `post_horizon` turns are enough (0: always), and
/// the window moves on by `stride` turns.
#[must_use]
pub fn horizon(position: usize, turns: usize, post_horizon: i64, stride: u32) -> Horizon {
    let after = turns.saturating_sub(position).saturating_sub(1);
    let wanted = usize::try_from(post_horizon).unwrap_or(0);
    if after >= wanted {
        Horizon::Full
    } else if position < stride as usize {
        Horizon::LastChance
    } else {
        Horizon::Deferred
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn citation(kind: &str, id: &str) -> Citation {
        Citation { kind: kind.into(), real_id: id.into(), tag: String::new(), title: String::new() }
    }

    fn turn(role: &str, citations: &[(&str, &str)]) -> Interaction {
        let citations = citations.iter().map(|(kind, id)| citation(kind, id)).collect();
        Interaction { role: role.into(), citations, ..Interaction::default() }
    }

    fn seen<'a>(
        turns: &'a [Interaction],
        request: &'a RequestId,
        learned: (bool, bool),
    ) -> Vec<SeenTurn<'a>> {
        let (for_profiles, for_playbooks) = learned;
        turns
            .iter()
            .map(|interaction| SeenTurn { interaction, request_id: request, for_profiles, for_playbooks })
            .collect()
    }

    fn found(turns: &[Interaction], learned: (bool, bool)) -> Vec<(String, usize)> {
        let request = RequestId::new("r").unwrap();
        let name =
            |cited: &Cited| cited.target.as_ref().map_or("-".into(), |t| format!("{} {}", t.kind(), t.id()));
        cited(&seen(turns, &request, learned)).iter().map(|c| (name(c), c.position)).collect()
    }

    #[test]
    fn citations_count_once_at_their_first_place_and_from_assistants_only() {
        let turns = [
            turn("User", &[("profile", "p0")]),
            turn("assistant", &[("profile", "p0")]),
            turn("Assistant", &[("profile", "p1"), ("playbook", "7"), ("agent_playbook", "7")]),
            turn(
                "Assistant",
                &[("user_playbook", "7"), ("profile", "p1"), ("profile", "p2"), ("playbook", "x")],
            ),
        ];
        let expected = [("profile p1", 2), ("playbook 7", 2), ("-", 2), ("profile p2", 3), ("-", 3)];
        assert_eq!(found(&turns, (true, true)), expected.map(|(name, at)| (name.to_owned(), at)));
    }

    #[test]
    fn a_turn_that_a_kind_does_not_learn_from_says_nothing_of_it() {
        let turns = [turn("Assistant", &[("profile", "p1"), ("playbook", "7")])];
        assert_eq!(found(&turns, (false, true)), [("playbook 7".to_owned(), 0)]);
        assert_eq!(found(&turns, (true, false)), [("profile p1".to_owned(), 0)]);
    }

    #[test]
    fn the_gate_opens_at_the_stride() {
        assert_eq!([7, 8, 9].map(|new| is_gate_open(new, 8)), [false, true, true]);
    }

    #[test]
    fn a_citation_is_judged_once_enough_came_after_it_or_at_its_last_chance() {
        use Horizon::{Deferred, Full, LastChance};
        for (position, turns, post_horizon, stride, expected) in [
            (6, 10, 3, 8, Full),
            (7, 10, 3, 8, LastChance),
            (8, 10, 3, 8, Deferred),
            (9, 10, 3, 8, Deferred),
            (9, 10, 0, 8, Full),
            (9, 10, -1, 8, Full),
            (0, 1, 1, 1, LastChance),
            (1, 2, 1, 1, Deferred),
        ] {
            assert_eq!(horizon(position, turns, post_horizon, stride), expected, "{position} of {turns}");
        }
    }

    proptest! {
        /// Nothing is put off for ever: what is deferred is still in the window when it has moved on, and is judged at
        /// the latest when it would leave.
        #[test]
        fn what_is_deferred_comes_back(
            turns in 1usize..40, position in 0usize..40, post_horizon in 0i64..20, stride in 1u32..20,
        ) {
            prop_assume!(position < turns && (stride as usize) <= turns);
            let mut position = position;
            let mut passes = 0;
            while horizon(position, turns, post_horizon, stride) == Horizon::Deferred {
                prop_assert!(position >= stride as usize, "it would leave the window unjudged");
                position -= stride as usize;
                passes += 1;
                prop_assert!(passes <= turns);
            }
        }
    }
}
