//! The master key and its file.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Length of the master key.
pub(super) const KEY_BYTES: usize = 32;
/// What the file must not grant: anything to anybody but its owner.
const MODE_OF_OTHERS: u32 = 0o077;

/// Why there is no master key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Others than the owner have rights on the file.
    #[error("{} can be read by others (mode {mode:03o}): run `chmod 600` on it", path.display())]
    Permissions {
        /// The key file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file holds something else than 64 hexadecimal digits.
    #[error("{} is no master key: 64 hexadecimal digits are expected", path.display())]
    NotAKey {
        /// The key file.
        path: PathBuf,
    },
    /// The file cannot be read or made.
    #[error("the key file {} cannot be used", path.display())]
    Io {
        /// The key file.
        path: PathBuf,
        /// What the file system says.
        #[source]
        source: io::Error,
    },
    /// The machine has no random numbers.
    #[error("no random numbers for a key")]
    Random,
}

/// The secret that all others hang on; never shown.
pub(super) struct MasterKey([u8; KEY_BYTES]);

impl MasterKey {
    pub(super) fn into_bytes(self) -> [u8; KEY_BYTES] {
        self.0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterKey(…)")
    }
}

pub(super) fn fresh() -> Result<MasterKey, KeyError> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|_| KeyError::Random)?;
    Ok(MasterKey(key))
}

pub(super) fn read_or_make(path: &Path) -> Result<MasterKey, KeyError> {
    let failed = |source| KeyError::Io { path: path.to_path_buf(), source };
    match fs::metadata(path) {
        Ok(metadata) => check_mode(path, metadata.permissions().mode())?,
        Err(error) if error.kind() == ErrorKind::NotFound => make(path)?,
        Err(error) => return Err(failed(error)),
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let mut key = [0; KEY_BYTES];
    hex::decode_to_slice(text.trim(), &mut key)
        .map_err(|_| KeyError::NotAKey { path: path.to_path_buf() })?;
    Ok(MasterKey(key))
}

fn check_mode(path: &Path, mode: u32) -> Result<(), KeyError> {
    if mode & MODE_OF_OTHERS != 0 {
        return Err(KeyError::Permissions { path: path.to_path_buf(), mode: mode & 0o777 });
    }
    Ok(())
}

/// Writes a new key apart and then gives it its name: half a key is never seen, and of two processes that start
/// at once one makes the key that both read.
fn make(path: &Path) -> Result<(), KeyError> {
    let failed = |source| KeyError::Io { path: path.to_path_buf(), source };
    let mut apart = path.as_os_str().to_owned();
    apart.push(format!(".{}", std::process::id()));
    let apart = PathBuf::from(apart);
    // Left by a process of the same number that was killed here.
    let _ = fs::remove_file(&apart);
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&apart).map_err(failed)?;
    writeln!(file, "{}", hex::encode(fresh()?.0)).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let linked = fs::hard_link(&apart, path);
    fs::remove_file(&apart).map_err(failed)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(error)),
        _ => Ok(()),
    }
}
