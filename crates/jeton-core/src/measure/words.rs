//! Words and scripts as a tokenizer's tokens meet them in running text.
//!
//! A *letter word* is a maximal run of letters and the marks on them, of scripts that put spaces between
//! words. It was *kept* if exactly one token overlaps it (the token may hold more: the space before
//! it, say). This is what the share of words kept as one token (STRR, arXiv:2510.09947) and the share of continued
//! words (Rust et al. 2021, arXiv:2012.15613) are made of, in running text instead of a list of words.
//!
//! It needs to be known which bytes of the text each token covers. Encoding does not say, and
//! asking for offsets takes several times as long, so the tokens are laid along the text anew: byte by
//! byte where they are its bytes, else as the usual markings of spaces and word starts have it. A
//! document whose tokens do not fit its text that way is left out, and the number of documents that
//! did fit is counted.

use super::characters::{COMMON, Character, ScriptCounts, table};
use crate::tokenizer::Tokenizer;

/// U+2581 as bytes, which stands for a space inside tokens.
const SPACE_MARK: &[u8] = "\u{2581}".as_bytes();
/// What `WordPiece` puts before tokens that continue a word.
const CONTINUES: &[u8] = b"##";
/// What BPE over characters puts behind tokens that end a word.
const WORD_END: &[u8] = b"</w>";

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

    /// Counts a text whose tokens' bytes, joined, are its bytes.
    pub(super) fn add_joined(&mut self, text: &str, ids: &[u32], outlines: &[Outline]) {
        self.n_documents += 1;
        let bytes = text.as_bytes();
        let mut reader = Reader::default();
        let mut position = 0;
        for &id in ids {
            let outline = outlines.get(id as usize).copied().unwrap_or_default();
            let end = position + outline.n_bytes as usize;
            if outline.is_plain {
                reader.plain_token(self, outline);
            } else {
                reader.token(self, bytes, position, end.min(bytes.len()));
            }
            position = end;
        }
        reader.end_word(self);
    }

    /// Counts a text of which is known what each token covers: ranges of bytes in order, which may
    /// leave out white space and be empty, but do not overlap.
    pub(super) fn add_document(&mut self, text: &str, spans: &[(u32, u32)]) {
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

/// What is in a token's bytes, known without looking at them again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outline {
    n_bytes: u32,
    /// Runs of letters.
    n_words: u8,
    n_digits: u8,
    script: u8,
    begins_in_word: bool,
    ends_in_word: bool,
    /// ASCII, and small enough for these numbers; else only the length is right.
    is_plain: bool,
}

impl Outline {
    /// The outlines of all ids of a tokenizer.
    pub(crate) fn of_all(tokenizer: &Tokenizer) -> Vec<Self> {
        let ids = 0..tokenizer.vocab().size();
        ids.map(|id| Self::of(tokenizer.token_text(id).unwrap_or_default()))
            .collect()
    }

    fn of(token: &[u8]) -> Self {
        let mut outline = Self {
            n_bytes: u32::try_from(token.len()).unwrap_or(u32::MAX),
            is_plain: token.is_ascii() && token.len() < 256,
            ..Self::default()
        };
        if !outline.is_plain {
            return outline;
        }
        let found = |byte: &u8| table().of_ascii(*byte);
        let is_word = |byte: &u8| found(byte).is_word();
        outline.begins_in_word = token.first().is_some_and(is_word);
        outline.ends_in_word = token.last().is_some_and(is_word);
        let begun = token
            .windows(2)
            .filter(|two| !is_word(&two[0]) && is_word(&two[1]))
            .count();
        // All are less than 256, as the length is.
        outline.n_words = begun as u8 + u8::from(outline.begins_in_word);
        outline.n_digits = token.iter().filter(|byte| found(byte).is_digit()).count() as u8;
        let with_script = token.iter().map(found).find(|c| c.has_script());
        outline.script = with_script.map_or(COMMON, |c| c.script);
        outline
    }
}

/// Where in a text the reading is.
#[derive(Default)]
struct Reader {
    /// Tokens that overlap the word at hand; none: no word.
    word_tokens: Option<u64>,
    /// The character read last: that of bytes that only continue one.
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

    /// The same as [`Self::token`] of a token that is ASCII: what is in it was looked up once.
    #[inline]
    fn plain_token(&mut self, counts: &mut WordCounts, outline: Outline) {
        if outline.n_words == 0 {
            if outline.n_bytes > 0 {
                self.end_word(counts);
            }
        } else {
            let mut begun = u64::from(outline.n_words);
            match &mut self.word_tokens {
                Some(tokens) if outline.begins_in_word => *tokens += 1,
                _ => {
                    self.end_word(counts);
                    self.word_tokens = Some(1);
                }
            }
            begun -= 1;
            if begun > 0 {
                self.end_word(counts);
                // Words between the first and the last lie in this token as a whole.
                counts.n_words += begun - 1;
                counts.n_words_kept += begun - 1;
                counts.n_word_tokens += begun - 1;
                self.word_tokens = Some(1);
            }
            if !outline.ends_in_word {
                self.end_word(counts);
            }
        }
        counts.n_digits += u64::from(outline.n_digits);
        counts.n_digit_tokens += u64::from(outline.n_digits > 0);
        counts.script_tokens.add(outline.script, 1);
        counts
            .script_bytes
            .add(outline.script, u64::from(outline.n_bytes));
    }

    #[inline]
    fn token(&mut self, counts: &mut WordCounts, text: &[u8], start: usize, end: usize) {
        let table = table();
        let mut script = COMMON;
        let mut has_digit = false;
        // Whether this token was counted for the word at hand.
        let mut counted = false;
        let mut at = start;
        if at < end && is_continuation(text[at]) {
            script = if self.last.has_script() {
                self.last.script
            } else {
                COMMON
            };
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
            if script == COMMON && found.has_script() {
                script = found.script;
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

/// The character that begins here, and its bytes. The bytes are valid UTF-8 from here on.
#[inline]
fn character(bytes: &[u8]) -> (char, usize) {
    let byte = |i: usize| u32::from(bytes.get(i).copied().unwrap_or(0) & 0x3F);
    let first = u32::from(bytes.first().copied().unwrap_or(0));
    let (code, length) = match first {
        0xF0.. => (
            (first & 7) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3),
            4,
        ),
        0xE0.. => ((first & 15) << 12 | byte(1) << 6 | byte(2), 3),
        0xC0.. => ((first & 31) << 6 | byte(1), 2),
        _ => (first, 1),
    };
    (char::from_u32(code).unwrap_or_default(), length)
}

/// Lays the tokens of a text along it: where each begins and ends. False if they do not fit. `unknown`: the id that
/// stands for text without a token, which fits nothing.
pub(super) fn lay_out(
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
        let token = tokenizer.token_text(id).filter(|_| unknown != Some(id));
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
    fit_marked(text, position, token)
        .or_else(|| fit_marked(text, position, token.strip_prefix(CONTINUES)?))
        .or_else(|| fit_marked(text, position, token.strip_suffix(WORD_END)?))
        .or_else(|| {
            let found = text.get(position) == Some(&byte_of(token)?);
            found.then_some((position, position + 1))
        })
}

/// The same where a space or mark of the token stands for one space of the text or none, white space before visible
/// characters is left out, and ASCII letters may have lost their case.
fn fit_marked(text: &[u8], position: usize, mut token: &[u8]) -> Option<(usize, usize)> {
    let byte_at = |at: usize| text.get(at).copied();
    let (mut start, mut at) = (position, position);
    let mut after_space = true;
    while let Some(&byte) = token.first() {
        let marked = token.strip_prefix(SPACE_MARK);
        if byte == b' ' || marked.is_some() {
            at += usize::from(byte_at(at) == Some(b' '));
            after_space = true;
            token = marked.unwrap_or(&token[1..]);
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

/// The byte of `<0x41>`.
fn byte_of(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(text: &str, cuts: &[usize]) -> WordCounts {
        let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
        edges.extend([0, text.len()]);
        edges.sort_unstable();
        edges.dedup();
        let spans: Vec<(u32, u32)> = edges
            .windows(2)
            .map(|e| (e[0] as u32, e[1] as u32))
            .collect();
        let mut counts = WordCounts::default();
        counts.add_document(text, &spans);
        counts
    }

    /// The same from the outlines of the pieces.
    fn joined(text: &str, cuts: &[usize]) -> WordCounts {
        let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
        edges.extend([0, text.len()]);
        edges.sort_unstable();
        edges.dedup();
        let piece = |e: &[usize]| Outline::of(&text.as_bytes()[e[0]..e[1]]);
        let outlines: Vec<Outline> = edges.windows(2).map(piece).collect();
        let ids: Vec<u32> = (0..outlines.len() as u32).collect();
        let mut counts = WordCounts::default();
        counts.add_joined(text, &ids, &outlines);
        counts
    }

    #[test]
    fn words_kept_and_cut() {
        // |The| qu|ick| füchs|e| are 中文|.
        let text = "The quick füchse are 中文.";
        let counts = count(text, &[3, 6, 9, 16, 17]);
        assert_eq!(
            (counts.n_words, counts.n_words_kept, counts.n_word_tokens),
            (4, 2, 6)
        );
        assert_eq!(counts.script_tokens.named(), [("Latin", 6)]);
        // A token that begins inside é belongs to the word and to Latin.
        let counts = count("é1", &[1, 2]);
        assert_eq!(
            (counts.n_words, counts.n_words_kept, counts.n_word_tokens),
            (1, 0, 2)
        );
        assert_eq!((counts.n_digits, counts.n_digit_tokens), (1, 1));
        assert_eq!(counts.script_tokens.named(), [("Common", 1), ("Latin", 2)]);
    }

    #[test]
    fn tokens_are_found_by_their_usual_markings() {
        let found = |text: &str, at, token: &str| fit(text.as_bytes(), at, token.as_bytes());
        assert_eq!(found("Hello", 0, "\u{2581}Hello"), Some((0, 5)));
        assert_eq!(found("a  b", 1, "\u{2581}b"), Some((1, 4)));
        assert_eq!(found("a  b", 1, "\u{2581}"), Some((1, 2)));
        assert_eq!(found("\n\na", 0, "\u{2581}"), Some((0, 0)));
        assert_eq!(found("\n\na", 0, "\n"), Some((0, 1)));
        assert_eq!(found("a\tb", 1, "\u{2581}b"), Some((2, 3)));
        assert_eq!(found("a  b", 1, "\u{2581}\u{2581}b"), Some((1, 4)));
        assert_eq!(found("Running", 3, "##ning"), Some((3, 7)));
        assert_eq!(found("a ## b", 1, "##"), Some((2, 4)));
        assert_eq!(found("The end", 3, "end</w>"), Some((4, 7)));
        assert_eq!(found("é", 0, "<0xC3>"), Some((0, 1)));
        assert_eq!(found("a\nb", 1, "<0x0A>"), Some((1, 2)));
        assert_eq!(found("The", 0, "the"), Some((0, 3)));
        assert_eq!(found("a", 0, "b"), None);
        assert_eq!(found("a", 1, "a"), None);
    }

    proptest! {
        /// The naive twin asks for each word which tokens overlap it.
        #[test]
        fn equals_the_naive_twin(
            text in "[a-c ,.é中\u{301}д1٣\u{1F600}]{0,24}", cuts in prop::collection::vec(0usize..99, 0..12),
        ) {
            let counts = count(&text, &cuts);
            prop_assert_eq!(&joined(&text, &cuts), &counts);
            let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
            edges.extend([0, text.len()]);
            edges.sort_unstable();
            edges.dedup();
            let mut words: Vec<(usize, usize)> = Vec::new();
            for (at, c) in text.char_indices() {
                let known = table().of(c);
                let follows = words.last().is_some_and(|word| word.1 == at);
                if follows && (known.is_word() || known.is_mark()) {
                    words.last_mut().unwrap().1 = at + c.len_utf8();
                } else if known.is_word() {
                    words.push((at, at + c.len_utf8()));
                }
            }
            let tokens = |word: &(usize, usize)| {
                edges.windows(2).filter(|e| e[0] < word.1 && e[1] > word.0).count() as u64
            };
            prop_assert_eq!(counts.n_words, words.len() as u64);
            prop_assert_eq!(counts.n_word_tokens, words.iter().map(tokens).sum::<u64>());
            prop_assert_eq!(counts.n_words_kept, words.iter().filter(|w| tokens(w) == 1).count() as u64);
            prop_assert_eq!(counts.n_digits, text.chars().filter(|&c| table().of(c).is_digit()).count() as u64);
            let all: u64 = counts.script_tokens.named().iter().map(|&(_, n)| n).sum();
            prop_assert_eq!(all, edges.len() as u64 - 1);
            let bytes: u64 = counts.script_bytes.named().iter().map(|&(_, n)| n).sum();
            prop_assert_eq!(bytes, text.len() as u64);
        }
    }
}
