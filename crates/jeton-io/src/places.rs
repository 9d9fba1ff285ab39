//! A file of which several threads read different places at once, as a compiled tokenizer is read.

use std::fs::File;
use std::io;
use std::path::Path;

use jeton_core::compiled::Source;

/// An open file and its length.
#[derive(Debug)]
pub struct Places {
    file: File,
    n_bytes: u64,
}

impl Places {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let n_bytes = file.metadata()?.len();
        Ok(Self { file, n_bytes })
    }

    /// How many bytes it had when it was opened.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}

impl Source for Places {
    #[cfg(unix)]
    fn read_at(&self, place: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, out, place)
    }

    #[cfg(windows)]
    fn read_at(&self, mut place: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let n = std::os::windows::fs::FileExt::seek_read(&self.file, out, place)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            place += n as u64;
            out = out.get_mut(n..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn bytes_of_any_place() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0123456789").unwrap();
        let places = Places::open(file.path()).unwrap();
        assert_eq!(places.n_bytes(), 10);
        let mut three = [0; 3];
        for (place, expected) in [(7, b"789"), (0, b"012"), (5, b"567")] {
            places.read_at(place, &mut three).unwrap();
            assert_eq!(&three, expected);
        }
        for place in [8, 10, 1 << 40] {
            assert!(places.read_at(place, &mut three).is_err());
        }
        places.read_at(10, &mut []).unwrap();
        assert!(Places::open(Path::new("/no/such/file")).is_err());
    }
}
