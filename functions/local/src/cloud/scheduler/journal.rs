//! The file that makes schedules survive the process: one line of JSON for each that was made or went off.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Schedule;

/// The journal of schedules cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the journal of schedules {path}: {reason}")]
pub struct OpenError {
    path: PathBuf,
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    name: String,
    /// `None`: it went off, or was taken away.
    schedule: Option<Schedule>,
}

/// An open journal.
pub(super) struct Journal {
    file: File,
}

impl Journal {
    /// Reads what is scheduled and writes it anew, without what is over.
    pub(super) fn open(path: &Path) -> Result<(BTreeMap<String, Schedule>, Self), OpenError> {
        let failed = |reason: String| OpenError { path: path.to_owned(), reason };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut schedules = BTreeMap::new();
        // A last line without its end was never acknowledged.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let line: Line = serde_json::from_str(line).map_err(|error| failed(error.to_string()))?;
            match line.schedule {
                Some(schedule) => schedules.insert(line.name, schedule),
                None => schedules.remove(&line.name),
            };
        }
        let mut journal = Self::replace(path).map_err(|error| failed(error.to_string()))?;
        for (name, schedule) in &schedules {
            journal.set(name, schedule);
        }
        Ok((schedules, journal))
    }

    fn replace(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        Ok(Self { file })
    }

    pub(super) fn set(&mut self, name: &str, schedule: &Schedule) {
        self.write(&Line { name: name.to_owned(), schedule: Some(schedule.clone()) });
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.write(&Line { name: name.to_owned(), schedule: None });
    }

    /// A schedule that is not on the disk is lost with the process; the sweep finds what it was for.
    fn write(&mut self, line: &Line) {
        let written = serde_json::to_string(line)
            .map_err(io::Error::from)
            .and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            tracing::error!(%error, "a schedule could not be written to its journal");
        }
    }
}
