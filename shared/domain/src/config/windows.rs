//! Windows and strides: what is set, what a preset says, and what is in force.

use serde::Serialize;

use super::Config;
use crate::learning::{AdmissionPolicy, KindPolicy, LearningKind};
use crate::requests::publish::PublishRequest;
use crate::validation::rules::Choice;

/// Interactions of a window when nothing is set.
pub const DEFAULT_WINDOW: u32 = 10;
/// Interactions between windows when nothing is set.
pub const DEFAULT_STRIDE: u32 = 8;

/// Interactions that a batch reads of one user when no window is set.
pub const BATCH_WINDOW: u32 = 1_000;

/// A window and stride by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionPreset {
    /// Short talks.
    QuickChat,
    /// The usual.
    Standard,
    /// Long talks.
    LongForm,
    /// Much traffic.
    HighVolume,
}

impl Choice for ExtractionPreset {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("quick_chat", Self::QuickChat),
        ("standard", Self::Standard),
        ("long_form", Self::LongForm),
        ("high_volume", Self::HighVolume),
    ];
}

impl ExtractionPreset {
    /// The window and the stride.
    #[must_use]
    pub fn sizes(self) -> (u32, u32) {
        match self {
            Self::QuickChat => (5, 3),
            Self::Standard => (10, 8),
            Self::LongForm => (25, 10),
            Self::HighVolume => (15, 8),
        }
    }
}

/// A positive number as a count.
fn size(number: i64) -> u32 {
    u32::try_from(number.max(1)).unwrap_or(u32::MAX)
}

impl Config {
    fn preset(&self) -> (u32, u32) {
        self.extraction_preset.map_or((DEFAULT_WINDOW, DEFAULT_STRIDE), ExtractionPreset::sizes)
    }

    /// Interactions of a window, as set, else by the preset, else [`DEFAULT_WINDOW`].
    #[must_use]
    pub fn window(&self) -> u32 {
        self.window_size.map_or(self.preset().0, size)
    }

    /// Interactions between windows, as set, else by the preset, else [`DEFAULT_STRIDE`].
    #[must_use]
    pub fn stride(&self) -> u32 {
        self.stride_size.map_or(self.preset().1, size)
    }

    /// The overrides of the window and of the stride.
    fn overrides(&self, kind: LearningKind) -> (Option<i64>, Option<i64>) {
        match kind {
            LearningKind::Profile => {
                let extractor = self.profile_extractor_config.as_ref();
                extractor.map_or((None, None), |e| (e.window_size_override, e.stride_size_override))
            }
            LearningKind::Playbook => {
                let extractor = self.user_playbook_extractor_config.as_ref();
                extractor.map_or((None, None), |e| (e.window_size_override, e.stride_size_override))
            }
        }
    }

    /// Interactions of a window of one kind.
    #[must_use]
    pub fn effective_window(&self, kind: LearningKind) -> u32 {
        self.overrides(kind).0.map_or(self.window(), size)
    }

    /// Interactions that a batch reads of one user, the newest ones: the window, as an
    /// override, the configuration or a preset sets it, else [`BATCH_WINDOW`].
    #[must_use]
    pub fn batch_window(&self, kind: LearningKind) -> u32 {
        let is_set =
            self.overrides(kind).0.or(self.window_size).is_some() || self.extraction_preset.is_some();
        if is_set { self.effective_window(kind) } else { BATCH_WINDOW }
    }

    /// Whether there is anything by which rows of one kind are made.
    #[must_use]
    pub fn has_extractor(&self, kind: LearningKind) -> bool {
        match kind {
            LearningKind::Profile => self.profile_extractor_config.is_some(),
            LearningKind::Playbook => self.user_playbook_extractor_config.is_some(),
        }
    }

    /// The sources that are learned from at all; `None` or empty: all.
    #[must_use]
    pub fn sources(&self, kind: LearningKind) -> Option<&[String]> {
        match kind {
            LearningKind::Profile => {
                self.profile_extractor_config.as_ref()?.request_sources_enabled.as_deref()
            }
            LearningKind::Playbook => {
                self.user_playbook_extractor_config.as_ref()?.request_sources_enabled.as_deref()
            }
        }
    }

    /// Interactions between windows of one kind.
    #[must_use]
    pub fn effective_stride(&self, kind: LearningKind) -> u32 {
        self.overrides(kind).1.map_or(self.stride(), size)
    }

    /// Whether traffic from a source is learned from; a list of sources excludes unlabelled traffic.
    #[must_use]
    pub fn learns_from(&self, kind: LearningKind, source: &str) -> bool {
        let (enabled, sources) = match kind {
            LearningKind::Profile => {
                let extractor = self.profile_extractor_config.as_ref();
                // A manual extractor leaves arriving traffic alone.
                (extractor.is_some_and(|e| !e.manual_trigger), extractor.map(|e| &e.request_sources_enabled))
            }
            LearningKind::Playbook => {
                let extractor = self.user_playbook_extractor_config.as_ref();
                (extractor.is_some(), extractor.map(|e| &e.request_sources_enabled))
            }
        };
        let listed = sources.and_then(Option::as_ref).filter(|sources| !sources.is_empty());
        enabled && listed.is_none_or(|sources| sources.iter().any(|listed| listed == source))
    }

    /// Under what policy a request is admitted to learning.
    #[must_use]
    pub fn admission_policy(&self, request: &PublishRequest) -> AdmissionPolicy {
        let of = |kind| KindPolicy {
            eligible: !request.evaluation_only && self.learns_from(kind, &request.source),
            window: self.effective_window(kind),
            stride: self.effective_stride(kind),
        };
        AdmissionPolicy {
            profile: of(LearningKind::Profile),
            playbook: of(LearningKind::Playbook),
            idle_timeout_seconds: self.extraction_idle_timeout_seconds,
            force: request.force_extraction,
            session_finished: request.session_finished,
            skip_aggregation: request.skip_aggregation,
            override_stall: request.override_learning_stall,
        }
    }

    pub(super) fn check_windows(&self) -> Result<(), String> {
        if self.stride() > self.window() {
            return Err("stride_size must be <= window_size".to_owned());
        }
        let extractors = [
            (LearningKind::Profile, "profile_extractor_config"),
            (LearningKind::Playbook, "user_playbook_extractor_config"),
        ];
        for (kind, name) in extractors {
            if self.effective_stride(kind) > self.effective_window(kind) {
                return Err(format!("{name}: the stride_size in force must be <= the window_size in force"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProfileExtractor;
    use super::*;

    #[test]
    fn a_batch_reads_as_much_as_a_set_window_holds_and_a_thousand_interactions_without_one() {
        let config = Config::default();
        let set = Config { window_size: Some(10), ..Config::default() };
        let preset = Config { extraction_preset: Some(ExtractionPreset::LongForm), ..Config::default() };
        let extractor = ProfileExtractor { window_size_override: Some(30), ..ProfileExtractor::default() };
        let overridden = Config { profile_extractor_config: Some(extractor), ..Config::default() };
        for (config, expected) in
            [(config, [1_000, 1_000]), (set, [10, 10]), (preset, [25, 25]), (overridden, [30, 1_000])]
        {
            assert_eq!(LearningKind::ALL.map(|kind| config.batch_window(kind)), expected);
        }
    }
}
