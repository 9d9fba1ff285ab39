//! Numbers in as few bytes as they need, seven bits to each (LEB128, unsigned; DWARF 5, section
//! 7.6).

/// Appends a number.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number that begins at a place, which moves behind it; none where there is none, or one of
/// more than 64 bits.
#[inline]
pub fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u64>().prop_map(|n| n >> (n % 64)), 0..20)) {
            let mut bytes = Vec::new();
            for &number in &numbers {
                put_varint(&mut bytes, number);
            }
            let mut at = 0;
            for number in numbers {
                prop_assert_eq!(take_varint(&bytes, &mut at), Some(number));
            }
            prop_assert_eq!(at, bytes.len());
            prop_assert_eq!(take_varint(&bytes, &mut at), None);
        }

        #[test]
        fn any_bytes_are_a_number_or_none(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut at = 0;
            if take_varint(&bytes, &mut at).is_some() {
                prop_assert!((1..=10).contains(&at));
            }
        }
    }

    #[test]
    fn more_than_64_bits_are_none() {
        let mut most = Vec::new();
        put_varint(&mut most, u64::MAX);
        assert_eq!(take_varint(&most, &mut 0), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(take_varint(&most, &mut 0), None);
    }
}
