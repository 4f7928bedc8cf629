//! The file that makes queues survive the process.
//!
//! One line of JSON per acknowledged step, written in one piece before the step is acknowledged. The file is
//! handed to the operating system, not forced to the disk: it survives the end of the process, however
//! sudden, and may lose its last moments to a power failure, which costs wakes but no data (`sweep` finds
//! the work again).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::change::Change;

/// Why the queues could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused.
    #[error("cannot use the queue journal {path}")]
    Io {
        /// The journal.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A line in the middle of the journal is damaged.
    #[error("line {line} of the queue journal {path} cannot be read")]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The reason.
        #[source]
        source: serde_json::Error,
    },
}

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Up to where the file is known to be whole.
    length: u64,
}

impl Journal {
    /// Reads the steps of a journal, oldest first; none when there is no file.
    ///
    /// A last line without its end was never acknowledged and does not count.
    pub(super) fn read(path: &Path) -> Result<Vec<Vec<Change>>, OpenError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(OpenError::Io { path: path.to_owned(), source }),
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate();
        let step = |(index, line): (usize, &[u8])| {
            serde_json::from_slice(line).map_err(|source| OpenError::Damaged {
                path: path.to_owned(),
                line: index + 1,
                source,
            })
        };
        lines.map(step).collect()
    }

    /// Puts a compact journal of `changes` in place of whatever is there, in one step.
    pub(super) fn replace(path: &Path, changes: &[Change]) -> Result<Self, OpenError> {
        let replace = || -> io::Result<Self> {
            let new = path.with_extension("new");
            let mut file = File::create(&new)?;
            for change in changes {
                file.write_all(&line(std::slice::from_ref(change))?)?;
            }
            file.sync_all()?;
            fs::rename(&new, path)?;
            let file = OpenOptions::new().append(true).open(path)?;
            let length = file.metadata()?.len();
            Ok(Self { file, length })
        };
        replace().map_err(|source| OpenError::Io { path: path.to_owned(), source })
    }

    /// Writes one step. After an error the file is as it was before.
    pub(super) fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        let line = line(changes)?;
        // An earlier failure may have left half a line that could not be cut off at the time.
        if self.file.metadata()?.len() != self.length {
            self.file.set_len(self.length)?;
        }
        if let Err(error) = self.file.write_all(&line) {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

fn line(changes: &[Change]) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(changes)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
impl Journal {
    pub(super) fn redirect(&mut self, file: File) {
        self.length = 0;
        self.file = file;
    }
}
