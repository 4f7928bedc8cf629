//! Numbers and booleans.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use serde_json::{Value, json};

use super::super::fault::{Faults, Path};
use super::super::fields::Rule;
use super::super::marks;

/// The limits of a number; they are checked in the order `le`, `lt`, `ge`, `gt`, and the first that is
/// broken is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<T> {
    /// At most.
    pub le: Option<T>,
    /// Less than.
    pub lt: Option<T>,
    /// At least.
    pub ge: Option<T>,
    /// More than.
    pub gt: Option<T>,
}

/// Whole numbers from 1.
pub const POSITIVE: Bounds<i64> = Bounds::<i64>::above(0);
/// Numbers from 0 to 1.
pub const UNIT_INTERVAL: Bounds<f64> = Bounds { le: Some(1.0), lt: None, ge: Some(0.0), gt: None };

impl<T: Copy> Bounds<T> {
    /// No limits.
    pub const NONE: Self = Self { le: None, lt: None, ge: None, gt: None };

    /// More than `limit`.
    #[must_use]
    pub const fn above(limit: T) -> Self {
        Self { le: None, lt: None, ge: None, gt: Some(limit) }
    }

    /// `limit` or more.
    #[must_use]
    pub const fn from(limit: T) -> Self {
        Self { le: None, lt: None, ge: Some(limit), gt: None }
    }

    /// And at most `limit`.
    #[must_use]
    pub const fn to(self, limit: T) -> Self {
        Self { le: Some(limit), ..self }
    }

    /// And less than `limit`.
    #[must_use]
    pub const fn below(self, limit: T) -> Self {
        Self { lt: Some(limit), ..self }
    }
}

impl<T: Copy + PartialOrd + std::fmt::Display + serde::Serialize> Bounds<T> {
    /// The value if it is within the limits; NaN is within none.
    fn check<'v>(self, number: T, input: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<T> {
        let (kind, key, words, limit) = match self {
            Self { le: Some(limit), .. } if !ordered(number, limit, &[Less, Equal]) => {
                ("less_than_equal", "le", "less than or equal to", limit)
            }
            Self { lt: Some(limit), .. } if !ordered(number, limit, &[Less]) => {
                ("less_than", "lt", "less than", limit)
            }
            Self { ge: Some(limit), .. } if !ordered(number, limit, &[Greater, Equal]) => {
                ("greater_than_equal", "ge", "greater than or equal to", limit)
            }
            Self { gt: Some(limit), .. } if !ordered(number, limit, &[Greater]) => {
                ("greater_than", "gt", "greater than", limit)
            }
            _ => return Some(number),
        };
        faults.add(kind, at, format!("Input should be {words} {limit}"), input, Some(json!({ key: limit })));
        None
    }
}

/// Whether a number stands to a limit in one of some ways; NaN stands in none.
fn ordered<T: PartialOrd>(number: T, limit: T, ways: &[Ordering]) -> bool {
    number.partial_cmp(&limit).is_some_and(|way| ways.contains(&way))
}

const INT_TYPE: (&str, &str) = ("int_type", "Input should be a valid integer");
const INT_PARSING: (&str, &str) =
    ("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
const INT_SIZE: (&str, &str) =
    ("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size");
const INT_FRACTION: (&str, &str) =
    ("int_from_float", "Input should be a valid integer, got a number with a fractional part");
const FINITE: (&str, &str) = ("finite_number", "Input should be a finite number");
const FLOAT_TYPE: (&str, &str) = ("float_type", "Input should be a valid number");
const FLOAT_PARSING: (&str, &str) =
    ("float_parsing", "Input should be a valid number, unable to parse string as a number");
const BOOL_TYPE: (&str, &str) = ("bool_type", "Input should be a valid boolean");
const BOOL_PARSING: (&str, &str) =
    ("bool_parsing", "Input should be a valid boolean, unable to interpret input");

type Refusal = (&'static str, &'static str);

fn report<'v, T>(
    read: Result<T, Refusal>,
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<T> {
    read.map_err(|(kind, msg)| faults.add(kind, at, msg, value, None)).ok()
}

/// A whole number of 64 bits within limits; also `true`, `5.0`, `"5"`, `" 5 "`, `"5.0"` and `"1_000"`.
pub fn integer<'v>(bounds: Bounds<i64>) -> impl Rule<'v, i64> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let number = report(read_integer(value), value, at, faults)?;
        bounds.check(number, value, at, faults)
    }
}

/// A number within limits; also `true`, `"5"`, `"1e3"`. Never NaN or infinite.
pub fn number<'v>(bounds: Bounds<f64>) -> impl Rule<'v, f64> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let number = report(read_number(value), value, at, faults)?;
        let number = bounds.check(number, value, at, faults)?;
        report(if number.is_finite() { Ok(number) } else { Err(FINITE) }, value, at, faults)
    }
}

/// A boolean; also 0, 1, and the words yes, no, on, off, true, false, y, n, t, f in any case.
pub fn boolean<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<bool> {
    report(read_boolean(value), value, at, faults)
}

fn read_integer(value: &Value) -> Result<i64, Refusal> {
    match value {
        Value::Bool(truth) => Ok((*truth).into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(number),
            (None, Some(number)) => float_to_integer(number),
            (None, None) => Err(INT_SIZE),
        },
        Value::String(text) if marks::non_finite(text).is_some() => Err(FINITE),
        Value::String(text) => parse_integer(text),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(INT_TYPE),
    }
}

fn float_to_integer(number: f64) -> Result<i64, Refusal> {
    /// 2^63 as a float: the first that does not fit.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() != 0.0 {
        Err(INT_FRACTION)
    } else if (-LIMIT..LIMIT).contains(&number) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the range, as checked")]
        Ok(number as i64)
    } else {
        Err(INT_SIZE)
    }
}

fn parse_integer(text: &str) -> Result<i64, Refusal> {
    let text = text.trim();
    let whole = match text.split_once('.') {
        // "5.00" is whole, "5." and "5.5" are not.
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        Some(_) => return Err(INT_PARSING),
        None => text,
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole.strip_prefix('+').unwrap_or(whole)),
    };
    let digits = without_separators(digits).ok_or(INT_PARSING)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(INT_PARSING);
    }
    format!("{sign}{digits}").parse().map_err(|_| INT_SIZE)
}

/// Digits without the single underscores between them.
fn without_separators(digits: &str) -> Option<String> {
    let misplaced = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    (!misplaced).then(|| digits.replace('_', ""))
}

fn read_number(value: &Value) -> Result<f64, Refusal> {
    match value {
        Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
        Value::Number(number) => number.as_f64().ok_or(FLOAT_TYPE),
        Value::String(text) => match marks::non_finite(text) {
            Some(number) => Ok(number),
            None => {
                let digits = without_separators(text.trim()).ok_or(FLOAT_PARSING)?;
                digits.parse().map_err(|_| FLOAT_PARSING)
            }
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Err(FLOAT_TYPE),
    }
}

fn read_boolean(value: &Value) -> Result<bool, Refusal> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(0), _) => Ok(false),
            (Some(1), _) => Ok(true),
            (Some(_), _) => Err(BOOL_PARSING),
            (None, Some(0.0)) => Ok(false),
            (None, Some(1.0)) => Ok(true),
            (None, Some(number)) if number.fract() == 0.0 && float_to_integer(number).is_ok() => {
                Err(BOOL_PARSING)
            }
            (None, _) => Err(BOOL_TYPE),
        },
        Value::String(text) if marks::non_finite(text).is_some() => Err(BOOL_TYPE),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "0" | "off" | "f" | "false" | "n" | "no" => Ok(false),
            "1" | "on" | "t" | "true" | "y" | "yes" => Ok(true),
            _ => Err(BOOL_PARSING),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Err(BOOL_TYPE),
    }
}
