//! Where a local cloud keeps its data, and that only one process has it open.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it open.
    #[error("{path} is in use by another retrospect process. Stop it, or choose another --data-dir.")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// It cannot be created or opened.
    #[error("{path} cannot be used: {source}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// An open data directory; the lock goes with the process, however it ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates the directory if need be and locks it.
    ///
    /// # Errors
    /// [`DataDirError`].
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let failed = |source| DataDirError::Io { path: path.to_owned(), source };
        // What users said is for its owner's eyes only.
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("lock"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The file of one part of the cloud.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_is_open_in_one_process_only() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataDir::open(folder.path()).unwrap();
        let refused = DataDir::open(folder.path()).unwrap_err();
        assert!(matches!(refused, DataDirError::InUse { .. }), "{refused}");
        drop(first);
        DataDir::open(folder.path()).unwrap();
    }
}
