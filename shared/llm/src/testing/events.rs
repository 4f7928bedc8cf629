//! What is logged: the events of one thread, for tests of their names and fields.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// The fields of one event, as text.
pub type Fields = BTreeMap<String, String>;

/// Notes the events of the thread that made it, until it is dropped.
pub struct Events {
    noted: Arc<Mutex<Vec<Fields>>>,
    _guard: DefaultGuard,
}

impl Events {
    /// Begins to note.
    #[must_use]
    pub fn note() -> Self {
        let noted = Arc::<Mutex<Vec<Fields>>>::default();
        let guard = tracing::subscriber::set_default(Notes(Arc::clone(&noted)));
        Self { noted, _guard: guard }
    }

    /// All events so far.
    #[must_use]
    pub fn all(&self) -> Vec<Fields> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events of one name.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<Fields> {
        let mut all = self.all();
        all.retain(|fields| fields.get("event").is_some_and(|event| event == name));
        all
    }
}

struct Notes(Arc<Mutex<Vec<Fields>>>);

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Texts(Fields::new());
        event.record(&mut fields);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Texts(Fields);

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
