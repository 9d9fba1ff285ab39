//! What a text is before any tokenizer sees it.

use super::LengthHistogram;
use super::characters::{COMMON, ScriptCounts, latin, table};
use crate::batch::BatchRef;
use crate::error::Result;
use crate::parallel::map_documents;
use crate::tokenizer::as_text;

/// Sizes of documents. A *word* is a maximal run of characters that are not Unicode `White_Space`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct TextStats {
    pub n_documents: u64,
    pub n_bytes: u64,
    pub n_chars: u64,
    pub n_words: u64,
    /// Bytes of white space that follows other white space.
    pub n_whitespace_bytes: u64,
    /// Bytes of all white space.
    pub n_space_bytes: u64,
    /// Decimal digits (`General_Category` Nd) of any script.
    pub n_digits: u64,
    /// Combining marks (`General_Category` M).
    pub n_marks: u64,
    /// Documents that are ASCII throughout.
    pub n_ascii_documents: u64,
    pub n_replaced_documents: u64,
    pub n_replacements: u64,
    pub bytes_per_document: LengthHistogram,
    pub script_chars: ScriptCounts,
    pub script_bytes: ScriptCounts,
}

impl TextStats {
    /// Counts a batch.
    pub fn add(
        &mut self,
        batch: BatchRef<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let parts = map_documents(batch, threads, keep_going, &|range| {
            let mut part = Self::default();
            for text in batch.slice(range.start, range.end).iter() {
                part.add_document(as_text(text)?);
            }
            Ok(part)
        })?;
        parts.iter().for_each(|part| self.merge(part));
        Ok(())
    }

    fn add_document(&mut self, text: &str) {
        self.n_documents += 1;
        self.n_bytes += text.len() as u64;
        self.bytes_per_document.add(text.len() as u64);
        self.n_ascii_documents += u64::from(text.is_ascii());
        let mut state = State::default();
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = ascii_prefix(rest.as_bytes());
            if ascii >= MIN_ASCII_RUN {
                let (run, after) = rest.split_at(ascii);
                self.add_ascii(run.as_bytes(), &mut state);
                rest = after;
            } else {
                let mut end = rest.len().min(ascii + MIN_ASCII_RUN);
                while !rest.is_char_boundary(end) {
                    end += 1;
                }
                let (run, after) = rest.split_at(end);
                self.add_chars(run, &mut state);
                rest = after;
            }
        }
    }

    /// Counts any characters, one by one.
    fn add_chars(&mut self, text: &str, state: &mut State) {
        let table = table();
        for c in text.chars() {
            let found = table.of(c);
            let bytes = c.len_utf8() as u64;
            let is_space = found.is_space();
            self.n_chars += 1;
            self.script_chars.add(found.script, 1);
            self.script_bytes.add(found.script, bytes);
            self.n_words += u64::from(!is_space && !state.in_word);
            self.n_whitespace_bytes += bytes * u64::from(is_space && state.after_space);
            self.n_space_bytes += bytes * u64::from(is_space);
            self.n_digits += u64::from(found.is_digit());
            self.n_marks += u64::from(found.is_mark());
            *state = State {
                in_word: !is_space,
                after_space: is_space,
            };
        }
    }

    /// The same of ASCII characters, many at once.
    fn add_ascii(&mut self, text: &[u8], state: &mut State) {
        let n_bytes = text.len() as u64;
        let n_letters = count(text, |byte| (byte | 32).wrapping_sub(b'a') < 26);
        let n_spaces = count(text, is_blank);
        // What the first byte begins depends on the character before it.
        let (Some(&first), Some(&last)) = (text.first(), text.last()) else {
            return;
        };
        self.n_words += u64::from(!is_blank(first) && !state.in_word)
            + count_pairs(text, |before, byte| is_blank(before) & !is_blank(byte));
        self.n_whitespace_bytes += u64::from(is_blank(first) && state.after_space)
            + count_pairs(text, |before, byte| is_blank(before) & is_blank(byte));
        self.n_chars += n_bytes;
        self.n_space_bytes += n_spaces;
        self.n_digits += count(text, |byte| byte.is_ascii_digit());
        for counts in [&mut self.script_chars, &mut self.script_bytes] {
            counts.add(COMMON, n_bytes - n_letters);
            counts.add(latin(), n_letters);
        }
        *state = State {
            in_word: !is_blank(last),
            after_space: is_blank(last),
        };
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        self.n_documents += other.n_documents;
        self.n_bytes += other.n_bytes;
        self.n_chars += other.n_chars;
        self.n_words += other.n_words;
        self.n_whitespace_bytes += other.n_whitespace_bytes;
        self.n_space_bytes += other.n_space_bytes;
        self.n_digits += other.n_digits;
        self.n_marks += other.n_marks;
        self.n_ascii_documents += other.n_ascii_documents;
        self.n_replaced_documents += other.n_replaced_documents;
        self.n_replacements += other.n_replacements;
        self.bytes_per_document.merge(&other.bytes_per_document);
        self.script_chars.merge(&other.script_chars);
        self.script_bytes.merge(&other.script_bytes);
    }
}

/// What the character before is.
#[derive(Clone, Copy, Default)]
struct State {
    in_word: bool,
    after_space: bool,
}

/// Shorter runs of ASCII are counted character by character, which is then as fast.
const MIN_ASCII_RUN: usize = 32;

/// How many bytes from the start are ASCII, in steps of eight.
fn ascii_prefix(text: &[u8]) -> usize {
    let is_ascii = |word: &&[u8]| word.is_ascii();
    8 * text.chunks_exact(8).take_while(is_ascii).count()
}

/// Whether an ASCII character is Unicode `White_Space`.
#[inline]
fn is_blank(byte: u8) -> bool {
    (byte == b' ') | (byte.wrapping_sub(9) < 5)
}

/// Bytes counted before their number is added up: as many as an eight-bit counter holds, so that the
/// compiler counts sixteen and more bytes with one instruction.
const LANE: usize = 255;

fn count(text: &[u8], is: impl Fn(u8) -> bool) -> u64 {
    let lanes = text.chunks(LANE);
    lanes
        .map(|lane| u64::from(lane.iter().map(|&byte| u8::from(is(byte))).sum::<u8>()))
        .sum()
}

fn count_pairs(text: &[u8], are: impl Fn(u8, u8) -> bool) -> u64 {
    let after = text.get(1..).unwrap_or_default();
    let lanes = text.chunks(LANE).zip(after.chunks(LANE));
    lanes
        .map(|(before, after)| {
            let pairs = before.iter().zip(after);
            u64::from(pairs.map(|(&a, &b)| u8::from(are(a, b))).sum::<u8>())
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::DocumentBatch;
    use proptest::prelude::*;

    #[test]
    fn counts() {
        let batch = DocumentBatch::from_texts(["a  b\n\n é", "", "\u{3000}x"]);
        let mut stats = TextStats::default();
        stats.add(batch.as_ref(), 1, &mut || true).unwrap();
        assert_eq!(
            (
                stats.n_documents,
                stats.n_bytes,
                stats.n_chars,
                stats.n_words
            ),
            (3, 13, 10, 4)
        );
        assert_eq!((stats.n_whitespace_bytes, stats.n_space_bytes), (3, 8));
        assert_eq!(
            stats.bytes_per_document.columns(),
            (vec![0, 4, 9], vec![1, 1, 1])
        );
        assert_eq!(stats.script_bytes.named(), [("Common", 8), ("Latin", 5)]);
        assert_eq!(stats.n_ascii_documents, 1);
    }

    /// The standard library's view of the same, character by character.
    fn naive(documents: &[String]) -> (u64, u64, u64, u64) {
        let mut sums = (0, 0, 0, 0);
        for text in documents {
            sums.0 += text.chars().count() as u64;
            sums.1 += text.split_whitespace().count() as u64;
            let spaces = text.chars().filter(|c| c.is_whitespace());
            sums.2 += spaces.map(char::len_utf8).sum::<usize>() as u64;
            let pairs = text.chars().zip(text.chars().skip(1));
            let repeated = pairs.filter(|(a, b)| a.is_whitespace() && b.is_whitespace());
            sums.3 += repeated.map(|(_, b)| b.len_utf8()).sum::<usize>() as u64;
        }
        sums
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin_in_any_order(
            documents in prop::collection::vec("([a-cé中ñ \t\u{3000}0-9\u{301}٣\u{1F600}]|[A-z0-9 \t\n\x0b\x1f]{30,300}){0,12}", 0..8),
            split in 0usize..8,
        ) {
            let count = |texts: &[String]| {
                let mut stats = TextStats::default();
                stats.add(DocumentBatch::from_texts(texts).as_ref(), 2, &mut || true).unwrap();
                stats
            };
            let whole = count(&documents);
            let (first, second) = documents.split_at(split.min(documents.len()));
            let (mut forth, mut back) = (count(first), count(second));
            let before = forth.clone();
            forth.merge(&back);
            back.merge(&before);
            prop_assert_eq!(&forth, &whole);
            prop_assert_eq!(&back, &whole);
            let counted = (whole.n_chars, whole.n_words, whole.n_space_bytes, whole.n_whitespace_bytes);
            prop_assert_eq!(counted, naive(&documents));
            let by_script: u64 = whole.script_chars.named().iter().map(|&(_, n)| n).sum();
            prop_assert_eq!(by_script, whole.n_chars);
            let bytes: u64 = whole.script_bytes.named().iter().map(|&(_, n)| n).sum();
            prop_assert_eq!(bytes, whole.n_bytes);
        }
    }
}
