//! Lines of rank files, the quick way: base64 by four tables, digits by hand.
//!
//! A line that is not plainly a token and its rank is left to the slow path, which says what is
//! wrong. Nearly all tokens have twelve bytes at most. They are read without a branch on their
//! length, which a processor cannot predict.

use crate::vocab::Column;

/// In a table: the byte is no digit of base64.
const BAD: u32 = 1 << 31;

/// In the tables of the third and of the fourth byte: it is padding.
const PADDING: u32 = 29;

/// Mask of three bytes of a `u32`.
const THREE: u32 = 0x00FF_FFFF;

/// By which bytes of the last four are padding: what must be zero, and how many bytes there are.
/// The third alone cannot be.
const ENDS: [(u32, usize); 4] = [
    (BAD, 3),
    (BAD | 1 << PADDING, 0),
    (BAD | 0xFF, 2),
    (BAD | 0xFFFF, 1),
];

/// Digits of base64 that are read at once, and the bytes that they stand for.
const SHORT_TOKEN_DIGITS: usize = 16;

const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// Value of each byte as the first, second, third and fourth of four digits.
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
        if place >= 2 {
            tables[place][b'=' as usize] = 1 << (PADDING + place as u32 - 2);
        }
        place += 1;
    }
    tables
}

/// The ranks of whole lines into a column; None where one of them is not plainly one.
pub(super) fn read_all(text: &[u8], column: &mut Column, token: &mut Vec<u8>) -> Option<()> {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain(std::iter::once(text.len())) {
        let line = start..end;
        start = end + 1;
        if push_short(text, line.start, line.end, column).is_some() {
            continue;
        }
        let line = text.get(line)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            let rank = read(line, token)?;
            column.push(rank, token);
        }
    }
    Some(())
}

/// Pushes the token of a line of a text, if it is plainly one and short, and does not lie near an
/// end of the text. No branch depends on how long it is.
#[inline(always)]
fn push_short(text: &[u8], start: usize, end: usize, column: &mut Column) -> Option<()> {
    let digits: [u8; SHORT_TOKEN_DIGITS] = *text.get(start..)?.first_chunk()?;
    let (n_digits, rank) = rank_before(u64::from_le_bytes(*text.get(..end)?.last_chunk()?))?;
    let n = end.checked_sub(start + n_digits + 1)?;
    if n == 0 || n > SHORT_TOKEN_DIGITS || !n.is_multiple_of(4) {
        return None;
    }
    let (fours, _) = digits.as_chunks::<4>();
    let fours: [u32; 4] = [fours[0], fours[1], fours[2], fours[3]].map(bits);
    let last = n / 4 - 1;
    let mut seen = 0;
    for (place, four) in fours.iter().enumerate() {
        seen |= if place < last { *four } else { 0 };
    }
    let (cut_off, n_last) = ENDS[(fours[last % 4] >> PADDING) as usize % 4];
    if seen & !THREE != 0 || fours[last % 4] & cut_off != 0 {
        return None;
    }
    let mut bytes = 0;
    for (place, four) in (1..).zip(fours) {
        bytes |= u128::from(four & THREE) << (128 - 24 * place);
    }
    column.push_beginning(rank, bytes.to_be_bytes(), 3 * last + n_last);
    Some(())
}

/// The rank at the end of eight bytes, if there are a space and one to seven digits, and the number
/// of these.
#[inline(always)]
fn rank_before(eight: u64) -> Option<(usize, u32)> {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let others = eight ^ SPACES;
    // The highest bit of each byte that is a space, and of no other.
    let spaces = !(((others & LOW) + LOW) | others | LOW);
    let n_digits = spaces.leading_zeros() as usize / 8;
    if n_digits == 0 || n_digits > 7 {
        return None;
    }
    let there = !0 << (64 - 8 * n_digits);
    let digits = eight & there | ZEROS & !there;
    let values = digits ^ ZEROS;
    let are_digits =
        (values | values.wrapping_add(0x0606_0606_0606_0606)) & 0xF0F0_F0F0_F0F0_F0F0 == 0;
    // The first of two digits counts ten times, of four digits a hundred times, of eight ten
    // thousand times.
    let twos = (values.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    let value = fours.wrapping_mul(10_000 << 32 | 1) >> 32;
    are_digits.then_some((n_digits, value as u32))
}

/// Appends the bytes of base64 to `out`; false where it is not well-formed: then what was appended
/// means nothing.
fn decode(digits: &[u8], out: &mut Vec<u8>) -> bool {
    let (fours, rest) = digits.as_chunks::<4>();
    let Some((last, fours)) = fours.split_last().filter(|_| rest.is_empty()) else {
        return false;
    };
    let mut seen = 0;
    for four in fours {
        let bits = bits(*four);
        seen |= bits & !THREE;
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    // Only the last four may end in padding, and what the padding cuts off must be zero.
    let (n, bits) = match last {
        [a, b, b'=', b'='] => (1, bits([*a, *b, b'A', b'A'])),
        [a, b, c, b'='] => (2, bits([*a, *b, *c, b'A'])),
        four => (3, bits(*four)),
    };
    let cut_off = if n == 3 { 0 } else { 0x00FF_FFFF >> (8 * n) };
    seen |= bits & !THREE;
    out.extend_from_slice(&bits.to_be_bytes()[1..=n]);
    seen == 0 && bits & cut_off == 0
}

#[inline]
fn bits(four: [u8; 4]) -> u32 {
    let of = |place: usize| WORTH[place][four[place] as usize];
    of(0) | of(1) | of(2) | of(3)
}

/// Reads a line, without its end: the token's bytes into `token`, which is emptied first, and the
/// rank. None where it is not plainly one.
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
        /// The reader accepts and refuses the same text as the base64 crate.
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

        /// The naive twin reads one line after the other, with padding and digits wherever they may
        /// stand.
        #[test]
        fn columns_are_those_of_one_line_after_the_other(
            lines in prop::collection::vec(
                prop_oneof![
                    6 => (prop::collection::vec(any::<u8>(), 1..20), 0..1u32 << 24, "|\r").prop_map(
                        |(token, rank, end)| format!("{} {rank}{end}", BASE64_STANDARD.encode(token))
                    ),
                    1 => "[A-Da-c+/01=!]{4,9} [0-9]{0,9}",
                    1 => "[A-C= 0-9:/]{0,20}",
                ],
                0..12,
            ),
        ) {
            let text = lines.join("\n");
            let mut expected = Some(Column::default());
            let mut token = Vec::new();
            for line in text.split('\n') {
                let line = line.strip_suffix('\r').unwrap_or(line).as_bytes();
                if line.is_empty() {
                    continue;
                }
                let rank = read(line, &mut token);
                expected = expected.zip(rank).map(|(mut column, rank)| {
                    column.push(rank, &token);
                    column
                });
            }
            let mut found = Column::default();
            let is_read = read_all(text.as_bytes(), &mut found, &mut token).is_some();
            prop_assert_eq!(is_read.then_some(found), expected);
        }

        #[test]
        fn ranks_are_those_of_the_standard_library(bytes in "[0-9 :/]{8}") {
            let (before, digits) = bytes.rsplit_once(' ').unwrap_or(("", ""));
            let expected = digits.parse().ok().map(|rank| (7 - before.len(), rank));
            let eight = u64::from_le_bytes(bytes.as_bytes().try_into().unwrap());
            prop_assert_eq!(rank_before(eight), expected);
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
