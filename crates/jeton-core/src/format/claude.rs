//! The JSON of Anthropic's old public tokenizer (`claude.json` of anthropic-tokenizer-typescript,
//! the form that js-tiktoken calls "lite").
//!
//! `bpe_ranks` is text: on each line a word that says nothing, the first rank, and then tokens in
//! base64, each one rank higher than the one before. Text is put in NFKC before it is encoded,
//! which is the published code's doing and not the file's.
//!
//! `explicit_n_vocab` is not believed: the published file says 64,739 and has 65,000 ids.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ranks::{Ranks, check_size};
use crate::error::{Error, Result};
use crate::inputs::template::Template;
use crate::normalize::{Form, NormalizerConfig};
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

mod write;

pub(super) use write::write;

const FORMAT: &str = "claude.json";

/// The Unicode version whose NFKC is applied: Python 3.11's, with which the reference ids were
/// made. (The published code takes whatever version the JavaScript engine has.)
const NORMALIZATION: UnicodeVersion = UnicodeVersion(14, 0);

#[derive(Deserialize)]
struct File {
    pat_str: String,
    special_tokens: Map<String, Value>,
    bpe_ranks: String,
}

/// Reads a `claude.json`.
pub fn from_claude(bytes: &[u8]) -> Result<Tokenizer> {
    check_size(bytes, "claude.json in bytes")?;
    let file: File = serde_json::from_slice(bytes)
        .map_err(|error| Error::format_line(FORMAT, error.line() as u64, error.to_string()))?;
    let special_tokens = file
        .special_tokens
        .into_iter()
        .map(|(text, id)| match id.as_u64() {
            Some(id) if id < u64::from(MAX_IDS) => Ok((id as u32, text)),
            _ => {
                let reason = format!(
                    "the special token {text:?} has the id {id}, not a whole number below {MAX_IDS}"
                );
                Err(Error::format(FORMAT, reason))
            }
        })
        .collect::<Result<_>>()?;
    Ranks {
        format: FORMAT,
        vocab: read_ranks(&file.bpe_ranks)?,
        pattern: file.pat_str,
        normalizer: vec![NormalizerConfig::Form {
            form: Form::Nfkc,
            unicode: NORMALIZATION,
        }],
        special_tokens,
        template: Template::default(),
    }
    .into_tokenizer()
}

fn read_ranks(ranks: &str) -> Result<Vocab> {
    // A token takes about 8 characters.
    let mut vocab = Vocab::with_capacity(ranks.len() / 8);
    let mut token = Vec::new();
    let lines = ranks.split('\n').filter(|line| !line.is_empty());
    for (number, line) in (1u64..).zip(lines) {
        let bad =
            |reason: String| Error::format(FORMAT, format!("line {number} of bpe_ranks: {reason}"));
        let mut words = line.split(' ').skip(1);
        let first: u32 = words
            .next()
            .and_then(|word| word.parse().ok())
            .filter(|&rank| rank < MAX_IDS)
            .ok_or_else(|| {
                bad(format!(
                    "its second word is not a rank below {MAX_IDS}; expected a word, a rank and tokens"
                ))
            })?;
        for (rank, word) in (first..).zip(words) {
            let bad = |reason: String| bad(format!("rank {rank}: {reason}"));
            token.clear();
            BASE64_STANDARD
                .decode_vec(word, &mut token)
                .map_err(|error| bad(format!("{word:?} is not base64: {error}")))?;
            if token.is_empty() {
                return Err(bad("the token is empty".to_owned()));
            }
            if vocab.id_to_bytes(rank).is_some() {
                return Err(bad("it is used twice".to_owned()));
            }
            if let Some(other) = vocab.bytes_to_id(&token) {
                let text = String::from_utf8_lossy(&token);
                return Err(bad(format!("the token {text:?} has the rank {other} too")));
            }
            vocab.insert(rank, &token)?;
        }
    }
    Ok(vocab)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::special::Allow;

    /// Bytes at ranks 5 to 260, then `ab` on a line of its own.
    fn file(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let bytes: Vec<String> = (0..=255u8).map(|b| BASE64_STANDARD.encode([b])).collect();
        let mut file = json!({
            "explicit_n_vocab": 3,
            "pat_str": r"\w+|\W+",
            "special_tokens": {"<EOT>": 0, "<META>": 1},
            "bpe_ranks": format!("! 5 {}\n! 270 YWI=\n", bytes.join(" ")),
        });
        change(&mut file);
        serde_json::to_vec(&file).unwrap()
    }

    fn encode(tokenizer: &Tokenizer, text: &str, allow: &Allow) -> Vec<u32> {
        let mut ids = Vec::new();
        tokenizer.encode_into(text, allow, false, &mut ids).unwrap();
        ids
    }

    #[test]
    fn reads_ranks_from_where_each_line_says() {
        let tokenizer = from_claude(&file(|_| {})).unwrap();
        assert_eq!(encode(&tokenizer, "ab!", &Allow::None), [270, 5 + 33]);
        // Full-width letters are put in NFKC first.
        assert_eq!(encode(&tokenizer, "ａｂ", &Allow::None), [270]);
        assert_eq!(encode(&tokenizer, "<EOT>ab", &Allow::All), [0, 270]);
        assert_eq!(tokenizer.vocab().size(), 271);
    }

    #[test]
    fn bad_files_are_refused_with_the_place() {
        type Change = fn(&mut Value);
        let cases: &[(Change, &str)] = &[
            (
                |f| f["bpe_ranks"] = json!("! x YQ=="),
                "line 1 of bpe_ranks: its second word",
            ),
            (
                |f| f["bpe_ranks"] = json!("!"),
                "line 1 of bpe_ranks: its second word",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 4294967295 YQ=="),
                "line 1 of bpe_ranks: its second word",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 16777215 YQ== Yg=="),
                "exceeds the limit",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 0 YQ==\n! 7 ?"),
                "line 2 of bpe_ranks: rank 7: \"?\" is not base64",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 0 YQ==  Yg=="),
                "rank 1: the token is empty",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 0 YQ==\n! 0 Yg=="),
                "rank 0: it is used twice",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 0 YQ== YQ=="),
                "rank 1: the token \"a\" has the rank 0 too",
            ),
            (
                |f| f["bpe_ranks"] = json!("! 0 YQ=="),
                "no rank for the byte 0x00",
            ),
            (
                |f| f["special_tokens"]["x"] = json!(5),
                "\"x\" has the id 5, which is the rank",
            ),
            (|f| f["special_tokens"]["x"] = json!(1), "share the id 1"),
            (
                |f| f["special_tokens"]["x"] = json!(-1),
                "\"x\" has the id -1",
            ),
            (|f| f["pat_str"] = json!(null), "line 1: "),
        ];
        for (change, expected) in cases {
            let message = from_claude(&file(change)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_ranks_are_read_or_refused(ranks in r"(! [0-9]{1,9}( [A-Za-z0-9+/=]{0,5})*\n?){0,4}") {
            let _ = from_claude(&file(|f| f["bpe_ranks"] = json!(ranks)));
        }

        #[test]
        fn damaged_files_are_read_or_refused(cut: prop::sample::Index, at: prop::sample::Index, byte: u8) {
            let mut bytes = file(|_| {});
            let index = at.index(bytes.len());
            bytes[index] = byte;
            let _ = from_claude(&bytes);
            bytes.truncate(cut.index(bytes.len()));
            let _ = from_claude(&bytes);
        }
    }
}
