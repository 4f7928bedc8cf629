//! This process: how long it runs, how much it did, how large it is; and who waits in it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use domain::ids::OrgId;

/// Callers of one organisation that may wait at once.
pub const WAITERS_PER_ORG_MAX: usize = 8;
/// Callers that may wait at once.
pub const WAITERS_MAX: usize = 64;

/// What is told about a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessReport {
    /// Its number.
    pub pid: u32,
    /// Since it started, in seconds.
    pub uptime_seconds: f64,
    /// Requests it received.
    pub requests: u64,
    /// Resident memory in MiB, where the system says so.
    pub resident_mib: Option<f64>,
}

/// Counts of this process.
#[derive(Debug)]
pub(crate) struct Process {
    started: Instant,
    requests: AtomicU64,
}

impl Process {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), requests: AtomicU64::new(0) }
    }

    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn report(&self) -> ProcessReport {
        ProcessReport {
            pid: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            requests: self.requests.load(Ordering::Relaxed),
            resident_mib: resident_mib(),
        }
    }
}

/// Resident memory of this process, from `/proc`; `None` on systems without it.
fn resident_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// Callers that wait for learning. Beyond the limits a caller is told so at once instead.
#[derive(Debug, Default)]
pub struct Waiters(Mutex<HashMap<OrgId, usize>>);

impl Waiters {
    /// A place to wait, kept until it is dropped.
    #[must_use]
    pub fn enter(&self, org: &OrgId) -> Option<Waiter<'_>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = waiting.values().sum();
        let own = waiting.get(org).copied().unwrap_or(0);
        if all >= WAITERS_MAX || own >= WAITERS_PER_ORG_MAX {
            return None;
        }
        waiting.insert(org.clone(), own + 1);
        Some(Waiter { waiters: self, org: org.clone() })
    }
}

/// A place to wait.
#[derive(Debug)]
pub struct Waiter<'a> {
    waiters: &'a Waiters,
    org: OrgId,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = waiting.get_mut(&self.org) {
            *own -= 1;
            if *own == 0 {
                waiting.remove(&self.org);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organisation_waits_up_to_its_limit_and_leaves_places_to_others() {
        let waiters = Waiters::default();
        let a: OrgId = "a".parse().unwrap();
        let mut places: Vec<_> = (0..WAITERS_PER_ORG_MAX).map(|_| waiters.enter(&a)).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(waiters.enter(&a).is_none());
        assert!(waiters.enter(&"b".parse().unwrap()).is_some());
        places.pop();
        assert!(waiters.enter(&a).is_some());
    }

    #[test]
    fn a_process_waits_for_no_more_than_its_limit() {
        let waiters = Waiters::default();
        let org = |n: usize| format!("o{n}").parse::<OrgId>().unwrap();
        let places: Vec<_> = (0..WAITERS_MAX).map(|n| waiters.enter(&org(n / WAITERS_PER_ORG_MAX))).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(waiters.enter(&org(WAITERS_MAX)).is_none());
    }
}
