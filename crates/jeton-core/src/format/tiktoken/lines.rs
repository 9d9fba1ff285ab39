//! Lines of rank files, the quick way: base64 by four tables, digits by hand.
//!
//! What is not plainly a token and its rank is left to the slow way, which says what is wrong.

/// In a table: the byte is no digit of base64.
const BAD: u32 = 1 << 31;

/// What each byte is worth as the first, second, third and fourth of four.
static WORTH: [[u32; 256]; 4] = worth();

const fn worth() -> [[u32; 256]; 4] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut tables = [[BAD; 256]; 4];
    let mut place = 0;
    while place < 4 {
        let mut value = 0;
        while value < 64 {
            tables[place][DIGITS[value] as usize] = (value as u32) << (18 - 6 * place as u32);
            value += 1;
        }
        place += 1;
    }
    tables
}

/// Appends the bytes of base64 to `out`; false where it is not well-formed: then what was appended means nothing.
fn decode(digits: &[u8], out: &mut Vec<u8>) -> bool {
    let (fours, rest) = digits.as_chunks::<4>();
    let Some((last, fours)) = fours.split_last().filter(|_| rest.is_empty()) else {
        return false;
    };
    let mut seen = 0;
    for four in fours {
        let bits = bits(*four);
        seen |= bits;
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    // Only the last four may end in padding, and what the padding cuts off must be zero.
    let (n, bits) = match last {
        [a, b, b'=', b'='] => (1, bits([*a, *b, b'A', b'A'])),
        [a, b, c, b'='] => (2, bits([*a, *b, *c, b'A'])),
        four => (3, bits(*four)),
    };
    let cut_off = if n == 3 { 0 } else { 0x00FF_FFFF >> (8 * n) };
    seen |= bits;
    out.extend_from_slice(&bits.to_be_bytes()[1..=n]);
    seen & BAD == 0 && bits & cut_off == 0
}

#[inline]
fn bits(four: [u8; 4]) -> u32 {
    let of = |place: usize| WORTH[place][four[place] as usize];
    of(0) | of(1) | of(2) | of(3)
}

/// Reads a line, without its end: the token's bytes into `token`, which is emptied first, and the rank. None where it is
/// not plainly one.
#[inline]
pub(super) fn read(line: &[u8], token: &mut Vec<u8>) -> Option<u32> {
    token.clear();
    // From behind: a rank is short.
    let space = line.iter().rposition(|&byte| byte == b' ')?;
    let (digits, rank) = (&line[..space], &line[space + 1..]);
    if rank.is_empty() || rank.len() > 8 {
        return None;
    }
    let mut value = 0;
    for &byte in rank {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u32::from(digit);
    }
    decode(digits, token).then_some(value)
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is read is what the base64 crate reads; what it refuses is refused.
        #[test]
        fn base64_is_that_of_the_crate(digits in "[A-Da-c+/01=!]{0,13}") {
            let mut found = Vec::new();
            let well_formed = decode(digits.as_bytes(), &mut found);
            match BASE64_STANDARD.decode(&digits) {
                Ok(expected) => {
                    prop_assert_eq!(well_formed, !digits.is_empty());
                    prop_assert_eq!(found, expected);
                }
                Err(_) => prop_assert!(!well_formed),
            }
        }

        #[test]
        fn lines_are_read_back(token in prop::collection::vec(any::<u8>(), 1..20), rank in 0..1u32 << 24) {
            let line = format!("{} {rank}", BASE64_STANDARD.encode(&token));
            let mut found = vec![7];
            prop_assert_eq!(read(line.as_bytes(), &mut found), Some(rank));
            prop_assert_eq!(found, token);
        }
    }

    #[test]
    fn other_lines_are_left_to_the_slow_way() {
        for line in [
            "",
            "YQ==",
            "YQ== ",
            "YQ== x",
            "YQ==  1 ",
            "= 5",
            "YQ== -1",
            "YQ== 123456789",
        ] {
            assert_eq!(read(line.as_bytes(), &mut Vec::new()), None, "{line:?}");
        }
    }
}
