//! Built values by key and version, within a budget of bytes.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// A cache of what was built from rows of a certain version. The least recently used go first when the budget
/// is spent. A value of another version than the one asked for is dropped: versions say only whether rows are
/// the same, not which are newer, since an erased owner begins again at the first.
#[derive(Debug)]
pub struct VersionedCache<K, V> {
    budget_bytes: usize,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by the moment of their last use, oldest first.
    order: BTreeMap<u64, K>,
    moment: u64,
    used_bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    version: u64,
    value: Arc<V>,
    bytes: usize,
    moment: u64,
}

impl<K: Hash + Eq + Clone, V> VersionedCache<K, V> {
    /// An empty cache that holds values of up to `budget_bytes` in all.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        let state = State { entries: HashMap::new(), order: BTreeMap::new(), moment: 0, used_bytes: 0 };
        Self { budget_bytes, state: Mutex::new(state) }
    }

    /// The value of `key` that was built from `version`.
    #[must_use]
    pub fn get(&self, key: &K, version: u64) -> Option<Arc<V>> {
        let mut state = self.state.lock();
        if state.entries.get(key)?.version != version {
            state.remove(key);
            return None;
        }
        state.touch(key)
    }

    /// Keeps a value that holds about `bytes`, in place of the key's earlier one. A value larger than the whole
    /// budget is not kept.
    pub fn put(&self, key: K, version: u64, value: Arc<V>, bytes: usize) {
        let mut state = self.state.lock();
        state.remove(&key);
        if bytes > self.budget_bytes {
            return;
        }
        while state.used_bytes > self.budget_bytes - bytes {
            state.remove_oldest();
        }
        state.moment += 1;
        let moment = state.moment;
        state.used_bytes += bytes;
        state.order.insert(moment, key.clone());
        state.entries.insert(key, Entry { version, value, bytes, moment });
    }

    /// Forgets a key.
    pub fn remove(&self, key: &K) {
        self.state.lock().remove(key);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        state.entries.clear();
        state.order.clear();
        state.used_bytes = 0;
    }

    /// Bytes of the values held.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.state.lock().used_bytes
    }

    /// How many values are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.lock().entries.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Hash + Eq + Clone, V> State<K, V> {
    fn touch(&mut self, key: &K) -> Option<Arc<V>> {
        self.moment += 1;
        let entry = self.entries.get_mut(key)?;
        if let Some(key) = self.order.remove(&entry.moment) {
            self.order.insert(self.moment, key);
        }
        entry.moment = self.moment;
        Some(Arc::clone(&entry.value))
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.moment);
            self.used_bytes -= entry.bytes;
        }
    }

    fn remove_oldest(&mut self) {
        match self.order.first_key_value().map(|(_, key)| key.clone()) {
            Some(key) => self.remove(&key),
            None => self.used_bytes = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> VersionedCache<&'static str, u32> {
        VersionedCache::new(100)
    }

    #[test]
    fn a_value_is_found_under_its_version_only() {
        let cache = cache();
        cache.put("a", 7, Arc::new(1), 10);
        assert_eq!(cache.get(&"a", 7).as_deref(), Some(&1));
        assert_eq!(cache.get(&"a", 8), None);
        assert_eq!(cache.get(&"a", 7), None, "another version drops it");
        assert_eq!((cache.used_bytes(), cache.len()), (0, 0));
    }

    #[test]
    fn a_value_fits_up_to_the_whole_budget() {
        for (bytes, kept) in [(99, true), (100, true), (101, false)] {
            let cache = cache();
            cache.put("a", 1, Arc::new(1), bytes);
            assert_eq!(cache.get(&"a", 1).is_some(), kept, "{bytes}");
        }
    }

    #[test]
    fn two_values_fit_up_to_the_whole_budget() {
        for (bytes, both) in [(59, true), (60, true), (61, false)] {
            let cache = cache();
            cache.put("a", 1, Arc::new(1), 40);
            cache.put("b", 1, Arc::new(2), bytes);
            assert_eq!(cache.get(&"a", 1).is_some(), both, "{bytes}");
            assert!(cache.get(&"b", 1).is_some());
            assert!(cache.used_bytes() <= 100);
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = cache();
        for key in ["a", "b", "c"] {
            cache.put(key, 1, Arc::new(0), 33);
        }
        assert!(cache.get(&"a", 1).is_some());
        cache.put("d", 1, Arc::new(0), 33);
        assert!(cache.get(&"b", 1).is_none());
        assert!(["a", "c", "d"].iter().all(|key| cache.get(key, 1).is_some()));
    }

    #[test]
    fn a_new_value_replaces_the_earlier_one_even_when_it_is_too_large() {
        let cache = cache();
        cache.put("a", 1, Arc::new(1), 60);
        cache.put("a", 2, Arc::new(2), 70);
        assert_eq!((cache.used_bytes(), cache.get(&"a", 2).as_deref()), (70, Some(&2)));
        cache.put("a", 3, Arc::new(3), 1000);
        assert_eq!((cache.used_bytes(), cache.len()), (0, 0));
    }

    #[test]
    fn forgetting_frees_the_budget() {
        let cache = cache();
        cache.put("a", 1, Arc::new(1), 60);
        cache.put("b", 1, Arc::new(2), 40);
        cache.remove(&"a");
        assert_eq!(cache.used_bytes(), 40);
        cache.clear();
        assert!(cache.is_empty());
        cache.put("c", 1, Arc::new(3), 100);
        assert!(cache.get(&"c", 1).is_some());
    }
}
