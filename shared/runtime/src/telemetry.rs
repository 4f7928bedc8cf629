//! Logs: JSON in AWS, text on a terminal, and a fixed list of fields: never bodies, prompts, keys or answers.

use tracing_subscriber::EnvFilter;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Starts logging to standard error. `RETROSPECT_LOG` chooses what is logged (default `info` for our own crates,
/// `warn` for the rest); a second call does nothing.
pub fn init(format: LogFormat, default_filter: &str) {
    let filter = std::env::var("RETROSPECT_LOG")
        .ok()
        .filter(|filter| !filter.trim().is_empty())
        .and_then(|filter| EnvFilter::try_new(filter).ok())
        .unwrap_or_else(|| EnvFilter::new(default_filter));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // The first subscriber stays; that a second one is refused is what is wanted.
    let _first_wins = match format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => builder.compact().try_init(),
    };
}
