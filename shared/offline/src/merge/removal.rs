//! Which memories a request to forget covers, and no others.

use super::attributes::{slot, slots_of_topic};
use super::features::Features;
use crate::profile::REMOVAL_MARKER;
use crate::text::fold;

/// How a removal names a whole statement, as opposed to a subject.
const STATEMENT: &str = "the statement:";
/// Share of the request's words that a memory must hold when its meaning is close too.
const OVERLAP_MIN: f64 = 0.5;
/// Cosine of the static table from which two texts are close in meaning.
const COSINE_MIN: f32 = 0.72;

/// A parsed `Requested removal of …`.
#[derive(Debug)]
pub(super) struct Removal {
    everything: bool,
    statement: bool,
    subject: Features,
    slots: Vec<String>,
}

impl Removal {
    /// Reads a draft's content; `None` when it asks for no removal.
    pub(super) fn read(content: &str) -> Option<Self> {
        let subject = content
            .trim_start()
            .strip_prefix(REMOVAL_MARKER)?
            .trim()
            .trim_matches(['"', '“', '”', ':'])
            .trim();
        let statement = subject.strip_prefix(STATEMENT);
        let features = Features::of(statement.unwrap_or(subject));
        let everything =
            matches!(features.folded.as_str(), "everything" | "all" | "all memories" | "すべて" | "全部");
        let slots = match statement {
            Some(_) => slot(&features.folded).into_iter().collect(),
            None => slots_of_topic(&features.folded).iter().map(|slot| (*slot).to_owned()).collect(),
        };
        Some(Self { everything, statement: statement.is_some(), subject: features, slots })
    }

    /// Whether the memory is about what is to be forgotten.
    pub(super) fn covers(&self, memory: &Features) -> bool {
        if self.everything || (!self.subject.folded.is_empty() && self.subject.folded == memory.folded) {
            return true;
        }
        let same_slot = slot(&memory.folded).is_some_and(|slot| self.slots.contains(&slot));
        let contained = self.subject.contained_in(memory);
        if self.statement {
            // Liking jazz and playing jazz are two memories; so are liking and disliking it.
            let same_kind = self.subject.taste == memory.taste && self.subject.negative == memory.negative;
            return same_kind
                && (contained >= 1.0
                    || (same_slot && contained >= OVERLAP_MIN)
                    || self.is_close(memory, contained));
        }
        if !self.slots.is_empty() {
            // "My email" is the address, not a liking for mails.
            let names_a_value = memory.folded.contains(|c: char| c == '@' || c.is_ascii_digit());
            return same_slot || (contained >= 1.0 && names_a_value);
        }
        contained >= 1.0 || self.is_close(memory, contained)
    }

    fn is_close(&self, memory: &Features, contained: f64) -> bool {
        contained >= OVERLAP_MIN
            && self.subject.numbers == memory.numbers
            && memory.contained_in(&self.subject) >= OVERLAP_MIN
            && self.subject.cosine(memory) >= COSINE_MIN
    }
}

/// Whether the removal that `request` asks for covers `memory`; `false` when it asks for none.
pub(crate) fn removal_covers(request: &str, memory: &str) -> bool {
    Removal::read(request).is_some_and(|removal| removal.covers(&Features::of(&fold(memory))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_covers_its_subject_and_nothing_else() {
        for (request, memory, expected) in [
            ("Requested removal of the statement: likes jazz", "Likes jazz", true),
            ("Requested removal of the statement: likes jazz", "The user likes jazz.", true),
            ("Requested removal of the statement: likes jazz", "Dislikes jazz", false),
            ("Requested removal of the statement: likes jazz", "Plays jazz piano on Sundays", false),
            ("Requested removal of the statement: likes jazz", "Likes blues", false),
            ("Requested removal of jazz", "Plays jazz piano on Sundays", true),
            ("Requested removal of the statement: lives in Porto", "Is based in Porto", true),
            ("Requested removal of the statement: lives in Porto", "Works in Faro", false),
            ("Requested removal of their job", "Works as a welder", true),
            ("Requested removal of their job", "Likes welding masks", false),
            ("Requested removal of their email", "Email is bo@example.com", true),
            ("Requested removal of their email", "Wants to be emailed at bo@example.com", true),
            ("Requested removal of their email", "Prefers email over phone calls", false),
            ("Requested removal of everything", "Has two cats", true),
            ("Requested removal of the statement: ジャズが好き", "ジャズが好き", true),
            ("Requested removal of ジャズ", "ジャズが好き", true),
            ("Requested removal of ジャズ", "演歌が好き", false),
            ("Requested removal of the statement: コーヒーが好き", "紅茶が好き", false),
            ("Likes jazz", "Likes jazz", false),
        ] {
            assert_eq!(removal_covers(request, memory), expected, "{request} / {memory}");
        }
    }
}
