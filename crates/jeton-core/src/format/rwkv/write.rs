//! Writing RWKV's list: each token as Python's `repr` prints it.

use std::fmt::Write as _;

use regex_syntax::hir::ClassUnicode;

use super::{END_OF_TEXT, END_OF_TEXT_ID};
use crate::config::{Config, ModelConfig};
use crate::error::Error;
use crate::format::writing::draft::Draft;
use crate::format::writing::ledger::Ledger;
use crate::format::writing::pairs;
use crate::text::unicode::{UnicodeVersion, contains, parse_class};

/// Characters that Python prints as they are, the space aside (`str.isprintable`).
const PRINTABLE: &str = r"[^\p{C}\p{Z}]";

/// Writes the list, and what stands in its way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let ModelConfig::Greedy { tokens, opaque } = &config.model else {
        ledger.refuse("only a model that takes the longest token that fits has such a list");
        return None;
    };
    let vocab = ledger.take(pairs::vocab(tokens, opaque))?;
    let listed = |id: u32| id == END_OF_TEXT_ID && vocab.id_to_bytes(id).is_none();
    for token in &config.added_tokens {
        if !(listed(token.id) && token.content == END_OF_TEXT) {
            ledger.lose(
                "added_tokens",
                format!("{:?}, for which the list has no place", token.content),
                "its id stands for nothing, or for ordinary text",
            );
        }
    }
    let printable = parse_class(PRINTABLE, false, UnicodeVersion::REFERENCES)
        .map_err(|reason| Error::format(super::FORMAT, reason));
    let printable = ledger.take(printable)?;
    let mut out = String::with_capacity(vocab.n_tokens() as usize * 17);
    for (id, bytes) in vocab.iter() {
        let is_added = config.added_tokens.iter().any(|token| token.id == id);
        if is_added {
            continue;
        }
        if bytes.is_empty() || !vocab.is_findable(id) {
            ledger.refuse(format!("no text becomes the id {id}"));
            return None;
        }
        // Writing to a string cannot fail.
        let _ = write!(out, "{id} ");
        literal(bytes, &printable, &mut out);
        let _ = writeln!(out, " {}", bytes.len());
    }
    Some(Draft::of(out.into_bytes()))
}

fn escape(out: &mut String, letter: char, digits: usize, code: u32) {
    let _ = write!(out, "\\{letter}{code:0digits$x}");
}

/// Writes the `repr` of Python: of a `str` where the bytes are text, of `bytes` otherwise.
fn literal(bytes: &[u8], printable: &ClassUnicode, out: &mut String) {
    let has = |byte: u8| bytes.contains(&byte);
    let quote = if has(b'\'') && !has(b'"') { '"' } else { '\'' };
    let text = std::str::from_utf8(bytes);
    if text.is_err() {
        out.push('b');
    }
    out.push(quote);
    let mut put = |c: char, is_byte: bool| {
        let code = c as u32;
        match c {
            '\n' => out.push_str(r"\n"),
            '\r' => out.push_str(r"\r"),
            '\t' => out.push_str(r"\t"),
            '\\' => out.push_str(r"\\"),
            _ if c == quote => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ if is_byte || code < 0x7F => escape(out, 'x', 2, code),
            _ if contains(printable, c) => out.push(c),
            _ if code <= 0xFF => escape(out, 'x', 2, code),
            _ if code <= 0xFFFF => escape(out, 'u', 4, code),
            _ => escape(out, 'U', 8, code),
        }
    };
    match text {
        Ok(text) => text.chars().for_each(|c| put(c, false)),
        Err(_) => bytes.iter().for_each(|&byte| put(char::from(byte), true)),
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(bytes: &[u8]) -> String {
        let printable = parse_class(PRINTABLE, false, UnicodeVersion::REFERENCES).unwrap();
        let mut out = String::new();
        literal(bytes, &printable, &mut out);
        out
    }

    #[test]
    fn literals_are_those_of_python() {
        // Expected: repr() of Python 3.11.
        let cases: [(&[u8], &str); 9] = [
            (b"a b", "'a b'"),
            (b"it's", "\"it's\""),
            (b"\"", "'\"'"),
            (b"'\"", r#"'\'"'"#),
            (b"\n\r\t\\", r"'\n\r\t\\'"),
            (b"\x00\x7f", r"'\x00\x7f'"),
            ("\u{e9}\u{a0}\u{ad}".as_bytes(), r"'é\xa0\xad'"),
            (
                "\u{3000}\u{1f600}\u{10ffff}".as_bytes(),
                "'\\u3000😀\\U0010ffff'",
            ),
            (b"\xe9'", "b\"\\xe9'\""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(written(bytes), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), 1..8)) {
            let mut read = Vec::new();
            super::super::parse_literal(&written(&bytes), &mut read).unwrap();
            prop_assert_eq!(read, bytes);
        }

        #[test]
        fn what_is_written_as_text_is_read(text in "\\PC{1,4}|[\\x00-\\x{300}]{1,4}") {
            let mut read = Vec::new();
            super::super::parse_literal(&written(text.as_bytes()), &mut read).unwrap();
            prop_assert_eq!(read, text.as_bytes());
        }
    }
}
