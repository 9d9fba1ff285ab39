//! Words and scripts as a tokenizer's tokens meet them in running text.
//!
//! A *letter word* is a maximal run of letters and the marks on them, of scripts that put spaces
//! between words. It was *kept* if exactly one token overlaps it (the token may hold more: the
//! space before it, say). The share of words kept as one token (STRR, arXiv:2510.09947) and the
//! share of continued words (Rust et al. 2021, arXiv:2012.15613) are computed from this. Here it
//! comes from running text, not from a list of words.
//!
//! It needs to be known which bytes of the text each token covers. Encoding does not say, and
//! asking for offsets takes several times as long. So the tokens are laid along the text anew: byte
//! by byte where they are its bytes, else by the usual markings of spaces and word starts. A
//! document whose tokens do not fit its text that way is left out, and the number of documents that
//! did fit is counted.

use super::characters::{COMMON, Character, ScriptCounts, character, table};
use jeton_core::tokenizer::Tokenizer;

/// Counts over the documents whose tokens could be laid along their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordCounts {
    /// Documents that were looked at.
    pub n_documents: u64,
    /// Letter words.
    pub n_words: u64,
    /// Letter words that one token overlaps.
    pub n_words_kept: u64,
    /// Tokens that overlap a letter word, once for each word.
    pub n_word_tokens: u64,
    /// Decimal digits.
    pub n_digits: u64,
    /// Tokens in which a decimal digit begins.
    pub n_digit_tokens: u64,
    /// Tokens by the script of their first character that has one, else Common.
    pub script_tokens: ScriptCounts,
    /// Bytes of the text that these tokens cover.
    pub script_bytes: ScriptCounts,
}

impl WordCounts {
    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        self.n_documents += other.n_documents;
        self.n_words += other.n_words;
        self.n_words_kept += other.n_words_kept;
        self.n_word_tokens += other.n_word_tokens;
        self.n_digits += other.n_digits;
        self.n_digit_tokens += other.n_digit_tokens;
        self.script_tokens.merge(&other.script_tokens);
        self.script_bytes.merge(&other.script_bytes);
    }

    /// Counts a text of which is known what each token covers: ranges of bytes in order, which may
    /// leave out white space and be empty, but do not overlap.
    pub(crate) fn add_document(&mut self, text: &str, spans: &[(u32, u32)]) {
        self.n_documents += 1;
        let bytes = text.as_bytes();
        let mut reader = Reader::default();
        let mut position = 0;
        for &(start, end) in spans {
            let (start, end) = (start as usize, end as usize);
            if position < start {
                // Nothing but white space is left out.
                reader.end_word(self);
            }
            reader.token(self, bytes, start, end);
            position = end;
        }
        reader.end_word(self);
    }
}

/// Outline of a token's bytes, so that nobody reads them again. A token that is [`APART`] has only
/// its length here.
#[derive(Clone, Copy, Debug, Default)]
struct Outline {
    n_bytes: u32,
    /// Runs of letters.
    n_words: u8,
    n_digits: u8,
    script: u8,
}

/// Flag of a token that begins with a letter.
const BEGINS: u8 = 1;
/// Flag of a token that ends inside a word.
const ENDS: u8 = 2;
/// Flag of a token that is nothing but a part of one word.
const INSIDE: u8 = 4;
/// Flag of a token whose bytes must be read where it stands. It holds parts of characters, begins
/// with a mark, is empty or is very long.
const APART: u8 = 8;

/// Outlines of all ids of a tokenizer: letters, digits and scripts of each token, found out once.
#[derive(Debug)]
pub struct Outlines {
    all: Vec<Outline>,
    /// The flags by themselves, because they are looked up for every token of a corpus.
    flags: Vec<u8>,
}

impl Outlines {
    /// Looks at the text of each token of a tokenizer.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let ids = 0..tokenizer.vocab().size();
        Self::of_texts(ids.map(|id| tokenizer.token_text(id).unwrap_or_default()))
    }

    fn of_texts<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let (all, flags) = texts.map(Outline::of).unzip();
        Self { all, flags }
    }

    fn n_bytes(&self, ids: &[u32]) -> usize {
        let all = ids.iter().map(|&id| self.all.get(id as usize));
        all.map(|outline| outline.map_or(0, |outline| outline.n_bytes as usize))
            .sum()
    }
}

impl Outline {
    fn of(token: &[u8]) -> (Self, u8) {
        let apart = Self {
            n_bytes: u32::try_from(token.len()).unwrap_or(u32::MAX),
            ..Self::default()
        };
        // The counts of a token of less than 256 bytes fit into eight bits.
        let text = simdutf8::basic::from_utf8(token).unwrap_or_default();
        let first = text.chars().next().map(|c| table().of(c));
        let Some(first) = first.filter(|first| !first.is_mark() && token.len() < 256) else {
            return (apart, APART);
        };
        let (mut counts, mut reader) = (WordCounts::default(), Reader::default());
        reader.token(&mut counts, token, 0, token.len());
        let ends = reader.word_tokens.is_some();
        reader.end_word(&mut counts);
        let outline = Self {
            n_words: counts.n_words as u8,
            n_digits: counts.n_digits as u8,
            script: counts.script_tokens.first().unwrap_or(COMMON),
            ..apart
        };
        let begins = first.is_word();
        let inside = begins && ends && counts.n_words == 1;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        (
            outline,
            flag(begins, BEGINS) | flag(ends, ENDS) | flag(inside, INSIDE),
        )
    }
}

/// Counts of many texts whose tokens' bytes, joined, are the text.
///
/// How often each id occurs says nearly everything: scripts, digits, and the words that each token
/// overlaps. It does not say which neighbours share a word; three bits of each token say that. A
/// token of which nothing can be said by itself is read where it stands.
pub(crate) struct Joined {
    /// How often each id occurred since the last [`Joined::flush`].
    counts: Vec<u32>,
    /// Tokens counted there.
    n_waiting: u64,
    n_documents: u64,
    /// Neighbours that share a word.
    n_joints: u64,
    /// Words that two or more tokens overlap.
    n_cut: u64,
    /// Counts of the tokens that are [`APART`].
    apart: WordCounts,
    place: WordState,
}

/// Context before a token that is read where it stands.
#[derive(Clone, Copy, Debug, Default)]
struct WordState {
    /// The text so far ends inside a word.
    open: bool,
    /// Two or more tokens overlap that word.
    shared: bool,
    /// The last character read, which continuation bytes belong to.
    last: Character,
}

/// An id that the vocabulary does not have.
pub(crate) struct NoSuchId(pub(crate) u32);

impl Joined {
    pub(crate) fn new(vocab_size: usize) -> Self {
        Self {
            counts: vec![0; vocab_size],
            n_waiting: 0,
            n_documents: 0,
            n_joints: 0,
            n_cut: 0,
            apart: WordCounts::default(),
            place: WordState::default(),
        }
    }

    /// Counts the ids of a text, and nothing else.
    pub(crate) fn add_ids(&mut self, ids: &[u32]) -> Result<(), NoSuchId> {
        self.n_waiting += ids.len() as u64;
        for &id in ids {
            *self.counts.get_mut(id as usize).ok_or(NoSuchId(id))? += 1;
        }
        Ok(())
    }

    /// Counts the ids of a text, and the words that they share.
    pub(crate) fn add(
        &mut self,
        text: &str,
        ids: &[u32],
        outlines: &Outlines,
    ) -> Result<(), NoSuchId> {
        self.n_documents += 1;
        self.n_waiting += ids.len() as u64;
        let flags_of = outlines.flags.as_slice();
        // True if the text so far ends inside a word; true if more than one token overlaps that
        // word.
        let (mut open, mut shared) = (0, 0);
        self.place = WordState::default();
        // How far the bytes of the tokens were added up.
        let (mut n_passed, mut position) = (0, 0);
        let (mut n_joints, mut n_cut) = (0, 0);
        for (index, &id) in ids.iter().enumerate() {
            let (Some(count), Some(&flags)) =
                (self.counts.get_mut(id as usize), flags_of.get(id as usize))
            else {
                return Err(NoSuchId(id));
            };
            *count += 1;
            if flags & APART == 0 {
                let joint = open & flags & BEGINS;
                n_joints += u64::from(joint);
                n_cut += u64::from(joint & !shared);
                shared = joint & (flags / INSIDE);
                open = (flags / ENDS) & 1;
            } else {
                position += outlines.n_bytes(&ids[n_passed..index]);
                let end = position + outlines.n_bytes(&ids[index..=index]);
                self.place = WordState {
                    open: open == 1,
                    shared: shared == 1,
                    last: self.place.last,
                };
                self.read_apart(text.as_bytes(), position, end);
                (open, shared) = (u8::from(self.place.open), u8::from(self.place.shared));
                (n_passed, position) = (index + 1, end);
            }
        }
        self.n_joints += n_joints;
        self.n_cut += n_cut;
        Ok(())
    }

    /// Reads a token of a joined text, as [`Reader::token`] does.
    fn read_apart(&mut self, text: &[u8], start: usize, end: usize) {
        let table = table();
        let (start, end) = (start.min(text.len()), end.min(text.len()));
        let mut script = COMMON;
        let mut has_digit = false;
        // True if this token was counted for the current word.
        let mut counted = false;
        let mut at = start;
        while at < end && is_continuation(text[at]) {
            if at == start {
                script = self.place.last.script_or_common();
                counted = self.place.open;
                if counted {
                    self.overlap();
                }
            }
            at += 1;
        }
        while at < end {
            let (c, length) = character(&text[at..]);
            at += length;
            let found = table.of(c);
            self.place.last = found;
            if found.is_word() || found.is_mark() && self.place.open {
                if !counted {
                    self.overlap();
                }
                counted = true;
            } else {
                (self.place.open, self.place.shared, counted) = (false, false, false);
                self.apart.n_digits += u64::from(found.is_digit());
                has_digit |= found.is_digit();
            }
            if script == COMMON {
                script = found.script_or_common();
            }
        }
        self.apart.n_digit_tokens += u64::from(has_digit);
        self.apart.script_tokens.add(script, 1);
        self.apart.script_bytes.add(script, (end - start) as u64);
    }

    /// The token at hand overlaps the word at hand, or begins one.
    fn overlap(&mut self) {
        self.apart.n_word_tokens += 1;
        self.n_joints += u64::from(self.place.open);
        self.n_cut += u64::from(self.place.open && !self.place.shared);
        self.place.shared = self.place.open;
        self.place.open = true;
    }

    /// True if the counts of ids have to be flushed before a text of `n_tokens` tokens is counted.
    pub(crate) fn is_full(&self, n_tokens: usize) -> bool {
        self.n_waiting + n_tokens as u64 > u64::from(u32::MAX)
    }

    /// Moves the counts of ids to `id_counts`, and what follows of them to `words`. All texts since
    /// the last time must have been added with the same outlines; none: words were not counted.
    pub(crate) fn flush(
        &mut self,
        outlines: Option<&Outlines>,
        id_counts: &mut [u64],
        words: &mut WordCounts,
    ) {
        let mut sums = std::mem::take(&mut self.apart);
        sums.n_documents = std::mem::take(&mut self.n_documents);
        for (id, (count, total)) in self.counts.iter_mut().zip(id_counts).enumerate() {
            let n = u64::from(std::mem::take(count));
            if n == 0 {
                continue;
            }
            *total += n;
            let known = outlines.filter(|outlines| outlines.flags[id] & APART == 0);
            if let Some(outline) = known.map(|outlines| outlines.all[id]) {
                sums.n_word_tokens += n * u64::from(outline.n_words);
                sums.n_digits += n * u64::from(outline.n_digits);
                sums.n_digit_tokens += n * u64::from(outline.n_digits > 0);
                sums.script_tokens.add(outline.script, n);
                let n_bytes = n * u64::from(outline.n_bytes);
                sums.script_bytes.add(outline.script, n_bytes);
            }
        }
        self.n_waiting = 0;
        // Tokens that share a word count it once each; a word has one token more than it has
        // joints.
        sums.n_words = sums.n_word_tokens - std::mem::take(&mut self.n_joints);
        sums.n_words_kept = sums.n_words - std::mem::take(&mut self.n_cut);
        words.merge(&sums);
    }
}

/// Where in a text the reading is.
#[derive(Default)]
struct Reader {
    /// Tokens that overlap the word at hand; none: no word.
    word_tokens: Option<u64>,
    /// The last character read, which continuation bytes belong to.
    last: Character,
}

impl Reader {
    #[inline]
    fn end_word(&mut self, counts: &mut WordCounts) {
        if let Some(tokens) = self.word_tokens.take() {
            counts.n_words += 1;
            counts.n_words_kept += u64::from(tokens == 1);
            counts.n_word_tokens += tokens;
        }
    }

    #[inline]
    fn token(&mut self, counts: &mut WordCounts, text: &[u8], start: usize, end: usize) {
        let table = table();
        let mut script = COMMON;
        let mut has_digit = false;
        // True if this token was counted for the current word.
        let mut counted = false;
        let mut at = start;
        if at < end && is_continuation(text[at]) {
            script = self.last.script_or_common();
            if let Some(tokens) = &mut self.word_tokens {
                *tokens += 1;
                counted = true;
            }
            while at < end && is_continuation(text[at]) {
                at += 1;
            }
        }
        while at < end {
            let byte = text[at];
            let found = if byte < 128 {
                at += 1;
                table.of_ascii(byte)
            } else {
                let (c, length) = character(&text[at..]);
                at += length;
                table.of(c)
            };
            self.last = found;
            if found.is_word() || found.is_mark() && self.word_tokens.is_some() {
                let tokens = self.word_tokens.get_or_insert(0);
                *tokens += u64::from(!counted);
                counted = true;
            } else {
                self.end_word(counts);
                counted = false;
                if found.is_digit() {
                    counts.n_digits += 1;
                    has_digit = true;
                }
            }
            if script == COMMON {
                script = found.script_or_common();
            }
        }
        counts.n_digit_tokens += u64::from(has_digit);
        counts.script_tokens.add(script, 1);
        counts.script_bytes.add(script, (end - start) as u64);
    }
}

#[inline]
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Lays the tokens of a text along it: where each begins and ends. False if they do not fit.
/// `unknown`: the id that stands for text without a token, which fits nothing.
pub(crate) fn lay_out(
    tokenizer: &Tokenizer,
    unknown: Option<u32>,
    text: &str,
    ids: &[u32],
    spans: &mut Vec<(u32, u32)>,
) -> bool {
    spans.clear();
    let text = text.as_bytes();
    if u32::try_from(text.len()).is_err() {
        return false;
    }
    let mut position = 0;
    for &id in ids {
        let token = tokenizer.token_bytes(id).filter(|_| unknown != Some(id));
        let Some((start, end)) = token.and_then(|token| fit(text, position, token)) else {
            return false;
        };
        spans.push((start as u32, end as u32));
        position = end;
    }
    text[position..].iter().all(u8::is_ascii_whitespace)
}

/// Where a token lies that comes next in a text.
#[inline]
fn fit(text: &[u8], position: usize, token: &[u8]) -> Option<(usize, usize)> {
    if text[position..].starts_with(token) {
        return Some((position, position + token.len()));
    }
    fit_spaced(text, position, token)
}

/// Fits a token whose spaces stand for one space of the text or none. White space before visible
/// characters is left out, and ASCII letters may have lost their case.
fn fit_spaced(text: &[u8], position: usize, mut token: &[u8]) -> Option<(usize, usize)> {
    let byte_at = |at: usize| text.get(at).copied();
    let (mut start, mut at) = (position, position);
    let mut after_space = true;
    while let Some(&byte) = token.first() {
        if byte == b' ' {
            at += usize::from(byte_at(at) == Some(b' '));
            after_space = true;
            token = &token[1..];
            continue;
        }
        if after_space && !byte.is_ascii_whitespace() {
            let is_first = at == position && start == position;
            while byte_at(at).is_some_and(|blank| blank.is_ascii_whitespace()) {
                at += 1;
            }
            // White space that no token stands for belongs to none.
            if is_first {
                start = at;
            }
        }
        if !byte_at(at)?.eq_ignore_ascii_case(&byte) {
            return None;
        }
        at += 1;
        after_space = false;
        token = &token[1..];
    }
    Some((start, at))
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
