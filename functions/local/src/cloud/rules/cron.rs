//! Times of the calendar: minutes, hours, day of month, month, day of week, year.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use domain::time::EpochMillis;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::schedule::ScheduleError;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/// The years that EventBridge knows.
const YEARS: RangeInclusive<u16> = 1970..=2199;

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: BTreeSet<u16>,
    hours: BTreeSet<u16>,
    months: BTreeSet<u16>,
    years: BTreeSet<u16>,
    days: Days,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Days {
    OfMonth(BTreeSet<u16>),
    /// 1 is Sunday.
    OfWeek(BTreeSet<u16>),
}

impl Cron {
    /// Reads the six fields between the parentheses.
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, of_month, months, of_week, years] = fields.as_slice() else {
            return Err(ScheduleError::Fields(text.to_owned()));
        };
        let days = match (*of_month, *of_week) {
            ("?", "?") => return Err(ScheduleError::Days),
            (days, "?") => Days::OfMonth(field("day-of-month", days, 1..=31, &[])?),
            ("?", days) => Days::OfWeek(field("day-of-week", days, 1..=7, &WEEKDAYS)?),
            _ => return Err(ScheduleError::Days),
        };
        Ok(Self {
            minutes: field("minutes", minutes, 0..=59, &[])?,
            hours: field("hours", hours, 0..=23, &[])?,
            months: field("month", months, 1..=12, &MONTHS)?,
            years: field("year", years, YEARS, &[])?,
            days,
        })
    }

    /// The first time after `after_ms`.
    pub(super) fn next_after(&self, after_ms: EpochMillis) -> Option<EpochMillis> {
        let after = Offset::UTC.to_datetime(Timestamp::from_millisecond(after_ms).ok()?);
        let last_year = i16::try_from(*self.years.last()?).ok()?;
        let mut date = after.date();
        while date.year() <= last_year {
            if self.is_on(date) {
                for (hour, minute) in self.times() {
                    let time = date.at(hour, minute, 0, 0);
                    let at_ms = Offset::UTC.to_timestamp(time).ok()?.as_millisecond();
                    if at_ms > after_ms {
                        return Some(at_ms);
                    }
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn times(&self) -> impl Iterator<Item = (i8, i8)> {
        // Both are below 60.
        self.hours.iter().flat_map(|hour| self.minutes.iter().map(|minute| (*hour as i8, *minute as i8)))
    }

    fn is_on(&self, date: Date) -> bool {
        let has =
            |set: &BTreeSet<u16>, value: i16| u16::try_from(value).is_ok_and(|value| set.contains(&value));
        let day = match &self.days {
            Days::OfMonth(days) => has(days, date.day().into()),
            Days::OfWeek(days) => has(days, (date.weekday().to_sunday_zero_offset() + 1).into()),
        };
        day && has(&self.months, date.month().into()) && has(&self.years, date.year())
    }
}

/// The values of one field: `*`, numbers or names, ranges, steps, and lists of these.
fn field(
    name: &'static str,
    text: &str,
    bounds: RangeInclusive<u16>,
    names: &[&str],
) -> Result<BTreeSet<u16>, ScheduleError> {
    let mut values = BTreeSet::new();
    for part in text.split(',') {
        let part = values_of(part, &bounds, names);
        values.extend(part.ok_or_else(|| ScheduleError::Field { field: name, text: text.to_owned() })?);
    }
    Ok(values)
}

fn values_of(part: &str, bounds: &RangeInclusive<u16>, names: &[&str]) -> Option<Vec<u16>> {
    let value = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        // Months and weekdays count from 1.
        let value = named.map_or_else(|| text.parse().ok(), |index| u16::try_from(index + 1).ok());
        value.filter(|value| bounds.contains(value))
    };
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step.parse().ok().filter(|step| *step >= 1)?)),
        None => (part, None),
    };
    let (first, last) = match (range, range.split_once('-')) {
        ("*", _) => (*bounds.start(), *bounds.end()),
        (_, Some((first, last))) => (value(first)?, value(last)?),
        // `5/15` begins at 5 and goes on to the end.
        (single, None) => (value(single)?, if step.is_some() { *bounds.end() } else { value(single)? }),
    };
    (first <= last).then(|| (first..=last).step_by(step.unwrap_or(1)).collect())
}
