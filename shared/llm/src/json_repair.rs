//! Reads what is almost JSON: single quotes, bare keys, Python's words, comments, missing or trailing commas, raw
//! control characters and unescaped quotes inside strings.
//!
//! Our own, because the library that mends most hangs and eats memory on inputs as small as `["">`. This reader
//! goes through the text once, nests to a limit, and refuses text that ends too early: what was cut is not mended.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
pub(crate) const DEPTH_MAX: usize = 64;
/// Longest bare key or word, in characters.
const WORD_CHARS_MAX: usize = 256;

/// The object or array at the start of `text`; whatever follows it is ignored.
pub(crate) fn repair(text: &str) -> Option<Value> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0 };
    reader.skip_blank();
    match reader.peek()? {
        '{' | '[' => reader.value(0),
        _ => None,
    }
}

/// Values that are words.
const LITERALS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];

struct Reader {
    chars: Vec<char>,
    at: usize,
}

/// What a string is part of: that decides which quote ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Member,
    Item,
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$')
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// White space and comments.
    fn skip_blank(&mut self) {
        while let Some(c) = self.peek() {
            let next = self.chars.get(self.at + 1);
            match (c, next) {
                _ if c.is_whitespace() => self.at += 1,
                ('#', _) | ('/', Some('/')) => self.skip_line(),
                ('/', Some('*')) => {
                    let rest = self.chars.get(self.at + 2..).unwrap_or_default();
                    let end = rest.windows(2).position(|pair| pair == ['*', '/']);
                    self.at = end.map_or(self.chars.len(), |end| self.at + end + 4);
                }
                _ => return,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.value_at(depth, Place::Item)
    }

    fn value_at(&mut self, depth: usize, place: Place) -> Option<Value> {
        match self.peek()? {
            '{' if depth < DEPTH_MAX => self.object(depth + 1),
            '[' if depth < DEPTH_MAX => self.array(depth + 1),
            '{' | '[' => None,
            c if is_quote(c) => self.string(place).map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut object = Map::new();
        loop {
            self.skip_separators();
            if self.peek()? == '}' {
                self.at += 1;
                return Some(Value::Object(object));
            }
            let key = if is_quote(self.peek()?) { self.string(Place::Key)? } else { self.bare_key()? };
            self.skip_blank();
            if self.peek()? != ':' {
                return None;
            }
            self.at += 1;
            self.skip_blank();
            let value = self.value_at(depth, Place::Member)?;
            object.insert(key, value);
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_separators();
            if self.peek()? == ']' {
                self.at += 1;
                return Some(Value::Array(items));
            }
            items.push(self.value_at(depth, Place::Item)?);
        }
    }

    /// Commas that are doubled, trailing or missing are all the same.
    fn skip_separators(&mut self) {
        self.skip_blank();
        while self.peek() == Some(',') {
            self.at += 1;
            self.skip_blank();
        }
    }

    fn bare_key(&mut self) -> Option<String> {
        let rest = self.chars.get(self.at..)?;
        let length = rest.iter().take(WORD_CHARS_MAX).take_while(|c| is_word(**c)).count();
        let key: String = rest.get(..length)?.iter().collect();
        self.at += length;
        (!key.is_empty()).then_some(key)
    }

    /// A number, a word of JSON, Python or JavaScript, or text without quotes.
    fn word(&mut self) -> Option<Value> {
        let rest = self.chars.get(self.at..)?;
        let ends = |c: &char| matches!(c, ',' | ']' | '}' | '{' | '[' | '\n' | ':') || is_quote(*c);
        let length = rest.iter().take(WORD_CHARS_MAX).take_while(|c| !ends(c)).count();
        let word: String = rest.get(..length)?.iter().collect();
        self.at += length;
        // A bare text must end where a value may end, or it was no value.
        if !matches!(self.peek()?, ',' | ']' | '}' | '\n') {
            return None;
        }
        let word = word.split(" //").next().unwrap_or_default().trim();
        match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" | "undefined" | "NaN" | "Infinity" | "-Infinity" => Some(Value::Null),
            // "..." says that something was left out.
            _ if word.chars().all(|c| matches!(c, '.' | '…')) => None,
            _ => Some(number(word).map_or_else(|| Value::String(word.to_owned()), Value::Number)),
        }
    }
}

fn number(word: &str) -> Option<Number> {
    let word = word.trim_start_matches('+').trim_end_matches('.');
    let digits = word.trim_start_matches('-').trim_start_matches('0');
    let sign = if word.starts_with('-') { "-" } else { "" };
    // `007` and `.5` are numbers to people.
    let zero = if digits.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    if !word.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    format!("{sign}{zero}{digits}").parse().ok()
}

mod strings;
#[cfg(test)]
mod tests;
