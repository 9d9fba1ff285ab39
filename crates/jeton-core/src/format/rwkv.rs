//! `rwkv_vocab_*.txt`: RWKV's World vocabulary, one token a line: its id, Python's way of writing
//! it, its length in bytes.
//!
//! The middle field is what `repr` prints for a `str` or `bytes`; it is read as such and nothing
//! else (the published reader evaluates it as Python code). The id 0 is not in the file: the
//! published model uses it for the end of a text.

use crate::assembly::{ModelParts, Parts};
use crate::config::Reference;
use crate::error::{Error, Result};
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

mod write;

pub(super) use write::write;

const FORMAT: &str = "RWKV vocabulary";

/// Reads the list as a tokenizer. The reference keeps id 0 for the end of a text and does not list
/// it.
pub fn from_rwkv(bytes: &[u8]) -> Result<Tokenizer> {
    let vocab = read(bytes)?;
    let added_tokens = match vocab.id_to_bytes(END_OF_TEXT_ID) {
        None => vec![AddedToken::special(END_OF_TEXT_ID, END_OF_TEXT)],
        Some(_) => Vec::new(),
    };
    Tokenizer::from_parts(Parts {
        added_tokens,
        ..Parts::new(Reference::Rwkv, ModelParts::Greedy { vocab })
    })
}

/// The id that ends a text: <https://github.com/BlinkDL/ChatRWKV>, `rwkv_tokenizer.py` and
/// `chat.py`.
const END_OF_TEXT_ID: u32 = 0;
/// Our name for that id; the list has no text for it.
const END_OF_TEXT: &str = "<|endoftext|>";

fn read(bytes: &[u8]) -> Result<Vocab> {
    // Lines are about 17 bytes.
    let mut vocab = Vocab::with_capacity(bytes.len() / 17);
    let mut token = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let bad = |reason: String| Error::format_line(FORMAT, number, reason);
        let line =
            std::str::from_utf8(line).map_err(|_| bad("the line is not UTF-8".to_owned()))?;
        let (id, rest) = line.split_once(' ').ok_or_else(|| {
            bad(format!(
                "expected an id, a token and a length, found {line:?}"
            ))
        })?;
        let (literal, length) = rest
            .rsplit_once(' ')
            .ok_or_else(|| bad(format!("the length is missing after {rest:?}")))?;
        let id: u32 = id.parse().ok().filter(|&id| id < MAX_IDS).ok_or_else(|| {
            bad(format!(
                "the id {id:?} is not a whole number below {MAX_IDS}"
            ))
        })?;
        let length: usize = length
            .parse()
            .map_err(|_| bad(format!("the length {length:?} is not a whole number")))?;
        token.clear();
        parse_literal(literal, &mut token)
            .map_err(|reason| bad(format!("the token {literal}: {reason}")))?;
        if token.len() != length {
            return Err(bad(format!(
                "the token {literal} has {} bytes, and the line says {length}",
                token.len()
            )));
        }
        if token.is_empty() {
            return Err(bad("the token is empty".to_owned()));
        }
        if vocab.id_to_bytes(id).is_some() {
            return Err(bad(format!("the id {id} is used twice")));
        }
        if let Some(other) = vocab.bytes_to_id(&token) {
            return Err(bad(format!(
                "the token {literal} has the ids {other} and {id}"
            )));
        }
        vocab.insert(id, &token)?;
    }
    if vocab.n_tokens() == 0 {
        return Err(Error::format(FORMAT, "it holds no tokens"));
    }
    if let Some(byte) = (0..=255u8).find(|&byte| vocab.bytes_to_id(&[byte]).is_none()) {
        let reason = format!(
            "no token for the byte 0x{byte:02x}: the list has one for each of the 256 bytes; is it cut off?"
        );
        return Err(Error::format(FORMAT, reason));
    }
    Ok(vocab)
}

/// Reads what Python's `repr` prints for a `str` or `bytes`; appends its bytes (UTF-8 for a `str`).
fn parse_literal(literal: &str, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    let (is_bytes, quoted) = match literal.strip_prefix('b') {
        Some(quoted) => (true, quoted),
        None => (false, literal),
    };
    let quote = quoted
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"'))
        .ok_or("it does not begin with a quote")?;
    let body = quoted[1..]
        .strip_suffix(quote)
        .ok_or("its closing quote is missing")?;
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            return Err("a quote inside it is not escaped".to_owned());
        }
        if c != '\\' {
            if is_bytes && !c.is_ascii() {
                return Err(format!("a bytes literal cannot hold {c:?}"));
            }
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = rest.next().ok_or("it ends in a backslash")?;
        let digits = match escape {
            '\\' | '\'' | '"' => {
                out.push(escape as u8);
                continue;
            }
            'n' => {
                out.push(b'\n');
                continue;
            }
            'r' => {
                out.push(b'\r');
                continue;
            }
            't' => {
                out.push(b'\t');
                continue;
            }
            'x' => 2,
            'u' if !is_bytes => 4,
            'U' if !is_bytes => 8,
            _ => return Err(format!("the escape \\{escape} is not one that repr prints")),
        };
        let code = rest
            .as_str()
            .get(..digits)
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .ok_or_else(|| format!("\\{escape} needs {digits} hexadecimal digits"))?;
        rest = rest.as_str()[digits..].chars();
        if is_bytes {
            out.push(code as u8); // two digits
        } else {
            let c =
                char::from_u32(code).ok_or_else(|| format!("U+{code:04X} is not a character"))?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> std::result::Result<Vec<u8>, String> {
        let mut out = Vec::new();
        parse_literal(text, &mut out).map(|()| out)
    }

    fn file(more: &[&str]) -> Vec<u8> {
        let mut lines: Vec<String> = (0..=255u8)
            .map(|byte| format!("{} b'\\x{byte:02x}' 1", u32::from(byte) + 1))
            .collect();
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        (lines.join("\n") + "\n").into_bytes()
    }

    #[test]
    fn literals_are_read_as_python_does() {
        assert_eq!(literal(r#"'a"\'\\\n\r\t'"#).unwrap(), b"a\"'\\\n\r\t");
        assert_eq!(literal(r#""it's""#).unwrap(), b"it's");
        assert_eq!(literal(r"'\xe9'").unwrap(), "é".as_bytes());
        assert_eq!(literal(r"b'\xe9 a'").unwrap(), [0xE9, b' ', b'a']);
        assert_eq!(
            literal(r"'\u3000\U0001F600中'").unwrap(),
            "\u{3000}😀中".as_bytes()
        );
        let refused = [
            "",
            "a",
            "'",
            "'a",
            "'a\"",
            "'a'b'",
            r"'\'",
            r"'\d'",
            r"'\x4'",
            r"'\x+4'",
            r"'\ud800'",
            r"b'\u0041'",
            "b'é'",
            "b",
            "f'a'",
            "'a' + 'b'",
            "__import__('os')",
        ];
        for text in refused {
            assert!(literal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_and_encodes() {
        let tokenizer = from_rwkv(&file(&["257 ' a b' 4", "259 'é' 2"])).unwrap();
        let mut ids = Vec::new();
        tokenizer
            .encode_into("x a bé", &crate::special::Allow::None, false, &mut ids)
            .unwrap();
        assert_eq!(ids, [u32::from(b'x') + 1, 257, 259]);
    }

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let cases: &[(&[&str], &str)] = &[
            (&["257"], "line 257: expected an id"),
            (&["257 'a'"], "line 257: the length is missing"),
            (&["x 'ab' 2"], "line 257: the id \"x\""),
            (&["257 'ab' x"], "line 257: the length \"x\""),
            (&["257 'ab' 3"], "line 257: the token 'ab' has 2 bytes"),
            (&["257 '' 0"], "line 257: the token is empty"),
            (&["1 'ab' 2"], "line 257: the id 1 is used twice"),
            (
                &["257 'ab' 2", "258 'ab' 2"],
                "line 258: the token 'ab' has the ids 257 and 258",
            ),
            (
                &["257 eval('1') 1"],
                "line 257: the token eval('1'): it does not begin with a quote",
            ),
        ];
        for (lines, expected) in cases {
            let message = from_rwkv(&file(lines)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let message = from_rwkv(b"1 'a' 1\n").unwrap_err().to_string();
        assert!(message.contains("no token for the byte 0x00"), "{message}");
        assert!(from_rwkv(b"").is_err());
    }
}
