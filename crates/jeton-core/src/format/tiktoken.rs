//! `.tiktoken` rank files: one token a line, base64 and rank.
//!
//! The file holds ranks only; the split pattern and the special tokens belong to the vocabulary's
//! name and come from the caller.

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::assembly::{ModelParts, Parts};
use crate::config::{Reference, sha256_hex};
use crate::error::{Error, Result};
use crate::models::bpe::{Merges, Missing};
use crate::normalize::NormalizerConfig;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

mod lines;
mod reading;
mod write;

pub use write::to_tiktoken;
pub(super) use write::{pattern, ranks, special_tokens, write};

const FORMAT: &str = "tiktoken";

/// How Whisper's multilingual file spells a token without bytes (its id 50256, which no text
/// becomes): padding alone, which Python's base64 reads as nothing.
const EMPTY_TOKEN: &[u8] = b"=";

/// Options that a rank file does not hold.
#[derive(Clone, Debug)]
pub struct TiktokenOptions {
    /// The split pattern.
    pub pattern: String,
    /// Special tokens and their ids.
    pub special_tokens: Vec<(String, u32)>,
    /// Normalization before encoding (Qwen applies NFC).
    pub normalizer: Vec<NormalizerConfig>,
    /// Reference of this tokenizer: `Tiktoken`, or `Jeton` for one of our own.
    pub reference: Reference,
}

/// Reads a rank file.
pub fn from_tiktoken(bytes: &[u8], options: TiktokenOptions) -> Result<Tokenizer> {
    let (vocab, ()) = parse_ranks(bytes, &|| ());
    build(vocab?, options)
}

/// A rank file that was read before anybody knows what it does not say: its digest tells whose it
/// is.
#[derive(Debug)]
pub struct RankFile {
    vocab: Result<Vocab>,
    sha256: String,
}

impl RankFile {
    /// Reads it. Its faults are errors when a tokenizer is made of it.
    pub fn new(bytes: &[u8]) -> Self {
        let (vocab, sha256) = parse_ranks(bytes, &|| sha256_hex(bytes));
        Self { vocab, sha256 }
    }

    /// SHA-256 of its bytes, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The tokenizer, as [`from_tiktoken`] would make it of the same bytes.
    pub fn into_tokenizer(self, options: TiktokenOptions) -> Result<Tokenizer> {
        build(self.vocab?, options)
    }
}

fn build(vocab: Vocab, options: TiktokenOptions) -> Result<Tokenizer> {
    for byte in 0..=255u8 {
        if vocab.bytes_to_id(&[byte]).is_none() {
            let reason = format!(
                "no rank for the byte 0x{byte:02x}: a rank file has one for each of the 256 bytes; is it cut off?"
            );
            return Err(Error::format(FORMAT, reason));
        }
    }
    let mut added_tokens = Vec::with_capacity(options.special_tokens.len());
    for (content, id) in options.special_tokens {
        if content.is_empty() {
            return Err(Error::format(FORMAT, "a special token is empty"));
        }
        if vocab.id_to_bytes(id).is_some() {
            let reason = format!(
                "the special token {content:?} has the id {id}, which is the rank of another token"
            );
            return Err(Error::format(FORMAT, reason));
        }
        added_tokens.push(AddedToken::special(id, content));
    }
    added_tokens.sort_by_key(|token| token.id);
    if let Some(pair) = added_tokens
        .windows(2)
        .find(|pair| pair[0].id == pair[1].id)
    {
        let reason = format!(
            "the special tokens {:?} and {:?} share the id {}",
            pair[0].content, pair[1].content, pair[0].id
        );
        return Err(Error::format(FORMAT, reason));
    }
    Tokenizer::from_parts(Parts {
        normalizer: options.normalizer,
        added_tokens,
        pretokenizer: vec![StepConfig::Split(SplitConfig {
            pattern: options.pattern,
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        })],
        ..Parts::new(
            options.reference,
            ModelParts::Bpe {
                vocab,
                merges: Merges::ByRank,
                whole_pretokens: true,
                missing: Missing::Fail,
            },
        )
    })
}

/// The ranks of a file, and what `beside` gives meanwhile.
fn parse_ranks<T: Send>(bytes: &[u8], beside: &(dyn Fn() -> T + Sync)) -> (Result<Vocab>, T) {
    let threads = reading::threads_for(bytes.len());
    let (vocab, beside) = reading::read_plain(bytes, threads, beside);
    let vocab = vocab.map_or_else(|| parse_any_ranks(bytes), Ok);
    (vocab.and_then(check_ranks), beside)
}

/// The ranks of any file, with what is wrong with it.
fn parse_any_ranks(bytes: &[u8]) -> Result<Vocab> {
    // Lines are about 14 bytes.
    let mut vocab = Vocab::with_capacity(bytes.len() / 14);
    let mut token = Vec::new();
    for (number, line) in (1..).zip(split_lines(bytes)) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        if let Some(rank) = lines::read(line, &mut token)
            && vocab.can_take(rank)
        {
            if let Some(other) = vocab.insert_new(rank, &token)? {
                return Err(same_token(number, &token, other, rank));
            }
            continue;
        }
        let bad = |reason: String| Error::format_line(FORMAT, number, reason);
        let space = memchr::memchr(b' ', line).ok_or_else(|| {
            bad(format!(
                "expected a base64 token, a space and a rank, found {}",
                quote(line)
            ))
        })?;
        let rank = parse_rank(&line[space + 1..]).ok_or_else(|| {
            bad(format!(
                "the rank {} is not a whole number below {MAX_IDS}",
                quote(&line[space + 1..])
            ))
        })?;
        token.clear();
        if vocab.id_to_bytes(rank).is_some() {
            return Err(bad(format!("the rank {rank} is used twice")));
        }
        if &line[..space] == EMPTY_TOKEN {
            vocab.insert_opaque(rank, b"")?;
            continue;
        }
        BASE64_STANDARD
            .decode_vec(&line[..space], &mut token)
            .map_err(|error| {
                bad(format!(
                    "the token {} is not base64: {error}",
                    quote(&line[..space])
                ))
            })?;
        if token.is_empty() {
            return Err(bad("the token is empty".into()));
        }
        if let Some(other) = vocab.insert_new(rank, &token)? {
            return Err(same_token(number, &token, other, rank));
        }
    }
    Ok(vocab)
}

fn check_ranks(vocab: Vocab) -> Result<Vocab> {
    if vocab.n_tokens() == 0 {
        return Err(Error::format(FORMAT, "it holds no ranks"));
    }
    // A few holes are usual; a file of a hundred tokens with ids in the millions is not a
    // vocabulary.
    if vocab.size() / 16 > vocab.n_tokens() + 4096 {
        let reason = format!(
            "{} ranks spread over {} ids",
            vocab.n_tokens(),
            vocab.size()
        );
        return Err(Error::format(FORMAT, reason));
    }
    Ok(vocab)
}

/// Lines without their ends; behind the last end of a line comes an empty one.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).chain(std::iter::once(bytes.len()));
    ends.map(move |end| &bytes[std::mem::replace(&mut from, end + 1)..end])
}

fn same_token(line: u64, token: &[u8], other: u32, rank: u32) -> Error {
    let token = String::from_utf8_lossy(token);
    let reason = format!("the token {token:?} has the ranks {other} and {rank}");
    Error::format_line(FORMAT, line, reason)
}

fn parse_rank(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits)
        .ok()?
        .trim_end()
        .parse()
        .ok()
        .filter(|&rank| rank < MAX_IDS)
}

/// The beginning of a line, for a message.
fn quote(bytes: &[u8]) -> String {
    const LIMIT: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LIMIT)]).into_owned();
    if bytes.len() > LIMIT {
        format!("{text:?}...")
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::Allow;

    fn file(tokens: &[&[u8]]) -> Vec<u8> {
        let bytes = (0..=255u8).map(|byte| vec![byte]);
        let all = bytes.chain(tokens.iter().map(|token| token.to_vec()));
        all.enumerate()
            .map(|(rank, token)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)))
            .collect::<String>()
            .into_bytes()
    }

    fn options() -> TiktokenOptions {
        TiktokenOptions {
            pattern: r"\w+|\W+".into(),
            special_tokens: vec![("<|end|>".into(), 300)],
            normalizer: vec![],
            reference: Reference::Tiktoken,
        }
    }

    fn load(bytes: &[u8]) -> Result<Tokenizer> {
        from_tiktoken(bytes, options())
    }

    #[test]
    fn reads_and_writes() {
        let mut bytes = file(&[b"ab", b"abc"]);
        bytes.extend_from_slice(b"= 258\n");
        let tokenizer = load(&bytes).unwrap();
        let mut ids = Vec::new();
        tokenizer
            .encode_into("abcab<|end|>", &Allow::None, false, &mut ids)
            .unwrap();
        assert_eq!(&ids[..2], [257, 256]);
        assert_eq!(to_tiktoken(&tokenizer).unwrap(), bytes);
        let read = RankFile::new(&bytes);
        assert_eq!(read.sha256(), sha256_hex(&bytes));
        let read = read.into_tokenizer(options()).unwrap();
        assert_eq!(read.to_config(), tokenizer.to_config());
        let again = Tokenizer::from_config(tokenizer.to_config()).unwrap();
        assert_eq!(again.to_config(), tokenizer.to_config());
    }

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let good = file(&[b"ab"]);
        let cases: &[(&[u8], &str)] = &[
            (b"", "no ranks"),
            (b"YQ==", "line 1: expected"),
            (b"YQ== x\n", "line 1: the rank"),
            (b"YQ== 0\n!! 1\n", "line 2: the token"),
            (b"YQ== 0\nYg== 0\n", "line 2: the rank 0 is used twice"),
            (
                b"YQ== 0\nYQ== 1\n",
                "line 2: the token \"a\" has the ranks 0 and 1",
            ),
            (b"YQ== 99999999999\n", "line 1: the rank"),
            (
                &good[..good.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1)],
                "no rank for the byte 0x01",
            ),
        ];
        for (bytes, expected) in cases {
            let message = load(bytes).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
            let read = RankFile::new(bytes).into_tokenizer(options());
            assert_eq!(read.unwrap_err().to_string(), message);
        }
    }
}
