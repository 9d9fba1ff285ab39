//! Runs of digits that decode to text: base64, base32, hexadecimal, base85; zeros and ones; Morse.

use crate::codes::Code;

/// Shortest run of base64 digits: 15 bytes.
const MIN_BASE64: usize = 20;
/// Shortest run of hexadecimal digits: 12 bytes.
const MIN_HEX: usize = 24;
/// Shortest run of base85 digits: 20 bytes.
const MIN_BASE85: usize = 25;
/// Shortest run of zeros and ones, or of dots and dashes, with the spaces between them.
const MIN_SIGNS: usize = 32;
/// Zeros and ones in such a run, at least; and dots and dashes.
const MIN_BITS: usize = 24;
const MIN_MORSE: usize = 20;

const BASE64: u8 = 1;
const BITS: u8 = 2;
const MORSE: u8 = 4;
const GRAPH: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        let char = byte as u8;
        if char.is_ascii_alphanumeric() || matches!(char, b'+' | b'/' | b'-' | b'_') {
            classes[byte] |= BASE64;
        }
        if char <= b'u' {
            classes[byte] |= GRAPH;
        }
        byte += 1;
    }
    classes[b' ' as usize] = BITS | MORSE;
    classes[b'0' as usize] |= BITS;
    classes[b'1' as usize] |= BITS;
    classes[b'.' as usize] |= MORSE;
    classes[b'-' as usize] |= MORSE;
    classes[b'/' as usize] |= MORSE;
    classes
};

/// Calls `found` with each maximal run of bytes of a class that is `least` bytes long or longer.
fn runs(bytes: &[u8], class: u8, least: usize, mut found: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < bytes.len() {
        let is_in = |byte: &&u8| CLASSES[usize::from(**byte)] & class != 0;
        let end = at + bytes[at..].iter().take_while(is_in).count();
        if end - at >= least {
            found(at, end);
        }
        at = end + 1;
    }
}

/// Calls `found` with the maximal runs of `least` bytes and more of which `is_in` is true.
///
/// Such a run covers a multiple of `least` positions behind the run before it, so most bytes are
/// never looked at.
fn long_runs(
    bytes: &[u8],
    least: usize,
    is_in: impl Fn(u8) -> bool,
    mut found: impl FnMut(usize, usize),
) {
    let mut from = 0;
    let mut probe = least - 1;
    while probe < bytes.len() {
        if !is_in(bytes[probe]) {
            from = probe + 1;
            probe += least;
            continue;
        }
        let before = bytes[from..probe].iter().rev().take_while(|b| is_in(**b));
        let start = probe - before.count();
        let end = probe + bytes[probe..].iter().take_while(|b| is_in(**b)).count();
        if end - start >= least {
            found(start, end);
        }
        from = end;
        probe = end + least;
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;

/// The high bit of each of eight bytes that is white space, a control character or no ASCII.
fn ends_word(eight: u64) -> u64 {
    // With the high bits set nothing is borrowed from the next byte.
    (!((eight | HIGH) - 0x21 * ONES) & HIGH) | (eight & HIGH)
}

fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at + 8)?;
    part.try_into().ok().map(u64::from_le_bytes)
}

/// The runs of printable ASCII of `MIN_BASE64` bytes and more; words end within eight bytes.
fn long_words(bytes: &[u8], mut found: impl FnMut(usize, usize)) {
    let is_graph = |byte: u8| byte.is_ascii_graphic();
    let mut at = 0;
    let mut probe = MIN_BASE64 - 1;
    while probe < bytes.len() {
        let ends = eight(bytes, probe).zip(eight(bytes, probe - 7));
        if let Some((behind, before)) = ends {
            if ends_word(behind) != 0 && ends_word(before) != 0 {
                probe += MIN_BASE64;
                continue;
            }
        }
        if !is_graph(bytes[probe]) {
            probe += MIN_BASE64;
            continue;
        }
        let before = bytes[at..probe].iter().rev().take_while(|b| is_graph(**b));
        let start = probe - before.count();
        let end = probe + bytes[probe..].iter().take_while(|b| is_graph(**b)).count();
        if end - start >= MIN_BASE64 {
            found(start, end);
        }
        at = end;
        probe = end + MIN_BASE64;
    }
}

/// Candidates of all kinds, in bytes.
pub(crate) fn find(bytes: &[u8], out: &mut Vec<(usize, usize, Code)>) {
    long_words(bytes, |from, to| {
        let word = &bytes[from..to];
        runs(word, BASE64, MIN_BASE64, |start, end| {
            if decodes(&word[start..end]) {
                out.push((from + start, from + end, Code::Encoded));
            }
        });
        runs(word, GRAPH, MIN_BASE85, |start, end| {
            let run = &word[start..end];
            if is_base85(run.strip_prefix(b"<~").unwrap_or(run)) {
                out.push((from + start, from + end, Code::Encoded));
            }
        });
    });
    let is_sign = |byte: u8| CLASSES[usize::from(byte)] & (BITS | MORSE) != 0;
    long_runs(bytes, MIN_SIGNS, is_sign, |from, to| {
        let part = &bytes[from..to];
        runs(part, BITS, MIN_SIGNS, |start, end| {
            let is_bit = |byte: &&u8| **byte != b' ';
            if part[start..end].iter().filter(is_bit).count() >= MIN_BITS {
                out.push((from + start, from + end, Code::Bits));
            }
        });
        runs(part, MORSE, MIN_SIGNS, |start, end| {
            let count = |sign: u8| part[start..end].iter().filter(|b| **b == sign).count();
            let (dots, dashes) = (count(b'.'), count(b'-'));
            if dots + dashes >= MIN_MORSE && dots.min(dashes) * 8 >= dots + dashes {
                out.push((from + start, from + end, Code::Morse));
            }
        });
    });
}

fn decodes(run: &[u8]) -> bool {
    let hex = run
        .strip_prefix(b"0x")
        .or_else(|| run.strip_prefix(b"0X"))
        .unwrap_or(run);
    if hex.len() >= MIN_HEX && hex[..MIN_HEX].iter().all(u8::is_ascii_hexdigit) {
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
        let made: Vec<u8> = hex[..MIN_HEX]
            .chunks_exact(2)
            .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
            .collect();
        if is_text(&made) {
            return true;
        }
    }
    if let Some(made) = bits(run, 16, 5, base32_digit) {
        if is_text(&made) {
            return true;
        }
    }
    (0..4).any(|skipped| {
        run.get(skipped..)
            .and_then(|rest| bits(rest, 16, 6, base64_digit))
            .is_some_and(|made| is_text(&made))
    })
}

/// The bytes of the first `n` digits of some bits each.
fn bits(run: &[u8], n: usize, width: u32, digit: fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut made = Vec::with_capacity(12);
    let (mut held, mut n_held) = (0_u32, 0);
    for &byte in run.get(..n)? {
        held = held << width | u32::from(digit(byte)?);
        n_held += width;
        if n_held >= 8 {
            n_held -= 8;
            made.push((held >> n_held) as u8);
            held &= (1 << n_held) - 1;
        }
    }
    Some(made)
}

fn base32_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    }
}

fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

fn is_base85(run: &[u8]) -> bool {
    let Some(digits) = run.get(..20) else {
        return false;
    };
    let mut made = Vec::with_capacity(16);
    for group in digits.chunks_exact(5) {
        let value = group
            .iter()
            .fold(0_u64, |sum, digit| sum * 85 + u64::from(digit - b'!'));
        let Ok(value) = u32::try_from(value) else {
            return false;
        };
        made.extend(value.to_be_bytes());
    }
    is_text(&made)
}

/// True for UTF-8 without control characters, perhaps cut at both ends.
fn is_text(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || *byte == 0x7f;
    if bytes.iter().any(is_control) {
        return false;
    }
    let cut = bytes
        .iter()
        .take(3)
        .take_while(|byte| (0x80..0xc0).contains(*byte))
        .count();
    match std::str::from_utf8(&bytes[cut..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}
