//! Numbers as bytes of a file: read to where they lie in memory.
#![allow(unsafe_code)] // the only reason for this module

use crate::memory::huge_pages::Zeroed;

/// An unsigned number of some bytes, all of which are its own.
///
/// # Safety
/// Whatever its bytes are, they must be a value of the type, and none of them may be padding.
pub(crate) unsafe trait Number: Zeroed + Default {
    /// Makes it what its bytes say in little-endian order, which on most machines it is.
    fn take_as_little_endian(&mut self);
}

// SAFETY: any byte is one.
unsafe impl Number for u8 {
    #[inline]
    fn take_as_little_endian(&mut self) {}
}

// SAFETY: any four bytes are one.
unsafe impl Number for u32 {
    #[inline]
    fn take_as_little_endian(&mut self) {
        *self = Self::from_le(*self);
    }
}

// SAFETY: any eight bytes are one.
unsafe impl Number for u64 {
    #[inline]
    fn take_as_little_endian(&mut self) {
        *self = Self::from_le(*self);
    }
}

/// The bytes of numbers, to be written to.
pub(crate) fn bytes_of<T: Number>(numbers: &mut [T]) -> &mut [u8] {
    let n_bytes = size_of_val(numbers);
    // SAFETY: the bytes of the slice are borrowed for as long and by nobody else. Bytes need no
    // alignment, the type has no padding, and any bytes are a valid number.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), n_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_numbers() {
        let mut numbers = [0u64, 1, 0x0102_0304_0506_0708];
        let expected: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(bytes_of(&mut numbers), expected);
        bytes_of(&mut numbers)[..8].copy_from_slice(&7u64.to_le_bytes());
        numbers[0].take_as_little_endian();
        assert_eq!(numbers[0], 7);
        assert!(bytes_of::<u32>(&mut []).is_empty());
    }
}
