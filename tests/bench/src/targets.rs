//! What the peer was measured at, and what we want to be.

use std::time::Duration;

/// A call whose processor time is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The peer's processor time, in milliseconds a request.
    pub(crate) cpu_ms: f64,
    /// How many times less ours must be.
    pub(crate) times_min: f64,
}

/// Two turns of 200 characters.
pub(crate) const PUBLISH: Peer = Peer { cpu_ms: 63.0, times_min: 20.0 };
/// A search of user playbooks.
pub(crate) const SEARCH_PLAYBOOKS: Peer = Peer { cpu_ms: 38.0, times_min: 20.0 };
/// A search of all kinds of memory.
pub(crate) const SEARCH_ALL: Peer = Peer { cpu_ms: 48.0, times_min: 20.0 };
/// A list of 200 profiles.
pub(crate) const LIST_PROFILES: Peer = Peer { cpu_ms: 12.0, times_min: 10.0 };

/// From the start of the peer's process to its first answer, in seconds.
pub(crate) const PEER_START_SECONDS: f64 = 7.6;
/// The same for ours, at most.
pub(crate) const START_SECONDS_MAX: f64 = 0.5;
/// Resident memory of the peer at rest, in MB.
pub(crate) const PEER_IDLE_MB: f64 = 311.0;
/// The same for ours, at most.
pub(crate) const IDLE_MB_MAX: f64 = 80.0;
/// Clustering 1,000 rows of 512 dimensions, in seconds.
pub(crate) const CLUSTERING_SECONDS_MAX: f64 = 0.1;
/// Clustering 10,000 of them, in seconds.
pub(crate) const CLUSTERING_MANY_SECONDS_MAX: f64 = 10.0;
/// Memory at the peak of that, in MB: a tenth of what a function of ours has.
pub(crate) const CLUSTERING_MB_MAX: f64 = 100.0;
/// Longest answer of `/health` while all connections publish. The peer froze for good at 16.
pub(crate) const HEALTH_MAX: Duration = Duration::from_secs(1);
