//! What can go wrong with a model, in classes that decide what happens next.
//!
//! `Display` is safe to show to anyone; [`ChatError::detail`] is for the log.

use std::time::Duration;

use domain::time::EpochMillis;

/// Longest detail kept of a provider's own words, in characters.
pub const DETAIL_CHARS_MAX: usize = 300;

/// When a provider wants to be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// After this long.
    Delay(Duration),
    /// At this time.
    At(EpochMillis),
}

impl RetryAfter {
    /// How long that is from `now`.
    #[must_use]
    pub fn from_now(self, now: EpochMillis) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(at) => Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or(0)),
        }
    }
}

/// Why an organisation's learning stands still until someone acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallReason {
    /// The provider refuses the credentials.
    AuthError,
    /// The account has no credit.
    BillingError,
}

impl StallReason {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthError => "auth_error",
            Self::BillingError => "billing_error",
        }
    }
}

/// Why a chat model gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// 401 or 403, or a key the provider calls invalid.
    #[error("the model provider refused the credentials")]
    Auth {
        /// For the log.
        detail: String,
    },
    /// 402, an exhausted quota, no credit.
    #[error("the account at the model provider has no credit left")]
    Billing {
        /// For the log.
        detail: String,
    },
    /// Too many requests just now.
    #[error("the model provider asks for fewer requests")]
    RateLimited {
        /// When to ask again, if the provider said so.
        retry_after: Option<RetryAfter>,
        /// For the log.
        detail: String,
    },
    /// No answer in time.
    #[error("the model did not answer in time")]
    Timeout {
        /// For the log.
        detail: String,
    },
    /// A fault on the provider's side.
    #[error("the model provider is overloaded or failing")]
    Overloaded {
        /// When to ask again, if the provider said so.
        retry_after: Option<RetryAfter>,
        /// For the log.
        detail: String,
    },
    /// The provider does not accept the request; asking again cannot help.
    #[error("the model provider did not accept the request")]
    BadRequest {
        /// For the log.
        detail: String,
    },
    /// The conversation does not fit into the model.
    #[error("the request is too long for the model")]
    ContextTooLong {
        /// For the log.
        detail: String,
    },
    /// The provider's filter refused the request or the answer.
    #[error("the model provider's content filter refused")]
    ContentFiltered {
        /// For the log.
        detail: String,
    },
    /// The answer was cut at the output limit.
    #[error("the answer was cut at the output limit of {}", limit_text(*limit_tokens))]
    Truncated {
        /// The limit that was asked for; `None` when it was the provider's own.
        limit_tokens: Option<u32>,
    },
    /// The answer cannot be read, even after a repair.
    #[error("the model's answer could not be read")]
    Malformed {
        /// For the log.
        detail: String,
    },
    /// The provider cannot be reached.
    #[error("the model provider cannot be reached")]
    Network {
        /// For the log.
        detail: String,
    },
    /// The endpoint leads to an address that tenants may not reach.
    #[error("the address of the model endpoint is not allowed")]
    AddressRefused {
        /// For the log.
        detail: String,
    },
}

fn limit_text(limit_tokens: Option<u32>) -> String {
    limit_tokens.map_or_else(|| "the model".to_owned(), |limit| format!("{limit} tokens"))
}

impl ChatError {
    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Timeout { .. }
            | Self::Overloaded { .. }
            | Self::Malformed { .. }
            | Self::Network { .. } => true,
            Self::Auth { .. }
            | Self::Billing { .. }
            | Self::BadRequest { .. }
            | Self::ContextTooLong { .. }
            | Self::ContentFiltered { .. }
            | Self::Truncated { .. }
            | Self::AddressRefused { .. } => false,
        }
    }

    /// Whether learning stands still until someone acts. Rate limits pass by themselves and are none.
    #[must_use]
    pub fn stall_reason(&self) -> Option<StallReason> {
        match self {
            Self::Auth { .. } => Some(StallReason::AuthError),
            Self::Billing { .. } => Some(StallReason::BillingError),
            _ => None,
        }
    }

    /// When the provider wants to be asked again.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The class as a word for logs and metering.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "auth_error",
            Self::Billing { .. } => "billing_error",
            Self::RateLimited { .. } => "rate_limited",
            Self::Timeout { .. } => "timeout",
            Self::Overloaded { .. } => "overloaded",
            Self::BadRequest { .. } => "bad_request",
            Self::ContextTooLong { .. } => "context_too_long",
            Self::ContentFiltered { .. } => "content_filtered",
            Self::Truncated { .. } => "truncated",
            Self::Malformed { .. } => "malformed",
            Self::Network { .. } => "network",
            Self::AddressRefused { .. } => "address_refused",
        }
    }

    /// The provider's words, shortened; for the log only.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Auth { detail }
            | Self::Billing { detail }
            | Self::RateLimited { detail, .. }
            | Self::Timeout { detail }
            | Self::Overloaded { detail, .. }
            | Self::BadRequest { detail }
            | Self::ContextTooLong { detail }
            | Self::ContentFiltered { detail }
            | Self::Malformed { detail }
            | Self::Network { detail }
            | Self::AddressRefused { detail } => detail.clone(),
            Self::Truncated { .. } => self.to_string(),
        }
    }
}

/// Cuts a provider's words to what a log line bears.
#[must_use]
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(DETAIL_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
