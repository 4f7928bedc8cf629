//! How answers compared to those of the shadow.

use std::collections::BTreeMap;

use domain::entities::{self, ShadowOutcome};
use domain::time::{EpochSeconds, utc_date};
use domain::views::{ShadowDay, ShadowTotal, ShadowTrend};

use super::numbers::{count, part};
use super::windows::Windows;

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowVerdict {
    /// When.
    pub at: EpochSeconds,
    /// How it ended.
    pub outcome: ShadowOutcome,
}

impl From<&entities::ShadowVerdict> for ShadowVerdict {
    fn from(verdict: &entities::ShadowVerdict) -> Self {
        Self { at: verdict.created_at, outcome: verdict.outcome() }
    }
}

#[derive(Default)]
struct Tally {
    wins: usize,
    losses: usize,
    ties: usize,
}

impl Tally {
    fn of<'a>(verdicts: impl Iterator<Item = &'a ShadowVerdict>) -> Self {
        verdicts.fold(Self::default(), |mut tally, verdict| {
            match verdict.outcome {
                ShadowOutcome::Win => tally.wins += 1,
                ShadowOutcome::Loss => tally.losses += 1,
                ShadowOutcome::Tie => tally.ties += 1,
            }
            tally
        })
    }

    fn all(&self) -> usize {
        self.wins + self.losses + self.ties
    }
}

pub(super) fn in_window(verdicts: &[ShadowVerdict], windows: &Windows) -> Vec<ShadowVerdict> {
    verdicts.iter().copied().filter(|verdict| windows.is_in_trend(verdict.at)).collect()
}

pub(super) fn shadow_trend(verdicts: &[ShadowVerdict], judge_prompt_version: &str) -> ShadowTrend {
    let mut by_day: BTreeMap<String, Vec<&ShadowVerdict>> = BTreeMap::new();
    for verdict in verdicts {
        by_day.entry(utc_date(verdict.at).unwrap_or_default()).or_default().push(verdict);
    }
    let day = |(date, verdicts): (String, Vec<&ShadowVerdict>)| {
        let tally = Tally::of(verdicts.into_iter());
        ShadowDay { date, n: tally.all(), wins: tally.wins, losses: tally.losses, ties: tally.ties }
    };
    let total = Tally::of(verdicts.iter());
    let n = total.all();
    ShadowTrend {
        daily: by_day.into_iter().map(day).collect(),
        window_total: ShadowTotal {
            n,
            wins: total.wins,
            losses: total.losses,
            ties: total.ties,
            win_rate: part(total.wins, n),
            net_win: if n == 0 { 0.0 } else { (count(total.wins) - count(total.losses)) / count(n) },
        },
        judge_prompt_version: judge_prompt_version.to_owned(),
    }
}
