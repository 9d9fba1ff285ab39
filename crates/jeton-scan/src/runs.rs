//! Escapes: runs of characters written as numbers.

/// Escapes in a row that make a candidate.
const MIN_ESCAPES: usize = 4;

fn hex(bytes: &[u8], n: usize) -> bool {
    bytes.len() >= n && bytes[..n].iter().all(u8::is_ascii_hexdigit)
}

/// The bytes of one escape at the beginning of some bytes; 0: there is none.
fn escape(bytes: &[u8]) -> usize {
    match bytes {
        [b'%' | b'=', rest @ ..] if hex(rest, 2) => 3,
        [b'\\', b'x', rest @ ..] if hex(rest, 2) => 4,
        [b'\\', b'u', rest @ ..] if hex(rest, 4) => 6,
        [b'\\', b'U', rest @ ..] if hex(rest, 8) => 10,
        [b'&', b'#', rest @ ..] => {
            let n = rest
                .iter()
                .take(8)
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count();
            if n > 0 && rest.get(n) == Some(&b';') {
                n + 3
            } else {
                0
            }
        }
        _ => 0,
    }
}

/// True for a byte with which an escape begins.
pub(crate) fn begins_escape(byte: u8) -> bool {
    matches!(byte, b'%' | b'=' | b'\\' | b'&')
}

/// The end of a run of escapes of one kind at the beginning of some bytes, and how many they are.
/// Letters and digits between them belong to it: encoders leave them as they are.
pub(crate) fn escapes(bytes: &[u8]) -> (usize, bool) {
    let Some(&first) = bytes.first() else {
        return (0, false);
    };
    let (mut end, mut n, mut plain) = (0, 0, 0);
    let mut at = 0;
    while at < bytes.len() {
        let size = if bytes[at] == first { escape(&bytes[at..]) } else { 0 };
        if size > 0 {
            n += 1;
            plain = 0;
            at += size;
            end = at;
        } else if first != b'=' && plain < 16 && n > 0 && is_unreserved(bytes[at]) {
            plain += 1;
            at += 1;
        } else {
            break;
        }
    }
    (end, n >= MIN_ESCAPES)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~')
}
