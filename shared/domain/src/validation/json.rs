//! A JSON reader that accepts what Python's `json` accepts and complains in its words.
//!
//! `serde_json` refuses NaN, lone surrogates and numbers beyond the range of a float before any field can be
//! named in an answer; here they are marked (see [`super::marks`]) and refused by the rule of their field.

use serde_json::{Map, Number, Value};

use super::marks;

/// Deepest nesting of arrays and objects.
pub const JSON_DEPTH_MAX: usize = 100;

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at character {position}")]
pub struct JsonFault {
    /// What is wrong, in the words of Python's `json`.
    pub reason: &'static str,
    /// Where: the number of characters before it.
    pub position: usize,
}

/// Reads one JSON document. The last of several equal keys of an object wins.
///
/// # Errors
/// [`JsonFault`] at the first character that cannot be JSON, or where the nesting becomes deeper than
/// [`JSON_DEPTH_MAX`].
pub fn read_json(text: &str) -> Result<Value, JsonFault> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    let read = reader.skip_space().value().and_then(|value| {
        reader.skip_space();
        if reader.at == reader.bytes.len() { Ok(value) } else { Err(("Extra data", reader.at)) }
    });
    // Python counts characters; the text before a fault is valid, so the offset is on a boundary.
    read.map_err(|(reason, offset)| JsonFault { reason, position: text[..offset].chars().count() })
}

/// A reason and a byte offset.
type Fault = (&'static str, usize);

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) -> &mut Self {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'n') if self.take("null") => Ok(Value::Null),
            Some(b't') if self.take("true") => Ok(Value::Bool(true)),
            Some(b'f') if self.take("false") => Ok(Value::Bool(false)),
            Some(b'N') if self.take("NaN") => Ok(marks::NAN.into()),
            Some(b'I') if self.take("Infinity") => Ok(marks::INFINITY.into()),
            Some(b'-') if self.take("-Infinity") => Ok(marks::NEGATIVE_INFINITY.into()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(("Expecting value", self.at)),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(("Nesting is too deep", self.at));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Value, Fault> {
        let mut items = Vec::new();
        if self.skip_space().take("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.skip_space().take("]") {
                return Ok(Value::Array(items));
            }
            self.comma("]", "Illegal trailing comma before end of array")?;
        }
    }

    fn object(&mut self) -> Result<Value, Fault> {
        let mut map = Map::new();
        if self.skip_space().take("}") {
            return Ok(Value::Object(map));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(("Expecting property name enclosed in double quotes", self.at));
            }
            let key = self.string()?;
            if !self.skip_space().take(":") {
                return Err(("Expecting ':' delimiter", self.at));
            }
            let value = self.skip_space().value()?;
            map.insert(key, value);
            if self.skip_space().take("}") {
                return Ok(Value::Object(map));
            }
            self.comma("}", "Illegal trailing comma before end of object")?;
        }
    }

    fn comma(&mut self, end: &str, trailing: &'static str) -> Result<(), Fault> {
        let comma_at = self.at;
        if !self.take(",") {
            return Err(("Expecting ',' delimiter", comma_at));
        }
        self.skip_space();
        if self.bytes[self.at..].starts_with(end.as_bytes()) { Err((trailing, comma_at)) } else { Ok(()) }
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.take("-");
        // A zero ends the whole part: what follows "0" in "01" is another token.
        if !self.take("0") && !self.digits() {
            return Err(("Expecting value", start));
        }
        let whole_end = self.at;
        self.optional_part(|reader| reader.take(".") && reader.digits());
        self.optional_part(|reader| {
            let exponent = reader.take("e") || reader.take("E");
            if exponent && !reader.take("+") {
                reader.take("-");
            }
            exponent && reader.digits()
        });
        let text = &self.text[start..self.at];
        if self.at == whole_end {
            if let Ok(number) = text.parse::<i64>() {
                return Ok(number.into());
            }
            if let Ok(number) = text.parse::<u64>() {
                return Ok(number.into());
            }
        }
        let number: f64 = text.parse().map_err(|_| ("Expecting value", start))?;
        let beyond = if number < 0.0 { marks::NEGATIVE_INFINITY } else { marks::INFINITY };
        Ok(Number::from_f64(number).map_or_else(|| beyond.into(), Value::Number))
    }

    fn optional_part(&mut self, read: impl Fn(&mut Self) -> bool) {
        let start = self.at;
        if !read(self) {
            self.at = start;
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let quote_at = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= b' ') {
                self.at += 1;
            }
            // Stops only at ASCII bytes or the end, so the slice ends on a character boundary.
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(quote_at, &mut out)?,
                Some(_) => return Err(("Invalid control character at", self.at)),
                None => return Err(("Unterminated string starting at", quote_at)),
            }
        }
    }

    fn escape(&mut self, quote_at: usize, out: &mut String) -> Result<(), Fault> {
        let backslash_at = self.at;
        self.at += 2;
        let character = match self.bytes.get(backslash_at + 1) {
            None => return Err(("Unterminated string starting at", quote_at)),
            Some(b'u') => return self.unicode_escape(out),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) => return Err(("Invalid \\escape", backslash_at)),
        };
        out.push(character);
        Ok(())
    }

    /// Reads the four digits after `\u`, and the second half of a pair if it follows.
    fn unicode_escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let unit = self.hex4().ok_or(("Invalid \\uXXXX escape", self.at - 1))?;
        self.at += 4;
        if (0xD800..0xDC00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
            let first_end = self.at;
            self.at += 2;
            let low = self.hex4().ok_or(("Invalid \\uXXXX escape", self.at - 1))?;
            if (0xDC00..0xE000).contains(&low) {
                self.at += 4;
                out.extend(char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)));
                return Ok(());
            }
            self.at = first_end;
        }
        match char::from_u32(unit) {
            Some(character) => out.push(character),
            None => out.push_str(marks::LONE_SURROGATE),
        }
        Ok(())
    }

    fn hex4(&self) -> Option<u32> {
        // Python wants one more character after the digits, the closing quote at the least.
        let digits = self.bytes.get(self.at..self.at + 4).filter(|_| self.at + 4 < self.bytes.len())?;
        digits.iter().try_fold(0, |unit, byte| Some(unit * 16 + char::from(*byte).to_digit(16)?))
    }
}
