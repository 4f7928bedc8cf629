//! What is stored and asked for: made up from a seed, the same in every run.

use serde_json::{Value, json};

/// Where all texts come from.
pub(crate) const SEED: u64 = 0x5e_ed_0b_e7;
/// The step of the generator.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Characters of one turn of a published request.
const TURN_CHARS: usize = 200;
/// The user whose memory is listed and searched.
pub(crate) const SEARCHED_USER: &str = "searched-user";
/// Users that share the rows beside those of the user searched.
const OTHER_USERS: usize = 10;
/// Words of a query.
const QUERY_WORDS: usize = 4;

/// What texts are made of.
const WORDS: &str = "refund flight invoice hotel password delivery subscription meeting report database contract \
    warranty late urgent monthly international broken confidential recurring vegetarian remote quarterly damaged \
    preferred confirm escalate summarise translate cancel schedule verify postpone compare archive explain forward \
    Lisbon Osaka Nairobi Toronto Bergen Lima Hanoi Vienna Perth Tbilisi Quito Galway";

/// A stream of texts.
#[derive(Debug)]
pub(crate) struct Texts {
    state: u64,
    words: Vec<&'static str>,
}

impl Texts {
    /// The stream of one purpose: no two streams depend on how much of the other was taken.
    pub(crate) fn new(purpose: u64) -> Self {
        let state = SEED.wrapping_add(purpose.wrapping_mul(GOLDEN));
        Self { state, words: WORDS.split_whitespace().collect() }
    }

    /// splitmix64, as published by its author.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A vector of values from -0.5 to 0.5.
    pub(crate) fn vector(&mut self, dimension: usize) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "24 bits are what an f32 holds")]
        let value = |bits: u64| (bits >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        (0..dimension).map(|_| value(self.next())).collect()
    }

    fn word(&mut self) -> &'static str {
        let count = self.words.len() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of words")]
        let place = (self.next() % count) as usize;
        self.words[place]
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// A turn of exactly [`TURN_CHARS`] characters.
    fn turn(&mut self) -> String {
        let mut text = self.words(TURN_CHARS / 4);
        text.truncate(TURN_CHARS);
        text
    }

    /// Words to search for.
    pub(crate) fn query(&mut self) -> String {
        self.words(QUERY_WORDS)
    }

    /// The body of a publish: what one said and the other answered.
    pub(crate) fn publish(&mut self, user: usize) -> Value {
        json!({
            "user_id": format!("publisher-{user}"),
            "session_id": format!("session-{user}"),
            "agent_version": "bench",
            "interaction_data_list": [
                { "role": "User", "content": self.turn() },
                { "role": "Assistant", "content": self.turn() },
            ],
        })
    }

    /// The body that writes playbooks: of the user searched, or of the others by turns.
    pub(crate) fn playbooks(&mut self, count: usize, of_searched_user: bool) -> Value {
        let rows: Vec<Value> = (0..count)
            .map(|row| {
                let user = if of_searched_user {
                    SEARCHED_USER.to_owned()
                } else {
                    format!("other-{}", row % OTHER_USERS)
                };
                json!({
                    "user_id": user,
                    "agent_version": "bench",
                    "request_id": format!("seed-{row}"),
                    "playbook_name": "playbook",
                    "content": format!("When asked about the {}, {}.", self.words(5), self.words(8)),
                    "trigger": format!("the user asks about the {}", self.words(5)),
                })
            })
            .collect();
        json!({ "user_playbooks": rows })
    }

    /// The body that writes profiles of the user searched.
    pub(crate) fn profiles(&mut self, count: usize) -> Value {
        let rows: Vec<Value> = (0..count)
            .map(|row| {
                json!({
                    "profile_id": format!("profile-{row}"),
                    "user_id": SEARCHED_USER,
                    "content": format!("The user's {} is {}.", self.words(3), self.words(5)),
                    "last_modified_timestamp": 1_750_000_000 + row,
                    "generated_from_request_id": format!("seed-{row}"),
                })
            })
            .collect();
        json!({ "user_profiles": rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_data() {
        assert_eq!(Texts::new(1).publish(3), Texts::new(1).publish(3));
        assert_ne!(Texts::new(1).query(), Texts::new(2).query());
    }

    #[test]
    fn a_turn_has_the_stated_length() {
        assert_eq!(Texts::new(1).turn().chars().count(), TURN_CHARS);
    }
}
