//! Invitation codes: sixteen characters that are easy to read aloud. Only their hash is ever stored.

use std::fmt;

use crate::ids::hash_hex;

/// The characters of a code: without those that are mistaken for one another (I, L, O, 0, 1).
const ALPHABET: &[u8; 31] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
/// Characters of a code: 31¹⁶ codes, more than 2⁷⁹.
pub const INVITATION_CHARS: usize = 16;
/// Characters of one group, as codes are written.
const GROUP_CHARS: usize = 4;
/// Characters by which a code is recognised in lists.
pub const INVITATION_PREFIX_CHARS: usize = 4;

/// Codes that are made at once.
pub const INVITATIONS_MAX: u32 = 1_000;
/// Days that a code may be valid.
pub const INVITATION_DAYS_MAX: u32 = 3_650;

/// An invitation code. Shown once, to whoever made it.
#[derive(Clone, PartialEq, Eq)]
pub struct InvitationCode(String);

impl InvitationCode {
    /// Reads a code as people write it: in either case, with dashes or spaces or without.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let written = |c: &char| *c != '-' && !c.is_whitespace();
        let code: String = text.chars().filter(written).map(|c| c.to_ascii_uppercase()).collect();
        let known = |byte: u8| ALPHABET.contains(&byte);
        (code.len() == INVITATION_CHARS && code.bytes().all(known)).then_some(Self(code))
    }

    /// A new code of random bytes, each character as likely as any other. `None` when the bytes do not suffice:
    /// about one in 32 is passed over.
    #[must_use]
    pub fn from_random(bytes: &[u8]) -> Option<Self> {
        // The largest multiple of the alphabet's length that a byte can hold.
        let fair = u8::MAX - u8::MAX % 31;
        let places = bytes.iter().filter(|byte| **byte < fair).map(|byte| usize::from(byte % 31));
        let code: String = places.take(INVITATION_CHARS).map(|place| char::from(ALPHABET[place])).collect();
        (code.len() == INVITATION_CHARS).then_some(Self(code))
    }

    /// Hex SHA-256 of the code without its dashes: what it is stored and found by.
    #[must_use]
    pub fn hash(&self) -> String {
        hash_hex(&self.0)
    }

    /// Its first characters, by which it is recognised in lists.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[..INVITATION_PREFIX_CHARS]
    }

    /// The code as it is handed out: `XXXX-XXXX-XXXX-XXXX`.
    #[must_use]
    pub fn expose(&self) -> String {
        let groups: Vec<String> = self
            .0
            .as_bytes()
            .chunks(GROUP_CHARS)
            .map(|group| group.iter().map(|byte| char::from(*byte)).collect())
            .collect();
        groups.join("-")
    }
}

impl fmt::Debug for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InvitationCode({}…)", self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_written() {
        let code = InvitationCode::parse("ABCD-EFGH-JKMN-2345").unwrap();
        for text in ["abcdefghjkmn2345", " abcd efgh JKMN 2345\n", "AB-CDEF-GHJK-MN23-45"] {
            assert_eq!(InvitationCode::parse(text).as_ref(), Some(&code), "{text}");
        }
        assert_eq!(code.expose(), "ABCD-EFGH-JKMN-2345");
        assert_eq!(code.prefix(), "ABCD");
        assert_eq!(code.hash(), hash_hex("ABCDEFGHJKMN2345"));
        assert_eq!(format!("{code:?}"), "InvitationCode(ABCD…)");
    }

    #[test]
    fn a_code_of_another_length_or_with_other_characters_is_none() {
        for text in
            ["", "ABCD-EFGH-JKMN-234", "ABCD-EFGH-JKMN-23456", "ABCD-EFGH-JKMN-234O", "ÄBCD-EFGH-JKMN-234"]
        {
            assert_eq!(InvitationCode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn no_character_is_likelier_than_another() {
        let mut counts = [0; ALPHABET.len()];
        for byte in 0..=u8::MAX {
            let bytes = [byte; INVITATION_CHARS];
            if let Some(code) = InvitationCode::from_random(&bytes) {
                counts[ALPHABET.iter().position(|known| *known == code.0.as_bytes()[0]).unwrap()] += 1;
            }
        }
        assert_eq!(counts, [8; ALPHABET.len()]);
    }

    #[test]
    fn too_few_usable_bytes_make_no_code() {
        assert_eq!(InvitationCode::from_random(&[7; INVITATION_CHARS - 1]), None);
        assert_eq!(InvitationCode::from_random(&[255; 64]), None);
        assert!(InvitationCode::from_random(&[7; INVITATION_CHARS]).is_some());
    }
}
