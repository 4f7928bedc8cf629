//! Strings that are almost JSON: any quote, raw control characters, quotes inside that nobody escaped.

use super::{LITERALS, Place, Reader, WORD_CHARS_MAX, is_quote, is_word};

impl Reader {
    pub(super) fn string(&mut self, place: Place) -> Option<String> {
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
