//! Times as callers write them: ISO 8601 with or without a zone, or epoch numbers.
//!
//! A time without a zone is UTC. Texts are read by hand, since the errors name the first wrong part of the
//! date and the accepted forms are those of pydantic, not of any one standard.

use serde_json::{Value, json};

use super::fault::{Faults, Path};
use super::fields::Fields;
use crate::time::EpochSeconds;

/// Numbers further from zero than this are milliseconds, nearer ones seconds.
const SECONDS_MAX: f64 = 2e10;
/// 9999-12-31T23:59:59Z.
const LATEST_SECONDS: i64 = 253_402_300_799;
/// The earliest and latest whole numbers that are taken as milliseconds where a row's time is written.
const WRITTEN_MILLISECONDS: std::ops::RangeInclusive<i64> = 1_500_000_000_000..=253_402_300_799_000;

/// A time in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// Microseconds since the epoch.
    #[must_use]
    pub fn microseconds(self) -> i64 {
        self.0
    }

    /// Whole seconds; what is less than a second is cut off.
    #[must_use]
    pub fn seconds(self) -> EpochSeconds {
        self.0 / 1_000_000
    }
}

/// The bounds of a read, both inclusive, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Not earlier than this.
    pub start: Option<EpochSeconds>,
    /// Not later than this.
    pub end: Option<EpochSeconds>,
    /// Whether the end was not after the start: an error of the whole request.
    reversed: bool,
}

impl TimeRange {
    /// Reads `start_time` and `end_time`.
    pub fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let start = fields.nullable("start_time", moment);
        let end = fields.nullable("end_time", moment);
        let (start, end) = (start?, end?);
        let reversed = start.zip(end).is_some_and(|(start, end)| end <= start);
        Some(Self { start: start.map(Moment::seconds), end: end.map(Moment::seconds), reversed })
    }

    /// Checks that the end is after the start.
    ///
    /// # Errors
    /// The message for the caller.
    pub fn check(&self) -> Result<(), String> {
        if self.reversed { Err("end_time must be after start_time".to_owned()) } else { Ok(()) }
    }

    /// Whether a time lies within the bounds.
    #[must_use]
    pub fn contains(&self, at: EpochSeconds) -> bool {
        self.start.is_none_or(|start| at >= start) && self.end.is_none_or(|end| at <= end)
    }
}

/// A time of a row as its writer gives it, in seconds or milliseconds, brought into the years that can be
/// written.
#[must_use]
pub fn written_epoch(at: i64) -> EpochSeconds {
    let seconds = if WRITTEN_MILLISECONDS.contains(&at) { at / 1000 } else { at };
    seconds.clamp(0, LATEST_SECONDS)
}

/// A time.
pub fn moment<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Moment> {
    let mut refuse = |kind, words: &str, reason: &str| {
        faults.add(kind, at, format!("{words}, {reason}"), value, Some(json!({ "error": reason })));
        None
    };
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match super::marks::non_finite(text) {
            Some(number) => Some(number),
            None => match from_text(text) {
                Ok(moment) => return Some(moment),
                Err(YEAR_ZERO) => {
                    return refuse("datetime_parsing", "Input should be a valid datetime", YEAR_ZERO);
                }
                Err(reason) => {
                    let words = "Input should be a valid datetime or date";
                    return refuse("datetime_from_date_parsing", words, reason);
                }
            },
        },
        _ => None,
    };
    match number.map(from_number) {
        Some(Ok(moment)) => Some(moment),
        Some(Err(reason)) => refuse("datetime_parsing", "Input should be a valid datetime", reason),
        None => {
            faults.add("datetime_type", at, "Input should be a valid datetime", value, None);
            None
        }
    }
}

fn from_number(number: f64) -> Result<Moment, &'static str> {
    if number.is_nan() {
        return Err("NaN values not permitted");
    }
    let seconds = if number.abs() > SECONDS_MAX { number / 1000.0 } else { number };
    #[expect(clippy::cast_precision_loss, reason = "both limits are exact in a float")]
    let (earliest, latest) = (-62_135_596_800.0, LATEST_SECONDS as f64 + 1.0);
    if seconds >= latest {
        Err("dates after 9999 are not supported as unix timestamps")
    } else if seconds < earliest {
        Err("dates before 0000 are not supported as unix timestamps")
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "within the years 1 to 9999, as checked")]
        Ok(Moment((seconds * 1e6).round() as i64))
    }
}

/// Reads a date with or without a time; a plain number in text is an epoch time.
fn from_text(text: &str) -> Result<Moment, &'static str> {
    if let Some(number) = plain_number(text).filter(|number| from_number(*number).is_ok()) {
        return from_number(number);
    }
    let bytes = text.as_bytes();
    let date = date(bytes)?;
    let rest = &bytes[10..];
    let (time, offset_seconds) = match rest.split_first() {
        None => ((0, 0, 0, 0), 0),
        Some((b'T' | b't' | b' ' | b'_', rest)) => time_and_zone(rest).ok_or(EXTRA)?,
        Some(_) => return Err(EXTRA),
    };
    let (hour, minute, second, micros) = time;
    let civil = date.at(hour, minute, second, 0);
    let utc = jiff::tz::Offset::UTC.to_timestamp(civil).map_err(|_| "date is outside expected range")?;
    Ok(Moment((utc.as_second() - offset_seconds) * 1_000_000 + micros))
}

/// A date like any other to the reader of dates, but none that the calendar has.
const YEAR_ZERO: &str = "year 0 is out of range";
const EXTRA: &str = "unexpected extra characters at the end of the input";

fn plain_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let shape = unsigned.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if shape && unsigned.starts_with(|c: char| c.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The digits `from..to` as a number.
fn digits(bytes: &[u8], from: usize, to: usize) -> Option<i64> {
    let digits = bytes.get(from..to)?;
    digits
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

fn date(bytes: &[u8]) -> Result<jiff::civil::Date, &'static str> {
    if bytes.len() < 10 {
        return Err("input is too short");
    }
    let separator = |index: usize| {
        if bytes[index] == b'-' { Ok(()) } else { Err("invalid date separator, expected `-`") }
    };
    let year = digits(bytes, 0, 4).ok_or("invalid character in year")?;
    separator(4)?;
    let month = digits(bytes, 5, 7).ok_or("invalid character in month")?;
    separator(7)?;
    let day = digits(bytes, 8, 10).ok_or("invalid character in day")?;
    if !(1..=12).contains(&month) {
        return Err("month value is outside expected range of 1-12");
    }
    let small = |number: i64| i8::try_from(number).ok();
    let parts = i16::try_from(year).ok().filter(|year| *year > 0).zip(small(month)).zip(small(day));
    let ((year, month), day) = parts.ok_or(YEAR_ZERO)?;
    jiff::civil::Date::new(year, month, day).map_err(|_| "day value is outside expected range")
}

/// Hour, minute, second and microsecond, and the zone's offset in seconds.
type TimeAndZone = ((i8, i8, i8, i64), i64);

fn time_and_zone(bytes: &[u8]) -> Option<TimeAndZone> {
    let within = |number: i64, max: i8| i8::try_from(number).ok().filter(|number| *number <= max);
    let hour = within(digits(bytes, 0, 2)?, 23)?;
    let minute = (bytes.get(2) == Some(&b':')).then(|| digits(bytes, 3, 5)).flatten()?;
    let minute = within(minute, 59)?;
    let mut at = 5;
    let (mut second, mut micros) = (0, 0);
    if bytes.get(at) == Some(&b':') {
        second = within(digits(bytes, at + 1, at + 3)?, 59)?;
        at += 3;
        if matches!(bytes.get(at), Some(b'.' | b',')) {
            let length = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            // More than six digits are cut off.
            let used = length.min(6);
            let missing = u32::try_from(6 - used).ok()?;
            micros = digits(bytes, at + 1, at + 1 + used).filter(|_| length > 0)? * 10_i64.pow(missing);
            at += 1 + length;
        }
    }
    Some(((hour, minute, second, micros), zone_offset(bytes.get(at..)?)?))
}

fn zone_offset(zone: &[u8]) -> Option<i64> {
    let (sign, rest) = match zone.split_first() {
        None | Some((b'Z' | b'z', [])) => return Some(0),
        Some((b'+', rest)) => (1, rest),
        Some((b'-', rest)) => (-1, rest),
        Some(_) => return None,
    };
    let minutes_at = if rest.get(2) == Some(&b':') { 3 } else { 2 };
    let (hours, minutes) = (digits(rest, 0, 2)?, digits(rest, minutes_at, minutes_at + 2)?);
    let whole = rest.len() == minutes_at + 2 && hours <= 23 && minutes <= 59;
    whole.then_some(sign * (hours * 3600 + minutes * 60))
}
