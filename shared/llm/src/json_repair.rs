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

    fn string(&mut self, place: Place) -> Option<String> {
        let open = self.peek()?;
        let close = if open == '“' { '”' } else { open };
        self.at += 1;
        let mut text = String::new();
        loop {
            let c = self.peek()?;
            self.at += 1;
            match c {
                '\\' => self.escape(&mut text)?,
                _ if c == close && self.ends_string(place) => return Some(text),
                _ => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let c = self.peek()?;
        self.at += 1;
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            '"' | '\'' | '\\' | '/' => text.push(c),
            'u' => text.push(self.unicode()),
            // A backslash that escapes nothing, as in a Windows path, stands for itself.
            other => text.extend(['\\', other]),
        }
        Some(())
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits: String = self.chars.get(self.at..self.at + 4)?.iter().collect();
        let code = u32::from_str_radix(&digits, 16).ok()?;
        self.at += 4;
        Some(code)
    }

    /// A lone surrogate becomes the replacement character.
    fn unicode(&mut self) -> char {
        let replacement = char::REPLACEMENT_CHARACTER;
        let Some(first) = self.hex4() else { return replacement };
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).unwrap_or(replacement);
        }
        if self.chars.get(self.at..self.at + 2) != Some(&['\\', 'u']) {
            return replacement;
        }
        self.at += 2;
        match self.hex4() {
            Some(second) if (0xdc00..0xe000).contains(&second) => {
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).unwrap_or(replacement)
            }
            _ => replacement,
        }
    }

    /// Whether the quote just passed ends its string: what comes next must be able to follow one.
    fn ends_string(&self, place: Place) -> bool {
        let mut rest = self.chars.get(self.at..).unwrap_or_default().iter().copied().peekable();
        let mut broken = false;
        while let Some(c) = rest.next_if(|c| c.is_whitespace()) {
            broken |= c == '\n';
        }
        let Some(next) = rest.next() else { return true };
        match place {
            Place::Key => next == ':',
            _ if next == '/' || next == '#' => true,
            // A comma was forgotten at the end of a line.
            _ if is_quote(next) => broken,
            Place::Member if next == '}' => true,
            Place::Item if next == ']' => true,
            _ if next != ',' => false,
            _ => {
                let mut rest = rest.skip_while(|c| c.is_whitespace()).take(WORD_CHARS_MAX).peekable();
                let Some(c) = rest.peek().copied() else { return false };
                match place {
                    Place::Item if c.is_alphabetic() => {
                        let word: String = rest.take_while(|c| is_word(*c)).collect();
                        LITERALS.contains(&word.as_str())
                    }
                    Place::Item => {
                        is_quote(c) || c.is_ascii_digit() || matches!(c, '{' | '[' | ']' | '-' | '/' | '#')
                    }
                    _ if is_quote(c) || matches!(c, '}' | '/' | '#') => true,
                    _ => rest.skip_while(|c| is_word(*c)).find(|c| !c.is_whitespace()) == Some(':'),
                }
            }
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

#[cfg(test)]
mod tests;
