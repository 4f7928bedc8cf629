//! Cuts a query into words, quoted phrases, operators and brackets.

/// One piece of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lexeme {
    Word(String),
    Phrase(String),
    And,
    Or,
    Not,
    Open,
    Close,
}

impl Lexeme {
    pub(super) fn is_operator(&self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Not)
    }
}

/// The pieces of `text`, and whether its quotes were balanced. After an unclosed quote words are plain words.
/// Words and phrases without a letter or digit are left out.
pub(super) fn lexemes(text: &str) -> (Vec<Lexeme>, bool) {
    let mut found = Vec::new();
    let mut rest = text;
    let mut balanced = true;
    while let Some(at) = rest.find(is_special) {
        let (before, special) = rest.split_at(at);
        push_word(before, &mut found);
        let mut chars = special.chars();
        let first = chars.next();
        rest = chars.as_str();
        match first {
            Some('(') => found.push(Lexeme::Open),
            Some(')') => found.push(Lexeme::Close),
            Some(c) if is_quote(c) => match rest.split_once(is_quote) {
                Some((phrase, after)) => {
                    if is_telling(phrase) {
                        found.push(Lexeme::Phrase(phrase.to_owned()));
                    }
                    rest = after;
                }
                None => balanced = false,
            },
            _ => {}
        }
    }
    push_word(rest, &mut found);
    (found, balanced)
}

fn is_special(c: char) -> bool {
    c.is_whitespace() || c == '(' || c == ')' || is_quote(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}')
}

fn is_telling(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn push_word(word: &str, found: &mut Vec<Lexeme>) {
    match word {
        "AND" => found.push(Lexeme::And),
        "OR" => found.push(Lexeme::Or),
        "NOT" => found.push(Lexeme::Not),
        "NEAR" => {}
        word if word.strip_prefix("NEAR/").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => {}
        word if is_telling(word) => found.push(Lexeme::Word(word.to_owned())),
        _ => {}
    }
}
