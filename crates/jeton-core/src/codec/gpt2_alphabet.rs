//! GPT-2's alphabet: each byte written as one printable character.
//!
//! Bytes that are printable in Latin-1 stand for themselves; the others are, in order, the
//! characters from U+0100 on (openai/gpt-2 `src/encoder.py`, `bytes_to_unicode`).

/// The character of a byte.
pub fn byte_to_char(byte: u8) -> char {
    match byte {
        b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => char::from(byte),
        0..=b' ' => shifted(u32::from(byte)),
        0x7F..=0xA0 => shifted(u32::from(byte) - 0x7F + 33),
        0xAD => shifted(67),
    }
}

fn shifted(offset: u32) -> char {
    char::from_u32(0x100 + offset).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte of a character, if it stands for one.
pub(crate) fn char_to_byte(c: char) -> Option<u8> {
    let code = c as u32;
    match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => Some(code as u8),
        0x100..=0x120 => Some((code - 0x100) as u8),
        0x121..=0x142 => Some((code - 0x100 - 33 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// The bytes that a string of the alphabet spells; None if some character stands for no byte.
pub fn spell(token: &str) -> Option<Vec<u8>> {
    token.chars().map(char_to_byte).collect()
}

/// Puts the bytes that a string of the alphabet spells into `bytes`; false if some character stands
/// for no byte.
pub(crate) fn spell_into(token: &str, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    token.chars().all(|c| {
        let byte = char_to_byte(c);
        bytes.extend(byte);
        byte.is_some()
    })
}

/// Bytes written in the alphabet.
pub(crate) fn write(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| byte_to_char(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_published_table() {
        // The published construction: printable ones stand for themselves, the rest follow U+0100.
        let mut next = 0x100;
        for byte in 0..=255u8 {
            let printable =
                (0x21..=0x7E).contains(&byte) || (0xA1..=0xAC).contains(&byte) || byte >= 0xAE;
            let expected = if printable { u32::from(byte) } else { next };
            next += u32::from(!printable);
            assert_eq!(byte_to_char(byte) as u32, expected);
            assert_eq!(char_to_byte(byte_to_char(byte)), Some(byte));
        }
        assert_eq!(spell("Ġthe"), Some(b" the".to_vec()));
        assert_eq!(spell("中"), None);
        let mut bytes = vec![7];
        assert!(spell_into("Ġthe", &mut bytes));
        assert_eq!(bytes, b" the");
        assert!(!spell_into("a中", &mut bytes));
    }
}
