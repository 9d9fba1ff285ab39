//! One decoder as a machine that takes text and the ends of tokens, and gives both.

use super::byte_run::ByteRun;
use super::flow::Flow;
use super::literal::Literal;
use super::{CLEAN_UP, Decoder, DecoderConfig, clean_up, fallback_byte, step};
use crate::codec::gpt2_alphabet;
use crate::error::Result;
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::metaspace::PrependScheme;
use crate::text::growth::Room;
use crate::text::utf8_stream::LossyUtf8;

/// One step of a chain, between two ids.
#[derive(Clone, Debug)]
pub(super) enum Machine {
    /// No step at all: tokens are joined by spaces.
    Join { n_begun: usize, inside: bool },
    /// Many tokens become one.
    Fuse,
    /// Joins pieces and turns characters of GPT-2's alphabet into bytes.
    ByteLevel { token: String, bytes: LossyUtf8 },
    /// Works on whole tokens and remembers the one before.
    Whole {
        token: String,
        previous: Option<String>,
    },
    /// A run of byte tokens.
    Bytes { token: String, run: ByteRun },
    /// The only token, which may be a byte.
    OneByte { held: String, is_decided: bool },
    /// Marks become spaces, in the first token nothing if so told.
    Metaspace { is_first: bool },
    /// Strips a character.
    Strip {
        /// How many have gone at the start; none: the start is over.
        stripped: Option<usize>,
        /// How many are held back since they may be the end.
        held: usize,
    },
    /// A suffix is a space, at the end nothing.
    Suffix {
        token: String,
        /// Text behind the first suffix of a token that has ended.
        held: Option<String>,
    },
    /// Texts that are replaced one after the other in the only token.
    Literals {
        all: Vec<Literal>,
        /// True if a token without text is none.
        drops_empty: bool,
        wrote: bool,
    },
}

impl Machine {
    /// `is_one`: whether all text comes as one token.
    pub(super) fn new(config: &DecoderConfig, is_one: bool) -> Self {
        let whole = || Self::Whole {
            token: String::new(),
            previous: None,
        };
        let literals = |all: Vec<Option<Literal>>, drops_empty| Self::Literals {
            all: all.into_iter().flatten().collect(),
            drops_empty,
            wrote: false,
        };
        let cleaning = |cleanup: bool| {
            let all = CLEAN_UP.iter().filter(move |_| cleanup);
            all.map(|(from, to)| Literal::new(from, to))
        };
        match config {
            DecoderConfig::Fuse => Self::Fuse,
            DecoderConfig::ByteLevel => Self::ByteLevel {
                token: String::new(),
                bytes: LossyUtf8::default(),
            },
            DecoderConfig::WordPiece { cleanup, .. } if is_one => {
                literals(cleaning(*cleanup).collect(), false)
            }
            DecoderConfig::Replace {
                pattern: ReplacePattern::String(from),
                content,
            } if is_one => literals(vec![Literal::new(from, content)], false),
            DecoderConfig::Bpe { suffix } if is_one => {
                literals(vec![Literal::new(suffix, "")], false)
            }
            DecoderConfig::Ctc {
                pad_token,
                word_delimiter_token: delimiter,
                cleanup,
            } if is_one && !(*cleanup && delimiter.is_empty()) => {
                let delimiters = cleanup.then(|| Literal::new(delimiter, " "));
                let pads = [Literal::new(pad_token, "")];
                let all = pads.into_iter().chain(cleaning(*cleanup)).chain(delimiters);
                literals(all.collect(), true)
            }
            DecoderConfig::WordPiece { .. }
            | DecoderConfig::Replace { .. }
            | DecoderConfig::Ctc { .. } => whole(),
            DecoderConfig::ByteFallback if is_one => Self::OneByte {
                held: String::new(),
                is_decided: false,
            },
            DecoderConfig::ByteFallback => Self::Bytes {
                token: String::new(),
                run: ByteRun::default(),
            },
            DecoderConfig::Metaspace { .. } => Self::Metaspace { is_first: true },
            DecoderConfig::Strip { .. } => Self::Strip {
                stripped: Some(0),
                held: 0,
            },
            DecoderConfig::Bpe { .. } => Self::Suffix {
                token: String::new(),
                held: None,
            },
        }
    }

    /// Text of the token that has begun, or that begins with it.
    pub(super) fn text(&mut self, config: Option<&DecoderConfig>, text: &str, out: &mut Flow) {
        match self {
            Self::Fuse => out.text.push_str(text),
            Self::Join { n_begun, inside } => {
                if !std::mem::replace(inside, true) {
                    out.text.push_str(if *n_begun > 0 { " " } else { "" });
                    *n_begun += 1;
                }
                out.text.push_str(text);
            }
            Self::ByteLevel { token, .. }
            | Self::Whole { token, .. }
            | Self::Bytes { token, .. } => token.push_str(text),
            Self::OneByte { held, is_decided } => {
                held.push_str(text);
                let begins = |a: &str, b: &str| a.starts_with(b) || b.starts_with(a);
                let is_byte = held.len() <= BYTE_TOKEN_BYTES && begins(held, "<0x");
                if *is_decided || !is_byte {
                    *is_decided = true;
                    out.text.push_str(held);
                    held.clear();
                }
            }
            Self::Metaspace { is_first } => {
                let Some(DecoderConfig::Metaspace {
                    replacement,
                    prepend,
                }) = config
                else {
                    return;
                };
                let drops = *is_first && *prepend != PrependScheme::Never;
                let kept = text.chars().filter(|c| !(drops && c == replacement));
                out.text
                    .extend(kept.map(|c| if c == *replacement { ' ' } else { c }));
            }
            Self::Strip { stripped, held } => {
                let Some(DecoderConfig::Strip {
                    content,
                    start,
                    stop,
                }) = config
                else {
                    return;
                };
                for c in text.chars() {
                    match stripped {
                        Some(n) if c == *content && *n < *start => {
                            *n += 1;
                            continue;
                        }
                        _ => *stripped = None,
                    }
                    if c != *content {
                        out.text
                            .extend(std::iter::repeat_n(*content, std::mem::take(held)));
                        out.text.push(c);
                    } else if *held < *stop {
                        *held += 1;
                    } else {
                        out.text.push(c);
                    }
                }
            }
            Self::Suffix { token, held } => {
                release_suffix(held, config, out);
                token.push_str(text);
            }
            Self::Literals { all, wrote, .. } => {
                let mut text = text.to_owned();
                for literal in all {
                    let mut replaced = String::with_capacity(text.len());
                    literal.push(&text, &mut replaced);
                    text = replaced;
                }
                *wrote |= !text.is_empty();
                out.text.push_str(&text);
            }
        }
    }

    /// The end of a token.
    pub(super) fn end(
        &mut self,
        decoder: &Decoder,
        config: Option<&DecoderConfig>,
        index: usize,
        room: Room,
        out: &mut Flow,
    ) -> Result<()> {
        match self {
            Self::Fuse => {}
            Self::Join { .. } => {
                self.text(config, "", out);
                if let Self::Join { inside, .. } = self {
                    *inside = false;
                }
                out.end();
            }
            Self::ByteLevel { token, bytes } => {
                let spelled = gpt2_alphabet::spell(token);
                bytes.push(
                    spelled.as_deref().unwrap_or(token.as_bytes()),
                    &mut out.text,
                );
                token.clear();
            }
            Self::Whole { token, previous } => {
                let token = std::mem::take(token);
                whole_token(decoder, index, &token, previous.as_deref(), room, out)?;
                *previous = Some(token);
            }
            Self::Bytes { token, run } => {
                if let Some(byte) = fallback_byte(token) {
                    run.push(byte, out);
                } else {
                    run.finish(out);
                    out.token(token);
                }
                token.clear();
            }
            Self::OneByte { held, is_decided } => {
                *is_decided = false;
                if let Some(byte) = fallback_byte(held) {
                    out.text.push_str(&String::from_utf8_lossy(&[byte]));
                } else {
                    out.text.push_str(held);
                }
                held.clear();
                out.end();
            }
            Self::Metaspace { is_first } => {
                *is_first = false;
                out.end();
            }
            Self::Strip { stripped, held } => {
                (*stripped, *held) = (Some(0), 0);
                out.end();
            }
            Self::Suffix { token, held } => {
                release_suffix(held, config, out);
                let token = std::mem::take(token);
                let Some(DecoderConfig::Bpe { suffix }) = config else {
                    return Ok(());
                };
                let Some(at) = token.find(suffix.as_str()) else {
                    out.token(&token);
                    return Ok(());
                };
                out.text.push_str(&token[..at]);
                *held = Some(token[at..].to_owned());
            }
            Self::Literals {
                all,
                drops_empty,
                wrote,
            } => {
                let mut text = String::new();
                for literal in all {
                    let mut replaced = String::with_capacity(text.len());
                    literal.push(&text, &mut replaced);
                    literal.finish(&mut replaced);
                    text = replaced;
                }
                *wrote |= !text.is_empty();
                out.text.push_str(&text);
                if std::mem::take(wrote) || !*drops_empty {
                    out.end();
                }
            }
        }
        Ok(())
    }

    /// The end of all tokens.
    pub(super) fn finish(&mut self, config: Option<&DecoderConfig>, out: &mut Flow) {
        match self {
            Self::Fuse => out.end(),
            Self::ByteLevel { bytes, .. } => {
                bytes.finish(&mut out.text);
                out.end();
            }
            Self::Bytes { run, .. } => run.finish(out),
            Self::Suffix { held, .. } => {
                if let (Some(held), Some(DecoderConfig::Bpe { suffix })) = (held.take(), config) {
                    out.token(&held.replace(suffix.as_str(), ""));
                }
            }
            _ => {}
        }
    }
}

/// Bytes of a token such as `<0x41>`.
const BYTE_TOKEN_BYTES: usize = 6;

/// A suffix that another token follows is a space.
fn release_suffix(held: &mut Option<String>, config: Option<&DecoderConfig>, out: &mut Flow) {
    if let (Some(held), Some(DecoderConfig::Bpe { suffix })) = (held.take(), config) {
        out.token(&held.replace(suffix.as_str(), " "));
    }
}

/// Decodes a token that is seen whole; `previous` is the one before it.
fn whole_token(
    decoder: &Decoder,
    index: usize,
    token: &str,
    previous: Option<&str>,
    room: Room,
    out: &mut Flow,
) -> Result<()> {
    let Some((config, splitter)) = decoder.steps.get(index) else {
        return Ok(());
    };
    match config {
        DecoderConfig::WordPiece { prefix, cleanup } => {
            let text = match (previous, token.strip_prefix(prefix.as_str())) {
                (None, _) => token.to_owned(),
                (Some(_), Some(rest)) => rest.to_owned(),
                (Some(_), None) => format!(" {token}"),
            };
            out.token(&if *cleanup { clean_up(&text) } else { text });
        }
        DecoderConfig::Ctc { .. } if previous == Some(token) => {}
        // The others see no other token.
        _ => {
            for text in step(config, splitter.as_ref(), vec![token.to_owned()], room)? {
                out.token(&text);
            }
        }
    }
    Ok(())
}
