//! What is never stored: passwords, keys and card numbers.

use std::borrow::Cow;

use crate::pattern::patterns;

patterns! {
    SECRET_WORD = r"\b(?:pass(?:word|code|phrase|wd)|pin(?: code| number)?\b (?:is|:)|cvv|cvc|security code|api[- ]?keys?|secret|access token|bearer|ssn|social security|private key|seed phrase|one-time code|otp|iban)\b|パスワード|暗証番号|秘密鍵|セキュリティコード|APIキー|マイナンバー";
    SECRET_VALUE = r"\b(?:sk|pk|rk|ghp|gho|xox[a-z]|akia|eyj)[-_]?[a-z0-9_-]{12,}|\b(?:\d[ -]?){12,18}\d\b|\b[a-z0-9+/_-]*\d[a-z0-9+/_-]*[a-z][a-z0-9+/_-]{30,}";
    CARD_PART = r"(?:,? (?:that )?(?:ending|ends)(?: in| with)?)? ?(?:[*x•]{2,} ?)?\b\d{4}\b";
    CARD = r"\b(?:card|visa|mastercard|amex|certificate|voucher|account)s?\b|カード";
}

/// Whether a sentence holds something that must not be stored, whatever else it says.
pub(super) fn holds_secret(text: &str) -> bool {
    SECRET_WORD.is_match(text) || SECRET_VALUE.is_match(text)
}

/// The text without the digits of a means of payment.
pub(super) fn without_card_digits(text: &str) -> Cow<'_, str> {
    if CARD.is_match(text) { CARD_PART.replace_all(text, "") } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised() {
        for (text, expected) in [
            ("My password is hunter2", true),
            ("My card is 4111 1111 1111 1111", true),
            ("The key is sk-abcdefghijklmnop1234", true),
            ("パスワードはabcです", true),
            ("My user ID is ana_silva_1234", false),
            ("I live at 12 Elm Street, 90210", false),
            ("I was born on 1990-04-05", false),
        ] {
            assert_eq!(holds_secret(text), expected, "{text}");
        }
    }

    #[test]
    fn card_digits_are_left_out() {
        assert_eq!(without_card_digits("my card ending in 7334 for this"), "my card for this");
        assert_eq!(without_card_digits("my 7447 card"), "my card");
        assert_eq!(without_card_digits("born in 1990"), "born in 1990");
    }
}
