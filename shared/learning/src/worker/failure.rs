//! What can go wrong with one window, and what follows from it.

use domain::time::EpochSeconds;
use llm::ChatError;

use crate::services::OrgServicesError;

/// Longest wait between attempts at a window, in seconds.
pub(crate) const RETRY_SECONDS_MAX: i64 = 300;
/// Attempts at a window whose failure lies in the window or the model's answers, before it is parked.
pub(crate) const ATTEMPTS_MAX: u32 = 8;

/// Why a window was not learned; the code is shown by `learning_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCode {
    /// The provider refused the key.
    AuthError,
    /// The provider wants money.
    BillingError,
    /// The provider throttles.
    RateLimited,
    /// No answer in time.
    Timeout,
    /// The provider failed or could not be reached.
    ProviderUnavailable,
    /// The provider does not accept the request.
    RequestRejected,
    /// The window does not fit the model.
    InputBudgetExceeded,
    /// The provider's filter withheld the answer.
    ContentFiltered,
    /// The answer was cut at the output limit.
    AnswerTruncated,
    /// The answer was not usable, and neither was its repair.
    AnswerMalformed,
    /// The configuration cannot be followed.
    Configuration,
    /// More was learned at once than one commit can hold.
    TooLarge,
    /// What is stored of the window cannot be read.
    StoredDataDamaged,
    /// The worker died on the way.
    Interrupted,
}

impl FailureCode {
    /// The code in cursors, logs and answers.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::AuthError => "auth_error",
            Self::BillingError => "billing_error",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::RequestRejected => "request_rejected",
            Self::InputBudgetExceeded => "input_budget_exceeded",
            Self::ContentFiltered => "content_filtered",
            Self::AnswerTruncated => "answer_truncated",
            Self::AnswerMalformed => "answer_malformed",
            Self::Configuration => "input_budget_configuration_error",
            Self::TooLarge => "too_large",
            Self::StoredDataDamaged => "stored_data_damaged",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the cause lies outside: such a window is tried again without end.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(
            self,
            Self::AuthError
                | Self::BillingError
                | Self::RateLimited
                | Self::Timeout
                | Self::ProviderUnavailable
        )
    }

    /// Whether trying again is pointless until something changes.
    fn is_hopeless(&self) -> bool {
        matches!(
            self,
            Self::InputBudgetExceeded | Self::Configuration | Self::TooLarge | Self::StoredDataDamaged
        )
    }

    /// Whether a window that failed so for the `attempts`-th time is given up until its cause is removed.
    #[must_use]
    pub fn parks(&self, attempts: u32) -> bool {
        self.is_hopeless() || (!self.is_outside() && attempts >= ATTEMPTS_MAX)
    }
}

/// When the window may be tried again after `attempts` attempts.
#[must_use]
pub(crate) fn retry_at(now: EpochSeconds, attempts: u32) -> EpochSeconds {
    let exponent = attempts.saturating_sub(1).min(9);
    now + RETRY_SECONDS_MAX.min(1 << exponent)
}

/// A window failed, or the worker must stop.
#[derive(Debug, thiserror::Error)]
pub enum WindowFailure {
    /// The window is tried again, or parked.
    #[error("{}: {detail}", code.as_str())]
    Window {
        /// What is shown.
        code: FailureCode,
        /// For the log only.
        detail: String,
    },
    /// The rows that were read changed: learn again at once.
    #[error("rows changed since they were read")]
    Stale,
    /// Another worker took over.
    #[error("another worker took over")]
    Superseded,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl WindowFailure {
    /// Whether a model answered, but not in a way that can be used.
    pub(crate) fn is_unusable_answer(&self) -> bool {
        let Self::Window { code, .. } = self else { return false };
        matches!(
            code,
            FailureCode::AnswerMalformed | FailureCode::AnswerTruncated | FailureCode::ContentFiltered
        )
    }

    /// The word in logs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Window { code, .. } => code.as_str(),
            Self::Stale => "stale",
            Self::Superseded => "superseded",
            Self::Store(_) => "store_failed",
        }
    }

    pub(crate) fn window(code: FailureCode, detail: impl Into<String>) -> Self {
        Self::Window { code, detail: detail.into() }
    }
}

impl From<ChatError> for WindowFailure {
    fn from(error: ChatError) -> Self {
        let code = match &error {
            ChatError::Auth { .. } => FailureCode::AuthError,
            ChatError::Billing { .. } => FailureCode::BillingError,
            ChatError::RateLimited { .. } => FailureCode::RateLimited,
            ChatError::Timeout { .. } => FailureCode::Timeout,
            ChatError::ContextTooLong { .. } => FailureCode::InputBudgetExceeded,
            ChatError::ContentFiltered { .. } => FailureCode::ContentFiltered,
            ChatError::Truncated { .. } => FailureCode::AnswerTruncated,
            ChatError::Malformed { .. } => FailureCode::AnswerMalformed,
            ChatError::BadRequest { .. } | ChatError::AddressRefused { .. } => FailureCode::RequestRejected,
            _ => FailureCode::ProviderUnavailable,
        };
        Self::window(code, error.to_string())
    }
}

impl From<OrgServicesError> for WindowFailure {
    fn from(error: OrgServicesError) -> Self {
        match error {
            OrgServicesError::Store(error) => Self::Store(error),
            OrgServicesError::Configuration(detail) => Self::window(FailureCode::Configuration, detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let waits: Vec<_> = [1, 2, 3, 9, 10, 50].map(|attempts| retry_at(0, attempts)).into();
        assert_eq!(waits, [1, 2, 4, 256, 300, 300]);
    }

    #[test]
    fn a_provider_that_is_down_is_waited_for_without_end() {
        assert!(!FailureCode::ProviderUnavailable.parks(u32::MAX));
        assert!(!FailureCode::AuthError.parks(u32::MAX));
    }

    #[test]
    fn a_window_that_keeps_failing_by_itself_is_parked_at_the_limit() {
        for (attempts, parked) in [(ATTEMPTS_MAX - 1, false), (ATTEMPTS_MAX, true), (ATTEMPTS_MAX + 1, true)]
        {
            assert_eq!(FailureCode::AnswerMalformed.parks(attempts), parked, "{attempts}");
            assert_eq!(FailureCode::Interrupted.parks(attempts), parked, "{attempts}");
        }
        assert!(FailureCode::InputBudgetExceeded.parks(1));
    }
}
