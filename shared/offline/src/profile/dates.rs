//! Relative dates in a fact, resolved against the day on which it was said (UTC).

use domain::entities::ProfileTimeToLive;
use domain::time::EpochSeconds;
use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;
use jiff::{Span, Timestamp};
use regex::Captures;

use crate::pattern::patterns;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const WEEKDAYS_JA: [&str; 7] = ["月", "火", "水", "木", "金", "土", "日"];

patterns! {
    RELATIVE = r"\b(?P<p>on|by|until|till|before|after|since|from|through|to|in|during|starting|around)? ?\b(?P<e>the day after tomorrow|tomorrow|yesterday|today|tonight|(?P<m>next|this coming|this|last|coming) (?P<w>(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|week|month|year)|(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve) (?P<u>day|week|month|year)s?(?P<ago> ago| from now| from today)?)\b";
    CALENDAR = r"\b(?P<p>on|by|until|till|before|after|since|from|through|to|starting|around)? ?\b(?:(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?|(?:the )?(?P<day2>\d{1,2})(?:st|nd|rd|th)? (?:of )?(?P<month2>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*))\b(?:,? (?P<year>\d{4})\b)?";
    WEEKDAY = r"\b(?P<p>on|by|until|till|before|after) (?P<w>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b(?P<plural> (?:mornings|afternoons|evenings|nights))?";
    JAPANESE = r"(?P<e>明後日|あさって|一昨日|おととい|明日|あした|昨日|きのう|本日|今日|今夜|(?P<m>再来|来|先|今|次の|今度の)(?:週の?)?(?P<w>[月火水木金土日])曜日?|(?P<m3>再来|来|今)月の?(?P<d3>\d{1,2})日|(?P<m2>再来|来|先|今)(?P<u>週末|週|月|年)|(?P<n>\d{1,3}|[一二三四五六七八九十])(?P<u2>日|週間|[かヶカ]月|年)(?P<d>後|前)|(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})日)";
}

/// A text whose relative dates are written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dated {
    /// The text.
    pub(crate) text: String,
    /// The last day that it speaks of.
    pub(crate) last: Option<Date>,
}

/// How relative dates are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaning {
    /// An event to come: "on Friday" is the next one, "May 20" the next May 20.
    Future,
    /// Something that happened: the nearest day before.
    Past,
    /// A habit or a state: bare weekdays and days of the year stay as they are.
    Habit,
}

/// The UTC day of a moment.
pub(crate) fn day_of(at: EpochSeconds) -> Date {
    let moment = Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH);
    Offset::UTC.to_datetime(moment).date()
}

/// The shortest time to live that reaches from `today` to the end of `last`.
pub(crate) fn time_to_live_until(today: Date, last: Date) -> ProfileTimeToLive {
    match days_between(today, last) {
        ..0 => ProfileTimeToLive::OneMonth,
        0 => ProfileTimeToLive::OneDay,
        1..=6 => ProfileTimeToLive::OneWeek,
        7..=29 => ProfileTimeToLive::OneMonth,
        30..=89 => ProfileTimeToLive::OneQuarter,
        90..=364 => ProfileTimeToLive::OneYear,
        _ => ProfileTimeToLive::Infinity,
    }
}

/// Writes relative dates of either language as `YYYY-MM-DD`.
pub(crate) fn resolve(text: &str, today: Date, leaning: Leaning) -> Dated {
    let mut last = None;
    let text = replace(&RELATIVE, text, &mut last, |found| relative(found, today));
    let text = if leaning == Leaning::Habit {
        text
    } else {
        let text = replace(&CALENDAR, &text, &mut last, |found| calendar(found, today, leaning));
        replace(&WEEKDAY, &text, &mut last, |found| {
            if found.name("plural").is_some() {
                return None;
            }
            let day = step_to(today, weekday(&found["w"], &WEEKDAYS)?, leaning == Leaning::Future)?;
            Some((with_preposition(found.name("p").map(|p| p.as_str()), "on", day), day))
        })
    };
    let text = replace(&JAPANESE, &text, &mut last, |found| japanese(found, today, leaning));
    Dated { text, last }
}

fn replace(
    pattern: &regex::Regex,
    text: &str,
    last: &mut Option<Date>,
    write: impl Fn(&Captures<'_>) -> Option<(String, Date)>,
) -> String {
    let replaced = pattern.replace_all(text, |found: &Captures<'_>| match write(found) {
        Some((written, day)) => {
            *last = (*last).max(Some(day));
            let lead = if found[0].starts_with(' ') { " " } else { "" };
            format!("{lead}{written}")
        }
        None => found[0].to_owned(),
    });
    replaced.into_owned()
}

fn relative(found: &Captures<'_>, today: Date) -> Option<(String, Date)> {
    let preposition = found.name("p").map(|p| p.as_str());
    let on = |day: Date| Some((with_preposition(preposition, "on", day), day));
    match found["e"].to_ascii_lowercase().as_str() {
        "the day after tomorrow" => return on(plus_days(today, 2)?),
        "tomorrow" => return on(plus_days(today, 1)?),
        "yesterday" => return on(plus_days(today, -1)?),
        "today" | "tonight" => return on(today),
        _ => {}
    }
    if let Some(number) = found.name("n") {
        let ago = found.name("ago").map(|ago| ago.as_str().trim().to_ascii_lowercase());
        let sign = match (preposition.map(str::to_ascii_lowercase).as_deref(), ago.as_deref()) {
            (_, Some("ago")) => -1,
            (_, Some(_)) | (Some("in"), None) => 1,
            // "for two weeks" is a length, not a day.
            _ => return None,
        };
        let day = plus(today, &found["u"], sign * count(number.as_str())?)?;
        let preposition = preposition.filter(|p| !p.eq_ignore_ascii_case("in"));
        return Some((with_preposition(preposition, "on", day), day));
    }
    let modifier = found["m"].to_ascii_lowercase();
    let forward = modifier != "last";
    let unit = found["w"].to_ascii_lowercase();
    let steps = match modifier.as_str() {
        "next" => 1,
        "last" => -1,
        _ => 0,
    };
    let preposition =
        preposition.filter(|p| !p.eq_ignore_ascii_case("in") && !p.eq_ignore_ascii_case("during"));
    match unit.as_str() {
        "week" => {
            let monday = plus_days(monday_of(today)?, 7 * steps)?;
            Some((
                spaced(preposition.unwrap_or("in"), &format!("the week of {monday}")),
                plus_days(monday, 6)?,
            ))
        }
        "weekend" => {
            let saturday = plus_days(monday_of(today)?, 7 * steps + 5)?;
            Some((
                spaced(preposition.unwrap_or("on"), &format!("the weekend of {saturday}")),
                plus_days(saturday, 1)?,
            ))
        }
        "month" => {
            let day = plus(today, "month", steps)?.last_of_month();
            Some((spaced(preposition.unwrap_or("in"), &day.strftime("%Y-%m").to_string()), day))
        }
        "year" => {
            let day = plus(today, "year", steps)?.last_of_year();
            Some((spaced(preposition.unwrap_or("in"), &day.strftime("%Y").to_string()), day))
        }
        name => on(step_to(today, weekday(name, &WEEKDAYS)?, forward)?),
    }
}

fn calendar(found: &Captures<'_>, today: Date, leaning: Leaning) -> Option<(String, Date)> {
    let month = found.name("month").or(found.name("month2"))?.as_str().to_ascii_lowercase();
    let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
    let day = found.name("day").or(found.name("day2"))?.as_str().parse().ok()?;
    let year = found.name("year").and_then(|year| year.as_str().parse().ok());
    let day = day_in_year(today, year, i8::try_from(month).ok()?, day, leaning)?;
    // "the May 20 flight" keeps its place; only a date that already had "on" or stands free gets one.
    let preposition = found.name("p").map(|p| p.as_str());
    Some((preposition.map_or_else(|| day.to_string(), |p| spaced(p, &day.to_string())), day))
}

fn japanese(found: &Captures<'_>, today: Date, leaning: Leaning) -> Option<(String, Date)> {
    let number = |name: &str| found.name(name).and_then(|n| n.as_str().parse::<i64>().ok());
    if let (Some(month), Some(day)) = (number("month"), number("day")) {
        if leaning == Leaning::Habit {
            return None;
        }
        let year = number("year").and_then(|year| i16::try_from(year).ok());
        let day = day_in_year(today, year, i8::try_from(month).ok()?, i8::try_from(day).ok()?, leaning)?;
        return Some((day.to_string(), day));
    }
    if let (Some(n), Some(unit), Some(direction)) = (found.name("n"), found.name("u2"), found.name("d")) {
        let sign = if direction.as_str() == "前" { -1 } else { 1 };
        let unit = match unit.as_str() {
            "日" => "day",
            "週間" => "week",
            "年" => "year",
            _ => "month",
        };
        let day = plus(today, unit, sign * count(n.as_str())?)?;
        return Some((day.to_string(), day));
    }
    let steps = |modifier: &str| match modifier {
        "再来" => 2,
        "来" => 1,
        "先" => -1,
        _ => 0,
    };
    if let (Some(modifier), Some(day)) = (found.name("m3"), number("d3")) {
        let month = plus(today, "month", steps(modifier.as_str()))?;
        let day = Date::new(month.year(), month.month(), i8::try_from(day).ok()?).ok()?;
        return Some((day.to_string(), day));
    }
    if let (Some(modifier), Some(name)) = (found.name("m"), found.name("w")) {
        let wanted = weekday(name.as_str(), &WEEKDAYS_JA)?;
        let day = match modifier.as_str() {
            "次の" | "今度の" => step_to(today, wanted, true)?,
            week => {
                plus_days(monday_of(today)?, 7 * steps(week) + i64::from(wanted.to_monday_zero_offset()))?
            }
        };
        return Some((day.to_string(), day));
    }
    if let (Some(modifier), Some(unit)) = (found.name("m2"), found.name("u")) {
        let steps = steps(modifier.as_str());
        let monday = plus_days(monday_of(today)?, 7 * steps)?;
        return match unit.as_str() {
            "週" => Some((format!("{monday}の週"), plus_days(monday, 6)?)),
            "週末" => {
                let saturday = plus_days(monday, 5)?;
                Some((format!("{saturday}の週末"), plus_days(saturday, 1)?))
            }
            "月" => {
                let day = plus(today, "month", steps)?.last_of_month();
                Some((day.strftime("%Y-%m").to_string(), day))
            }
            _ => {
                let day = plus(today, "year", steps)?.last_of_year();
                Some((format!("{}年", day.year()), day))
            }
        };
    }
    let offset = match &found["e"] {
        "明後日" | "あさって" => 2,
        "明日" | "あした" => 1,
        "昨日" | "きのう" => -1,
        "一昨日" | "おととい" => -2,
        _ => 0,
    };
    let day = plus_days(today, offset)?;
    Some((day.to_string(), day))
}

/// A day of the year without its year: the nearest one in the direction that is meant.
fn day_in_year(today: Date, year: Option<i16>, month: i8, day: i8, leaning: Leaning) -> Option<Date> {
    if let Some(year) = year {
        return Date::new(year, month, day).ok();
    }
    let years = [today.year() - 1, today.year(), today.year() + 1];
    let mut days = years.into_iter().filter_map(|year| Date::new(year, month, day).ok());
    if leaning == Leaning::Past { days.rfind(|day| *day <= today) } else { days.find(|day| *day >= today) }
}

/// The next (or last) such weekday, never today.
fn step_to(today: Date, wanted: Weekday, forward: bool) -> Option<Date> {
    today.nth_weekday(if forward { 1 } else { -1 }, wanted).ok()
}

fn weekday(name: &str, names: &[&str; 7]) -> Option<Weekday> {
    let name = name.to_ascii_lowercase();
    let place = names.iter().position(|known| name.starts_with(known))?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

fn count(word: &str) -> Option<i64> {
    const WORDS: [(&str, i64); 13] = [
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("twelve", 12),
    ];
    let word = word.to_ascii_lowercase();
    if let Some(place) = "一二三四五六七八九十".chars().position(|digit| word.starts_with(digit)) {
        return i64::try_from(place + 1).ok();
    }
    word.parse().ok().or_else(|| WORDS.iter().find(|(name, _)| *name == word).map(|(_, n)| *n))
}

fn plus(day: Date, unit: &str, count: i64) -> Option<Date> {
    let span = match unit.to_ascii_lowercase().as_str() {
        "day" => Span::new().try_days(count),
        "week" => Span::new().try_weeks(count),
        "month" => Span::new().try_months(count),
        _ => Span::new().try_years(count),
    };
    day.checked_add(span.ok()?).ok()
}

fn plus_days(day: Date, count: i64) -> Option<Date> {
    plus(day, "day", count)
}

fn monday_of(day: Date) -> Option<Date> {
    plus_days(day, -i64::from(day.weekday().to_monday_zero_offset()))
}

fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map_or(0, |span| span.get_days())
}

fn with_preposition(given: Option<&str>, default: &str, day: Date) -> String {
    spaced(given.unwrap_or(default), &day.to_string())
}

fn spaced(first: &str, second: &str) -> String {
    format!("{first} {second}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday.
    const SAID: EpochSeconds = 1_749_643_200; // 2025-06-11T12:00:00Z

    #[test]
    fn dates_count_from_the_day_on_which_they_were_said() {
        use Leaning::{Future, Habit, Past};
        let today = day_of(SAID);
        for (text, leaning, expected) in [
            ("Is flying to Oslo next Friday", Future, "Is flying to Oslo on 2025-06-13"),
            ("Is flying next Wednesday", Future, "Is flying on 2025-06-18"),
            ("Arrives by tomorrow", Future, "Arrives by 2025-06-12"),
            ("Has an exam the day after tomorrow", Future, "Has an exam on 2025-06-13"),
            ("Missed a train last Tuesday", Past, "Missed a train on 2025-06-10"),
            ("Started two weeks ago", Past, "Started on 2025-05-28"),
            ("Leaves in 3 months", Future, "Leaves on 2025-09-11"),
            ("Is away for two weeks", Future, "Is away for two weeks"),
            ("Moves next week", Future, "Moves in the week of 2025-06-16"),
            ("Is hiking this weekend", Future, "Is hiking on the weekend of 2025-06-14"),
            ("Retires next month", Future, "Retires in 2025-07"),
            ("Meets on Monday", Future, "Meets on 2025-06-16"),
            ("Swims on Monday mornings", Future, "Swims on Monday mornings"),
            ("Does not work on Friday", Habit, "Does not work on Friday"),
            ("Flies on May 20th", Future, "Flies on 2026-05-20"),
            ("Flew on 20 May", Past, "Flew on 2025-05-20"),
            ("Born on May 20, 1990", Past, "Born on 1990-05-20"),
            ("Married on Feb 30", Future, "Married on Feb 30"),
            ("May leave", Future, "May leave"),
            ("来週の金曜日に出発する", Future, "2025-06-20に出発する"),
            ("明日から休む", Future, "2025-06-12から休む"),
            ("三日後に会う", Future, "2025-06-14に会う"),
            ("7月3日に引っ越す", Future, "2025-07-03に引っ越す"),
            ("来月引っ越す", Future, "2025-07引っ越す"),
            ("来月の3日に行く", Future, "2025-07-03に行く"),
            ("誕生日は7月3日", Habit, "誕生日は7月3日"),
        ] {
            assert_eq!(resolve(text, today, leaning).text, expected, "{text}");
        }
    }

    #[test]
    fn time_to_live_reaches_to_the_day_itself() {
        let today = day_of(SAID);
        for (days, expected) in [
            (-1, ProfileTimeToLive::OneMonth),
            (0, ProfileTimeToLive::OneDay),
            (1, ProfileTimeToLive::OneWeek),
            (6, ProfileTimeToLive::OneWeek),
            (7, ProfileTimeToLive::OneMonth),
            (29, ProfileTimeToLive::OneMonth),
            (30, ProfileTimeToLive::OneQuarter),
            (89, ProfileTimeToLive::OneQuarter),
            (90, ProfileTimeToLive::OneYear),
            (364, ProfileTimeToLive::OneYear),
            (365, ProfileTimeToLive::Infinity),
        ] {
            let last = plus_days(today, days).unwrap();
            assert_eq!(time_to_live_until(today, last), expected, "{days}");
        }
    }

    #[test]
    fn any_moment_has_a_day_and_any_text_an_answer() {
        for at in [i64::MIN, -1, 0, i64::MAX] {
            let today = day_of(at);
            assert!(
                !resolve("See you in 999 years, last year, 来年", today, Leaning::Future).text.is_empty()
            );
        }
    }
}
