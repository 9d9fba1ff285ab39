//! Where the bytes of a compiled file are, for several threads at once.

use std::io;

/// Bytes that anyone can read from any place.
pub trait Source: Sync {
    /// Fills `out` with the bytes from a place on.
    ///
    /// Fails if the file has fewer bytes, or they cannot be read.
    fn read_at(&self, place: u64, out: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn read_at(&self, place: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(place).ok();
        let behind = start.and_then(|start| self.get(start..));
        let bytes = behind.and_then(|behind| behind.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_from_any_place() {
        let bytes: &[u8] = b"0123456789";
        let mut three = [0; 3];
        bytes.read_at(7, &mut three).unwrap();
        assert_eq!(&three, b"789");
        for place in [8, 10, 11, u64::MAX] {
            assert!(bytes.read_at(place, &mut three).is_err());
        }
        bytes.read_at(10, &mut []).unwrap();
    }
}
