//! From token strings back to text: the decoders of `tokenizer.json` as a chain of small steps.
//!
//! Each step takes the list of token strings and gives another; what is left at the end is joined.
//! Byte-level vocabularies do not come here: their tokens are bytes, and decoding is concatenation.

mod byte_run;
mod bytes;
mod flow;
mod literal;
mod machine;
mod stream;

pub(crate) use stream::DecoderStream;

use serde::{Deserialize, Serialize};

use crate::codec::gpt2_alphabet;
use crate::error::Result;
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::metaspace::PrependScheme;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, Splitter};
use crate::text::growth::{GrowthLimit, Room, check_written};
use crate::text::unicode::UnicodeVersion;

/// One step of decoding, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecoderConfig {
    /// GPT-2's alphabet back to bytes.
    ByteLevel,
    /// Tokens with the prefix join what is before them, others get a space.
    WordPiece {
        /// The continuation prefix (`##`).
        prefix: String,
        /// True if spaces before punctuation and English contractions go.
        cleanup: bool,
    },
    /// The mark back to spaces.
    Metaspace {
        /// The mark (U+2581).
        replacement: char,
        /// True if the first mark is text or was put there.
        prepend: PrependScheme,
    },
    /// Tokens `<0x00>` to `<0xFF>` back to bytes; a run that is not UTF-8 becomes one U+FFFD a
    /// byte.
    ByteFallback,
    /// All tokens become one.
    Fuse,
    /// A character is stripped from both ends of every token.
    Strip {
        /// The character.
        content: char,
        /// Most characters stripped at the start.
        start: usize,
        /// Most characters stripped at the end.
        stop: usize,
    },
    /// A pattern is replaced in every token.
    Replace {
        /// A text, or a regular expression as Oniguruma reads it.
        pattern: ReplacePattern,
        /// Replacement.
        content: String,
    },
    /// The end-of-word suffix becomes a space, at the end nothing.
    Bpe {
        /// The suffix (`</w>`).
        suffix: String,
    },
    /// Repetitions collapse and padding goes, as connectionist temporal classification wants.
    Ctc {
        /// The padding token.
        pad_token: String,
        /// Token between words.
        word_delimiter_token: String,
        /// True if to clean up as `WordPiece` does.
        cleanup: bool,
    },
}

/// A compiled chain of steps.
#[derive(Debug, Default)]
pub struct Decoder {
    steps: Vec<(DecoderConfig, Option<Splitter>)>,
    growth: GrowthLimit,
}

/// The stage that errors name.
const STAGE: &str = "decoding";

impl Decoder {
    /// Compiles a chain.
    pub fn new(configs: &[DecoderConfig]) -> Result<Self> {
        let steps = configs.iter().map(|config| {
            let splitter = match config {
                DecoderConfig::Replace { pattern, .. } => Some(
                    SplitConfig {
                        pattern: match pattern {
                            ReplacePattern::String(text) => regex_syntax::escape(text),
                            ReplacePattern::Regex(regex) => regex.clone(),
                        },
                        dialect: Dialect::Oniguruma,
                        unicode: UnicodeVersion::REFERENCES,
                        behavior: Behavior::Isolated,
                        invert: false,
                        in_byte_alphabet: false,
                    }
                    .compile()?,
                ),
                _ => None,
            };
            Ok((config.clone(), splitter))
        });
        let made = Self {
            steps: steps.collect::<Result<_>>()?,
            growth: GrowthLimit::at_load(),
        };
        for config in configs {
            made.try_growth(config)?;
        }
        Ok(Self {
            growth: GrowthLimit::default(),
            ..made
        })
    }

    /// Tries what a step looks for, so that a chain which makes a book of it is refused at load.
    fn try_growth(&self, config: &DecoderConfig) -> Result<()> {
        let mut probes = vec![" a"];
        match config {
            DecoderConfig::Replace { pattern, content } => {
                check_written("bytes of a decoder's replacement", content)?;
                if let ReplacePattern::String(text) = pattern {
                    probes.push(text);
                }
            }
            DecoderConfig::Bpe { suffix } => {
                check_written("bytes of a decoder's suffix", suffix)?;
                probes.push(suffix);
            }
            DecoderConfig::WordPiece { prefix, .. } => {
                check_written("bytes of a decoder's prefix", prefix)?;
            }
            _ => {}
        }
        for probe in probes {
            self.decode(vec![probe.to_owned(); 2])?;
        }
        Ok(())
    }

    /// How much longer texts may become.
    pub(crate) fn growth(&self) -> &GrowthLimit {
        &self.growth
    }

    /// How the chain is written down.
    pub fn config(&self) -> Vec<DecoderConfig> {
        self.steps
            .iter()
            .map(|(config, _)| config.clone())
            .collect()
    }

    /// The text of token strings. Without any step they are joined by spaces, as `tokenizers` does.
    pub fn decode(&self, mut tokens: Vec<String>) -> Result<String> {
        if self.steps.is_empty() {
            return Ok(tokens.join(" "));
        }
        // A token may have no text and get some, so that each counts as one byte at least.
        let n_bytes = n_bytes(&tokens) + tokens.len();
        let room = self.growth.room(n_bytes);
        for (config, splitter) in &self.steps {
            tokens = step(config, splitter.as_ref(), tokens, room)?;
            room.check(STAGE, self::n_bytes(&tokens))?;
        }
        Ok(tokens.concat())
    }
}

/// Decoding of one token that stands between others.
enum Mid {
    Text(String),
    /// A part of a character.
    Bytes(Vec<u8>),
}

impl Decoder {
    /// The bytes that a token adds to a text in which others stand before and behind it, and
    /// whether it is a byte by its name. A step's rules for the beginning and the end of a text do
    /// not count.
    pub(crate) fn bytes_in_mid_text(&self, token: &str) -> (Vec<u8>, bool) {
        if self.steps.is_empty() {
            return (format!(" {token}").into_bytes(), false);
        }
        let (mut is_one, mut is_byte) = (false, false);
        let mut made = Mid::Text(token.to_owned());
        for (config, splitter) in &self.steps {
            let Mid::Text(text) = made else { break };
            made = Mid::Text(match config {
                DecoderConfig::ByteLevel => {
                    is_one = true;
                    let bytes = gpt2_alphabet::spell(&text).unwrap_or_else(|| text.into_bytes());
                    match String::from_utf8(bytes) {
                        Ok(text) => text,
                        Err(error) => {
                            made = Mid::Bytes(error.into_bytes());
                            continue;
                        }
                    }
                }
                DecoderConfig::WordPiece { prefix, cleanup } => {
                    let text = match text.strip_prefix(prefix.as_str()) {
                        _ if is_one => text,
                        Some(rest) => rest.to_owned(),
                        None => format!(" {text}"),
                    };
                    if *cleanup { clean_up(&text) } else { text }
                }
                DecoderConfig::Metaspace { replacement, .. } => text.replace(*replacement, " "),
                DecoderConfig::ByteFallback => match fallback_byte(&text) {
                    Some(byte) => {
                        is_byte = true;
                        made = Mid::Bytes(vec![byte]);
                        continue;
                    }
                    None => text,
                },
                DecoderConfig::Fuse => {
                    is_one = true;
                    text
                }
                DecoderConfig::Strip { .. } if is_one => text,
                DecoderConfig::Strip {
                    content,
                    start,
                    stop,
                } => strip(&text, *content, *start, *stop).to_owned(),
                DecoderConfig::Replace { content, .. } => match splitter {
                    Some(splitter) => splitter
                        .replace(&text, content, 0, Room::ENDLESS)
                        .unwrap_or(text),
                    None => text,
                },
                DecoderConfig::Bpe { suffix } => text.replace(suffix.as_str(), " "),
                DecoderConfig::Ctc {
                    pad_token,
                    word_delimiter_token,
                    cleanup,
                } => {
                    let text = text.replace(pad_token.as_str(), "");
                    if *cleanup {
                        clean_up(&text).replace(word_delimiter_token.as_str(), " ")
                    } else {
                        text
                    }
                }
            });
        }
        match made {
            Mid::Text(text) => (text.into_bytes(), is_byte),
            Mid::Bytes(bytes) => (bytes, is_byte),
        }
    }
}

fn n_bytes(tokens: &[String]) -> usize {
    tokens.iter().map(String::len).sum()
}

/// `room`: bytes that all tokens may have together.
fn step(
    config: &DecoderConfig,
    splitter: Option<&Splitter>,
    tokens: Vec<String>,
    room: Room,
) -> Result<Vec<String>> {
    Ok(match config {
        DecoderConfig::ByteLevel => {
            let bytes: Vec<u8> = tokens
                .iter()
                .flat_map(|token| {
                    gpt2_alphabet::spell(token).unwrap_or_else(|| token.as_bytes().to_vec())
                })
                .collect();
            vec![String::from_utf8_lossy(&bytes).into_owned()]
        }
        DecoderConfig::WordPiece { prefix, cleanup } => {
            let joined = tokens.into_iter().enumerate().map(|(i, token)| {
                match token.strip_prefix(prefix.as_str()) {
                    _ if i == 0 => token,
                    Some(rest) => rest.to_owned(),
                    None => format!(" {token}"),
                }
            });
            joined
                .map(|token| if *cleanup { clean_up(&token) } else { token })
                .collect()
        }
        DecoderConfig::Metaspace {
            replacement,
            prepend,
        } => {
            let drop_first = *prepend != PrependScheme::Never;
            let mapped = tokens.iter().enumerate().map(|(i, token)| {
                let kept = token
                    .chars()
                    .filter(|c| !(c == replacement && i == 0 && drop_first));
                kept.map(|c| if c == *replacement { ' ' } else { c })
                    .collect()
            });
            mapped.collect()
        }
        DecoderConfig::ByteFallback => join_bytes(tokens),
        DecoderConfig::Fuse => vec![tokens.concat()],
        DecoderConfig::Strip {
            content,
            start,
            stop,
        } => tokens
            .iter()
            .map(|token| strip(token, *content, *start, *stop).to_owned())
            .collect(),
        DecoderConfig::Replace { content, .. } => {
            let Some(splitter) = splitter else {
                return Ok(tokens);
            };
            let mut n_made = 0;
            let replaced = tokens.iter().map(|token| {
                let made = splitter.replace(token, content, n_made, room)?;
                n_made += made.len();
                Ok(made)
            });
            replaced.collect::<Result<_>>()?
        }
        DecoderConfig::Bpe { suffix } => {
            let last = tokens.len().saturating_sub(1);
            let replaced = tokens.iter().enumerate();
            replaced
                .map(|(i, token)| token.replace(suffix.as_str(), if i == last { "" } else { " " }))
                .collect()
        }
        DecoderConfig::Ctc {
            pad_token,
            word_delimiter_token,
            cleanup,
        } => {
            let mut tokens = tokens;
            tokens.dedup();
            tokens
                .iter()
                .map(|token| {
                    let token = token.replace(pad_token.as_str(), "");
                    if *cleanup {
                        clean_up(&token).replace(word_delimiter_token.as_str(), " ")
                    } else {
                        token
                    }
                })
                .filter(|token| !token.is_empty())
                .collect()
        }
    })
}

/// The spaces that splitting English apart leaves before punctuation and contractions, taken out in
/// the order in which `tokenizers` does it.
const CLEAN_UP: &[(&str, &str)] = &[
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

fn clean_up(token: &str) -> String {
    // All of them begin with a space, so a token without one is not looked at eleven times.
    if !token.contains(' ') {
        return token.to_owned();
    }
    CLEAN_UP
        .iter()
        .fold(token.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The byte that a token `<0xNN>` stands for.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 {
        u8::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

fn join_bytes(tokens: Vec<String>) -> Vec<String> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut pending: Vec<u8> = Vec::new();
    let flush = |pending: &mut Vec<u8>, out: &mut Vec<String>| {
        if pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(pending);
        match String::from_utf8(bytes) {
            Ok(text) => out.push(text),
            Err(error) => {
                let bad = error.into_bytes().len();
                out.extend(std::iter::repeat_n(
                    char::REPLACEMENT_CHARACTER.to_string(),
                    bad,
                ));
            }
        }
    };
    for token in tokens {
        if let Some(byte) = fallback_byte(&token) {
            pending.push(byte);
        } else {
            flush(&mut pending, &mut out);
            out.push(token);
        }
    }
    flush(&mut pending, &mut out);
    out
}

fn strip(token: &str, content: char, start: usize, stop: usize) -> &str {
    let mut token = token;
    for _ in 0..start {
        match token.strip_prefix(content) {
            Some(rest) => token = rest,
            None => break,
        }
    }
    for _ in 0..stop {
        match token.strip_suffix(content) {
            Some(rest) => token = rest,
            None => break,
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;
    fn decode(configs: &[DecoderConfig], tokens: &[&str]) -> String {
        Decoder::new(configs)
            .unwrap()
            .decode(tokens.iter().map(|&token| token.to_owned()).collect())
            .unwrap()
    }

    #[test]
    fn each_step_does_what_its_reference_does() {
        use DecoderConfig as D;
        assert_eq!(decode(&[], &["a", "b"]), "a b");
        assert_eq!(decode(&[D::ByteLevel], &["Ġa", "中", "Ã", "©"]), " a中é");
        let word_piece = D::WordPiece {
            prefix: "##".into(),
            cleanup: true,
        };
        assert_eq!(
            decode(&[word_piece], &["##un", "##able", "to", ".", "n't"]),
            "##unable to.n't"
        );
        let metaspace = |prepend| D::Metaspace {
            replacement: '\u{2581}',
            prepend,
        };
        assert_eq!(
            decode(
                &[metaspace(PrependScheme::Always)],
                &["\u{2581}a", "\u{2581}b"]
            ),
            "a b"
        );
        assert_eq!(
            decode(&[metaspace(PrependScheme::Never)], &["\u{2581}a"]),
            " a"
        );
        assert_eq!(
            decode(
                &[D::ByteFallback],
                &["a", "<0xC3>", "<0xA9>", "<0xC3>", "b", "<0xZZ>"]
            ),
            "a\u{fffd}\u{fffd}\u{fffd}b<0xZZ>"
        );
        assert_eq!(decode(&[D::ByteFallback], &["<0xC3>", "<0xA9>"]), "é");
        assert_eq!(
            decode(
                &[
                    D::Fuse,
                    D::Strip {
                        content: ' ',
                        start: 1,
                        stop: 0
                    }
                ],
                &["  a", " "]
            ),
            " a "
        );
        let replace = D::Replace {
            pattern: ReplacePattern::String("\u{2581}".into()),
            content: " ".into(),
        };
        assert_eq!(decode(&[replace], &["\u{2581}a\u{2581}"]), " a ");
        let between = D::Replace {
            pattern: ReplacePattern::Regex(r"\b".into()),
            content: "-".into(),
        };
        assert_eq!(decode(&[between], &["ab", "", ","]), "-ab-,");
        assert_eq!(
            decode(
                &[D::Bpe {
                    suffix: "</w>".into()
                }],
                &["a", "b</w>", "c</w>"]
            ),
            "ab c"
        );
        let ctc = D::Ctc {
            pad_token: "<pad>".into(),
            word_delimiter_token: "|".into(),
            cleanup: true,
        };
        assert_eq!(
            decode(&[ctc], &["<pad>", "h", "h", "i", "|", "<pad>", "y", "o"]),
            "hi yo"
        );
    }
}
