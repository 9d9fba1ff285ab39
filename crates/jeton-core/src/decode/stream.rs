//! The decoders of `tokenizer.json` for ids that come one by one.
//!
//! Each step is a small machine that takes text and the ends of tokens and gives both, so that a chain works
//! through each id once. A machine holds back only what later tokens can change: an end-of-word suffix,
//! which is nothing at the very end; a run of byte tokens, which is text if all of it is UTF-8 and U+FFFD
//! for each of them otherwise; the beginning of a text that may have to be replaced; white space that is
//! stripped at the end. After `Fuse` or `ByteLevel` there is one token, which ends when all ends; all that
//! needs that end before it says anything is a regular expression, `ByteLevel` after these, and clean-up with an
//! empty word delimiter.
//!
//! The twin that this must equal is [`super::step`], over all tokens at once.

use super::{CLEAN_UP, Decoder, DecoderConfig, clean_up, fallback_byte, step};
use crate::byte_alphabet;
use crate::error::Result;
use crate::lossy::LossyUtf8;
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::metaspace::PrependScheme;

/// Text on its way between two machines, with the places in it where tokens end.
#[derive(Clone, Debug, Default)]
struct Flow {
    text: String,
    ends: Vec<usize>,
}

impl Flow {
    fn token(&mut self, text: &str) {
        self.text.push_str(text);
        self.end();
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Pieces of text, each with whether a token ends behind it.
    fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        let ends = self.ends.iter().map(|&end| (end, true));
        ends.chain([(self.text.len(), false)])
            .map(move |(end, is_end)| {
                let piece = &self.text[start..end];
                start = end;
                (piece, is_end)
            })
    }
}

/// Replaces a text in a stream: Knuth, Morris and Pratt's way, so that what is held back is as long as what
/// of the text to replace has been seen, and each character costs a constant time on average.
#[derive(Clone, Debug)]
struct Literal {
    from: Vec<char>,
    to: String,
    /// For each beginning of `from` (by its length less 1), the longest shorter one that it ends with.
    borders: Vec<usize>,
    /// How much of `from` is held back.
    seen: usize,
}

impl Literal {
    /// None if there is nothing to look for.
    fn new(from: &str, to: &str) -> Option<Self> {
        let from: Vec<char> = from.chars().collect();
        let mut borders = vec![0; from.len()];
        for at in 1..from.len() {
            let mut border: usize = borders[at - 1];
            while border > 0 && from[border] != from[at] {
                border = borders[border - 1];
            }
            borders[at] = border + usize::from(from[border] == from[at]);
        }
        (!from.is_empty()).then(|| Self {
            from,
            to: to.to_owned(),
            borders,
            seen: 0,
        })
    }

    fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            while self.seen > 0 && self.from[self.seen] != c {
                let border = self.borders[self.seen - 1];
                out.extend(&self.from[..self.seen - border]);
                self.seen = border;
            }
            if self.from[self.seen] != c {
                out.push(c);
                continue;
            }
            self.seen += 1;
            if self.seen == self.from.len() {
                out.push_str(&self.to);
                self.seen = 0;
            }
        }
    }

    fn finish(&mut self, out: &mut String) {
        out.extend(&self.from[..self.seen]);
        self.seen = 0;
    }
}

/// One step of a chain, between two ids.
#[derive(Clone, Debug)]
enum Machine {
    /// No step at all: tokens are joined by spaces.
    Join { n_begun: usize, inside: bool },
    /// Many tokens become one.
    Fuse,
    /// The same, with bytes for characters of GPT-2's alphabet.
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
        /// What follows the first suffix of a token that has ended.
        held: Option<String>,
    },
    /// Texts that are replaced one after the other in the only token.
    Literals {
        all: Vec<Literal>,
        /// Whether a token without text is none.
        drops_empty: bool,
        wrote: bool,
    },
}

/// Byte tokens in a row.
#[derive(Clone, Debug, Default)]
struct ByteRun {
    bytes: Vec<u8>,
    /// How many of them are whole characters.
    checked: usize,
    /// Whether they are no UTF-8 whatever follows, so that each is U+FFFD already.
    is_broken: bool,
}

impl ByteRun {
    fn push(&mut self, byte: u8, out: &mut Flow) {
        if self.is_broken {
            return out.token("\u{FFFD}");
        }
        self.bytes.push(byte);
        match std::str::from_utf8(&self.bytes[self.checked..]) {
            Ok(_) => self.checked = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => {
                self.is_broken = true;
                self.bytes.drain(..).for_each(|_| out.token("\u{FFFD}"));
            }
        }
    }

    fn finish(&mut self, out: &mut Flow) {
        let bytes = std::mem::take(self).bytes;
        match String::from_utf8(bytes) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => out.token(&text),
            Err(error) => error.as_bytes().iter().for_each(|_| out.token("\u{FFFD}")),
        }
    }
}

impl Machine {
    /// `is_one`: whether all text comes as one token.
    fn new(config: &DecoderConfig, is_one: bool) -> Self {
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
    fn text(&mut self, config: Option<&DecoderConfig>, text: &str, out: &mut Flow) {
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
    fn end(
        &mut self,
        decoder: &Decoder,
        config: Option<&DecoderConfig>,
        index: usize,
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
                let spelled = byte_alphabet::spell(token);
                bytes.push(
                    spelled.as_deref().unwrap_or(token.as_bytes()),
                    &mut out.text,
                );
                token.clear();
            }
            Self::Whole { token, previous } => {
                let token = std::mem::take(token);
                whole_token(decoder, index, &token, previous.as_deref(), out)?;
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
    fn finish(&mut self, config: Option<&DecoderConfig>, out: &mut Flow) {
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

/// What becomes of a token that is seen whole; `previous` is the one before it.
fn whole_token(
    decoder: &Decoder,
    index: usize,
    token: &str,
    previous: Option<&str>,
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
            for text in step(config, splitter.as_ref(), vec![token.to_owned()])? {
                out.token(&text);
            }
        }
    }
    Ok(())
}

/// A chain of decoders between two ids.
#[derive(Clone, Debug)]
pub(crate) struct DecoderStream {
    machines: Vec<Machine>,
    flows: [Flow; 2],
}

impl DecoderStream {
    pub(crate) fn new(decoder: &Decoder) -> Self {
        let mut is_one = false;
        let mut machines: Vec<Machine> = Vec::with_capacity(decoder.steps.len());
        for (config, _) in &decoder.steps {
            machines.push(Machine::new(config, is_one));
            is_one |= matches!(config, DecoderConfig::Fuse | DecoderConfig::ByteLevel);
        }
        if machines.is_empty() {
            machines.push(Machine::Join {
                n_begun: 0,
                inside: false,
            });
        }
        Self {
            machines,
            flows: Default::default(),
        }
    }

    /// Appends the text that is final with this token. `decoder` is the one this was made for.
    pub(crate) fn push(&mut self, decoder: &Decoder, token: &str, out: &mut String) -> Result<()> {
        self.flows[0].clear();
        self.flows[0].token(token);
        self.run(decoder, false, out)
    }

    /// Appends what has been held back, as it is if no more tokens come.
    pub(crate) fn finish(&mut self, decoder: &Decoder, out: &mut String) -> Result<()> {
        self.flows[0].clear();
        self.run(decoder, true, out)
    }

    fn run(&mut self, decoder: &Decoder, is_last: bool, out: &mut String) -> Result<()> {
        let [mut given, mut made] = std::mem::take(&mut self.flows);
        for (index, machine) in self.machines.iter_mut().enumerate() {
            let config = decoder.steps.get(index).map(|(config, _)| config);
            made.clear();
            for (piece, is_end) in given.pieces() {
                if !piece.is_empty() {
                    machine.text(config, piece, &mut made);
                }
                if is_end {
                    machine.end(decoder, config, index, &mut made)?;
                }
            }
            if is_last {
                machine.finish(config, &mut made);
            }
            std::mem::swap(&mut given, &mut made);
        }
        out.push_str(&given.text);
        self.flows = [given, made];
        Ok(())
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
