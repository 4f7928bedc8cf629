//! Keys as file names. Hexadecimal, so that `a` and `a/b` live side by side, no key is special to the file system
//! and `A` is not `a` on any of them; in pieces, since a file name holds 255 bytes and a key 1,024.

use std::path::{Path, PathBuf};

/// Bytes of the key in one piece.
const PIECE_BYTES: usize = 100;
/// Ends the name of a folder, which holds the keys that go on.
const FOLDER_MARK: char = '+';
/// Ends the name of a file.
const FILE_MARK: char = '=';

/// The file of `key` beneath `folder`.
pub(super) fn path_of(folder: &Path, key: &str) -> PathBuf {
    let pieces: Vec<&[u8]> = key.as_bytes().chunks(PIECE_BYTES).collect();
    let last = pieces.len().saturating_sub(1);
    pieces.iter().enumerate().fold(folder.to_path_buf(), |path, (at, piece)| {
        let mark = if at == last { FILE_MARK } else { FOLDER_MARK };
        path.join(format!("{}{mark}", hex::encode(piece)))
    })
}

/// One entry of a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file, with the last piece of its key.
    File(Vec<u8>),
    /// A folder, with the piece that all keys in it have in common.
    Folder(Vec<u8>),
}

/// Reads a name back; `None` if it is not one of ours.
pub(super) fn entry_of(name: &str) -> Option<Entry> {
    let piece = |text: &str| hex::decode(text).ok();
    if let Some(text) = name.strip_suffix(FILE_MARK) {
        return piece(text).map(Entry::File);
    }
    name.strip_suffix(FOLDER_MARK).and_then(piece).map(Entry::Folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_of_the_longest_key_fits_a_file_name_and_reads_back() {
        for length in [1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 1024] {
            let key = "k".repeat(length);
            let path = path_of(Path::new(""), &key);
            let mut read = Vec::new();
            for component in path.components() {
                let name = component.as_os_str().to_str().unwrap();
                assert!(name.len() <= 255);
                match entry_of(name).unwrap() {
                    Entry::File(piece) | Entry::Folder(piece) => read.extend(piece),
                }
            }
            assert_eq!(read, key.as_bytes());
        }
        assert_eq!(entry_of("tmp"), None);
    }
}
