//! A temporary file that a trainer writes to and reads again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jeton_core::error::{Error, Result};
use jeton_train::Scratch;

use super::runs::{temporary_file, write_error};
use crate::error::IoError;

/// Bytes on disk; they go with the process however it ends. They are written and read in large
/// pieces, so nothing is buffered.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    folder: PathBuf,
}

impl ScratchFile {
    pub(super) fn create(folder: &Path) -> std::result::Result<Self, IoError> {
        Ok(Self {
            file: temporary_file(folder)?,
            folder: folder.to_owned(),
        })
    }

    fn unread(source: &io::Error) -> Error {
        Error::training(format!("cannot read a temporary file: {source}"))
    }
}

impl Scratch for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|source| Error::training(write_error(&self.folder, source).to_string()))
    }

    fn rewind(&mut self) -> Result<()> {
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|source| Self::unread(&source))?;
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file
            .read_exact(bytes)
            .map_err(|source| Self::unread(&source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is always full stands in for the disk.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_says_where() {
        let file = File::options().read(true).write(true).open("/dev/full");
        let mut scratch = ScratchFile {
            file: file.unwrap(),
            folder: "some/folder".into(),
        };
        let error = scratch.write(b"words").unwrap_err().to_string();
        assert!(error.contains("some/folder"), "{error}");
        assert!(error.contains("No space left"), "{error}");
    }

    #[test]
    fn what_was_written_is_read_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = ScratchFile::create(folder.path()).unwrap();
        file.write(b"one ").unwrap();
        file.write(b"two").unwrap();
        for _ in 0..2 {
            file.rewind().unwrap();
            let mut bytes = [0; 7];
            file.read(&mut bytes).unwrap();
            assert_eq!(&bytes, b"one two");
        }
        let error = file.read(&mut [0]).unwrap_err();
        assert!(error.to_string().contains("temporary file"), "{error}");
        assert!(ScratchFile::create(&folder.path().join("missing")).is_err());
    }
}
