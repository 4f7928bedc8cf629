//! When a provider says that a limit will be lifted: `resets [weekday] h:mm am|pm`, in UTC.

use domain::time::{DAY_SECONDS, EpochSeconds};

const WEEK_DAYS: i64 = 7;
/// 1970-01-01 was a Thursday; weeks begin on Sunday here.
const EPOCH_WEEKDAY: i64 = 4;
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The next time that the words name; `None` when they name none.
#[must_use]
pub fn reset_estimate(message: &str, now: EpochSeconds) -> Option<EpochSeconds> {
    let message = message.to_lowercase();
    let (_, after) = message.split_once("resets ")?;
    let mut words = after
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')'))
        .filter(|word| !word.is_empty());
    let mut word = words.next()?;
    let weekday = weekday(word);
    if weekday.is_some() {
        word = words.next()?;
    }
    if word == "at" {
        word = words.next()?;
    }
    let (clock, half) = match word.strip_suffix("am").or_else(|| word.strip_suffix("pm")) {
        Some(clock) => (clock, &word[clock.len()..]),
        None => (word, words.next()?.trim_end_matches('.')),
    };
    let seconds = seconds_of_day(clock, half)?;
    let today = now.div_euclid(DAY_SECONDS);
    let (days, step) = match weekday {
        Some(day) => ((day - today - EPOCH_WEEKDAY).rem_euclid(WEEK_DAYS), WEEK_DAYS),
        None => (0, 1),
    };
    let at = (today + days) * DAY_SECONDS + seconds;
    Some(if at > now { at } else { at + step * DAY_SECONDS })
}

fn weekday(word: &str) -> Option<i64> {
    let number = WEEKDAYS.iter().position(|day| word.starts_with(day))?;
    i64::try_from(number).ok()
}

/// Seconds since midnight of `h:mm` or `h`, in the first or second half of the day.
fn seconds_of_day(clock: &str, half: &str) -> Option<i64> {
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let hour: i64 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let minute: i64 = minute.parse().ok().filter(|minute| (0..60).contains(minute))?;
    let afternoon = match half {
        "am" => 0,
        "pm" => 12,
        _ => return None,
    };
    Some(((hour % 12 + afternoon) * 60 + minute) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 2025-06-15, 15:06:40.
    const NOW: EpochSeconds = 1_750_000_000;
    const MIDNIGHT: EpochSeconds = NOW - NOW % DAY_SECONDS;

    #[test]
    fn the_next_time_of_that_name_is_meant() {
        for (words, days, seconds) in [
            ("You've hit your limit · resets 3:30pm (UTC)", 0, 15 * 3600 + 1800),
            ("limit reached; resets at 3:06 PM", 1, 15 * 3600 + 360),
            ("resets 12:00 am", 1, 0),
            ("Resets 12:15 pm", 1, 12 * 3600 + 900),
            ("weekly limit, resets Monday 9:00 am", 1, 9 * 3600),
            ("resets sunday, 4pm", 0, 16 * 3600),
            ("resets sun 2:00pm", 7, 14 * 3600),
            ("resets Saturday at 11:59 pm.", 6, 24 * 3600 - 60),
        ] {
            assert_eq!(reset_estimate(words, NOW), Some(MIDNIGHT + days * DAY_SECONDS + seconds), "{words}");
        }
    }

    #[test]
    fn words_that_name_no_time_name_none() {
        for words in [
            "",
            "resets ",
            "resets soon",
            "resets 13:00 pm",
            "resets 3:60 am",
            "resets 3:30",
            "reset 3:30 am",
        ] {
            assert_eq!(reset_estimate(words, NOW), None, "{words}");
        }
    }
}
