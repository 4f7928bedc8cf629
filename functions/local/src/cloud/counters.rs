//! What the calls of a stretch of work cost: how many there were of each kind, and the capacity DynamoDB took.

use std::collections::BTreeMap;
use std::ops::Sub;

use parking_lot::Mutex;

/// DynamoDB capacity, in units: a write unit is one write of up to 1 KB, a read unit one consistent read of up
/// to 4 KB (an eventually consistent read takes half of one, a transaction twice as many).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    /// Read capacity units.
    pub read: f64,
    /// Write capacity units, those of secondary indexes among them.
    pub write: f64,
}

/// Counts every call that reaches the hub.
#[derive(Debug, Default)]
pub struct Counters {
    now: Mutex<Snapshot>,
}

/// The counts at one moment, or between two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    calls: BTreeMap<String, BTreeMap<String, u64>>,
    units: Units,
}

impl Counters {
    /// The counts since the hub was made.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.now.lock().clone()
    }

    pub(crate) fn count_call(&self, service: &str, operation: &str) {
        let mut now = self.now.lock();
        // Looked up before it is inserted, so that the usual case allocates nothing.
        if let Some(count) = now.calls.get_mut(service).and_then(|operations| operations.get_mut(operation)) {
            *count += 1;
            return;
        }
        now.calls.entry(service.to_owned()).or_default().insert(operation.to_owned(), 1);
    }

    pub(crate) fn count_units(&self, units: Units) {
        let mut now = self.now.lock();
        now.units.read += units.read;
        now.units.write += units.write;
    }
}

impl Snapshot {
    /// How many calls of `operation` there were, each attempt of a retried call counted.
    #[must_use]
    pub fn calls(&self, service: &str, operation: &str) -> u64 {
        self.calls.get(service).and_then(|operations| operations.get(operation)).copied().unwrap_or_default()
    }

    /// How many calls there were to `service`, whatever the operation.
    #[must_use]
    pub fn service_calls(&self, service: &str) -> u64 {
        self.calls.get(service).map(|operations| operations.values().sum()).unwrap_or_default()
    }

    /// How many calls there were in all.
    #[must_use]
    pub fn all_calls(&self) -> u64 {
        self.calls.values().flat_map(BTreeMap::values).sum()
    }

    /// Read capacity units that DynamoDB reported.
    #[must_use]
    pub fn read_units(&self) -> f64 {
        self.units.read
    }

    /// Write capacity units that DynamoDB reported. Refused writes report none, although AWS charges for them.
    #[must_use]
    pub fn write_units(&self) -> f64 {
        self.units.write
    }
}

impl Sub for &Snapshot {
    type Output = Snapshot;

    /// What was added since `earlier`.
    fn sub(self, earlier: &Snapshot) -> Snapshot {
        let mut calls = BTreeMap::new();
        for (service, operations) in &self.calls {
            let added: BTreeMap<String, u64> = operations
                .iter()
                .map(|(operation, count)| {
                    (operation.clone(), count - earlier.calls(service, operation).min(*count))
                })
                .filter(|(_, count)| *count > 0)
                .collect();
            if !added.is_empty() {
                calls.insert(service.clone(), added);
            }
        }
        let units = Units {
            read: self.units.read - earlier.units.read,
            write: self.units.write - earlier.units.write,
        };
        Snapshot { calls, units }
    }
}

impl Sub for Snapshot {
    type Output = Snapshot;

    fn sub(self, earlier: Snapshot) -> Snapshot {
        &self - &earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_holds_only_what_was_added() {
        let counters = Counters::default();
        counters.count_call("s3", "GetObject");
        counters.count_units(Units { read: 1.5, write: 2.0 });
        let before = counters.snapshot();
        counters.count_call("s3", "GetObject");
        counters.count_call("dynamodb", "PutItem");
        counters.count_units(Units { read: 0.5, write: 3.0 });
        let added = counters.snapshot() - before;
        assert_eq!(added.calls("s3", "GetObject"), 1);
        assert_eq!(added.calls("dynamodb", "PutItem"), 1);
        assert_eq!(added.calls("sqs", "SendMessage"), 0);
        assert_eq!((added.service_calls("s3"), added.all_calls()), (1, 2));
        assert_eq!((added.read_units(), added.write_units()), (0.5, 3.0));
    }
}
