//! Objects as files: written apart and then given their name in one step, so that a process that is killed
//! leaves the old object or the new one and at worst a forgotten file in the folder for those in the making.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::names::{self, Entry};
use super::object::{self, Damaged, Header, Object, PREFIX_BYTES};
use super::store::StoreError;

/// The folder of objects in the making; no bucket has such a name.
const MAKING_FOLDER: &str = "_making";

pub(super) struct Files {
    root: PathBuf,
    next: AtomicU64,
}

impl Files {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let making = root.join(MAKING_FOLDER);
        // Left by a process that was killed; nothing refers to them.
        match fs::remove_dir_all(&making) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&making)?,
        }
        Ok(Self { root: root.to_path_buf(), next: AtomicU64::new(0) })
    }

    pub(super) fn ensure_bucket(&self, bucket: &str) -> io::Result<()> {
        fs::create_dir_all(self.root.join(bucket))
    }

    pub(super) fn check_bucket(&self, bucket: &str) -> Result<(), StoreError> {
        if self.root.join(bucket).is_dir() { Ok(()) } else { Err(StoreError::NoBucket) }
    }

    /// Writes the object under no key yet.
    pub(super) fn write_apart(&self, object: &Object) -> Result<Written<'_>, StoreError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join(MAKING_FOLDER).join(format!("{}-{number}", std::process::id()));
        let written = Written { files: self, path };
        let mut file = File::create_new(&written.path)?;
        file.write_all(&object.to_bytes()?)?;
        // The content before the name: else the machine's end could leave a name without content.
        file.sync_all()?;
        Ok(written)
    }

    pub(super) fn object(&self, bucket: &str, key: &str) -> Result<Option<Object>, StoreError> {
        match fs::read(self.path(bucket, key)) {
            Ok(file) => Ok(Some(Object::from_bytes(Bytes::from(file))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The header alone, whatever the size of the content.
    pub(super) fn header(&self, bucket: &str, key: &str) -> Result<Option<Header>, StoreError> {
        let mut file = match File::open(self.path(bucket, key)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut prefix = [0; PREFIX_BYTES];
        file.read_exact(&mut prefix)?;
        let mut header = vec![0; object::header_bytes(&prefix)?];
        file.read_exact(&mut header)?;
        Ok(Some(serde_json::from_slice(&header).map_err(|_| Damaged)?))
    }

    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<(), StoreError> {
        match fs::remove_file(self.path(bucket, key)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn keys(&self, bucket: &str, prefix: &str) -> Result<BTreeSet<String>, StoreError> {
        let mut keys = BTreeSet::new();
        collect(&self.root.join(bucket), &[], prefix.as_bytes(), &mut keys)?;
        Ok(keys)
    }

    fn path(&self, bucket: &str, key: &str) -> PathBuf {
        names::path_of(&self.root.join(bucket), key)
    }
}

/// Adds the keys beneath `folder`, all of which begin with `common`.
fn collect(
    folder: &Path,
    common: &[u8],
    prefix: &[u8],
    keys: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        match names::entry_of(name) {
            Some(Entry::File(piece)) => {
                let key = [common, &piece].concat();
                if key.starts_with(prefix) {
                    keys.insert(String::from_utf8(key).map_err(|_| Damaged)?);
                }
            }
            Some(Entry::Folder(piece)) => {
                let common = [common, &piece].concat();
                if common.starts_with(prefix) || prefix.starts_with(&common) {
                    collect(&folder.join(name), &common, prefix, keys)?;
                }
            }
            None => {}
        }
    }
    Ok(())
}

/// An object on disk that has no key yet. Dropped without one, it is gone.
pub(super) struct Written<'a> {
    files: &'a Files,
    path: PathBuf,
}

impl Written<'_> {
    /// Takes the key, whatever it named.
    pub(super) fn replace(&self, bucket: &str, key: &str) -> Result<(), StoreError> {
        Ok(fs::rename(&self.path, self.place(bucket, key)?)?)
    }

    /// Takes the key only if it names nothing; the file system decides between several.
    pub(super) fn link_to(&self, bucket: &str, key: &str) -> Result<(), StoreError> {
        match fs::hard_link(&self.path, self.place(bucket, key)?) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(StoreError::ConditionFailed),
            linked => Ok(linked?),
        }
    }

    fn place(&self, bucket: &str, key: &str) -> io::Result<PathBuf> {
        let path = self.files.path(bucket, key);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(path)
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // Absent after a rename; otherwise swept at the next start.
        let _ = fs::remove_file(&self.path);
    }
}
