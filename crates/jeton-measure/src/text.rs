//! Measures of a text before any tokenizer sees it.

use super::LengthHistogram;
use super::blocks::{BLOCK, Block};
use super::characters::{COMMON, ScriptCounts, character, latin, table};
use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::Result;

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
            let (mut part, mut wide) = (Self::default(), WideCounts::default());
            for text in batch.slice(range.start, range.end).iter() {
                part.add_document(as_text(text)?, &mut wide);
            }
            part.add_wide(&wide);
            Ok(part)
        })?;
        parts.iter().for_each(|part| self.merge(part));
        Ok(())
    }

    /// Counts one document, and says how many characters it has.
    pub(crate) fn add_document(&mut self, text: &str, wide: &mut WideCounts) -> u64 {
        let bytes = text.as_bytes();
        let mut sums = Sums::default();
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for (index, block) in blocks.iter().enumerate() {
            sums.add(bytes, index * BLOCK, &Block::of(block), u64::MAX, wide);
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            let valid = (1 << rest.len()) - 1;
            sums.add(bytes, blocks.len() * BLOCK, &Block::of(&block), valid, wide);
        }
        let n_bytes = bytes.len() as u64;
        self.n_documents += 1;
        self.n_bytes += n_bytes;
        self.bytes_per_document.add(n_bytes);
        self.n_ascii_documents += u64::from(sums.n_wide_bytes == 0);
        self.n_chars += sums.n_chars;
        self.n_words += sums.n_words;
        self.n_whitespace_bytes += sums.n_whitespace_bytes - sums.n_first_blank_bytes;
        self.n_space_bytes += sums.n_space_bytes;
        self.n_digits += sums.n_digits;
        self.n_marks += sums.n_marks;
        let n_ascii = n_bytes - sums.n_wide_bytes;
        for counts in [&mut self.script_chars, &mut self.script_bytes] {
            counts.add(COMMON, n_ascii - sums.n_letters);
            counts.add(latin(), sums.n_letters);
        }
        sums.n_chars
    }

    /// Adds what was collected of characters beyond ASCII.
    pub(crate) fn add_wide(&mut self, wide: &WideCounts) {
        for (script, by_length) in (0..=u8::MAX).zip(&wide.0) {
            for (length, &n) in (1..).zip(by_length) {
                self.script_chars.add(script, n);
                self.script_bytes.add(script, length * n);
            }
        }
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

/// Characters beyond ASCII by script, and by their bytes less one: added up once for many
/// documents.
pub(crate) struct WideCounts([[u64; 4]; 256]);

impl Default for WideCounts {
    fn default() -> Self {
        Self([[0; 4]; 256])
    }
}

/// Counts of one document while its blocks pass by.
#[derive(Default)]
struct Sums {
    n_chars: u64,
    n_words: u64,
    /// Bytes of white space after a byte of white space.
    n_whitespace_bytes: u64,
    /// Among those, bytes of a character that itself has none before it.
    n_first_blank_bytes: u64,
    n_space_bytes: u64,
    n_digits: u64,
    n_marks: u64,
    n_letters: u64,
    n_wide_bytes: u64,
    /// True if the last byte of the block before is white space.
    after_blank: u64,
    /// Bytes at the start of the next block that belong to white space which began in this one.
    spilled: u64,
}

impl Sums {
    /// Counts the block at `start` of the text. `valid`: its bytes that are of the text.
    #[inline]
    fn add(&mut self, text: &[u8], start: usize, block: &Block, valid: u64, wide: &mut WideCounts) {
        let mut blank = block.blank;
        if block.wide != 0 {
            blank |= std::mem::take(&mut self.spilled);
            blank |= self.add_wide(text, start, block, blank, wide);
        }
        let after = (blank << 1) | self.after_blank;
        self.after_blank = blank >> (BLOCK - 1);
        self.n_chars += count(valid & !block.continuation);
        self.n_words += count(valid & !blank & (after | u64::from(start == 0)));
        self.n_whitespace_bytes += count(blank & after);
        self.n_space_bytes += count(blank);
        self.n_letters += block.n_letters;
        self.n_digits += block.n_digits;
    }

    /// Looks at the characters beyond ASCII that begin in a block; says which bytes of it are white
    /// space.
    fn add_wide(
        &mut self,
        text: &[u8],
        start: usize,
        block: &Block,
        blank: u64,
        wide: &mut WideCounts,
    ) -> u64 {
        let table = table();
        let mut found_blank = 0;
        self.n_wide_bytes += count(block.wide);
        let mut begins = block.wide & !block.continuation;
        while begins != 0 {
            let at = begins.trailing_zeros();
            begins &= begins - 1;
            let (c, length) = character(&text[start + at as usize..]);
            let known = table.of(c);
            // A character has one to four bytes.
            wide.0[usize::from(known.script)][(length - 1) & 3] += 1;
            if !known.is_plain() {
                self.n_digits += u64::from(known.is_digit());
                self.n_marks += u64::from(known.is_mark());
                if known.is_space() {
                    let before = ((blank | found_blank) << 1) | self.after_blank;
                    if (before >> at) & 1 == 0 {
                        self.n_first_blank_bytes += length as u64 - 1;
                    }
                    let bytes = ((1_u128 << length) - 1) << at;
                    found_blank |= bytes as u64;
                    self.spilled |= (bytes >> BLOCK) as u64;
                }
            }
        }
        found_blank
    }
}

#[inline]
fn count(mask: u64) -> u64 {
    u64::from(mask.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;
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
            crate::LengthColumns {
                lengths: vec![0, 4, 9],
                n_documents: vec![1, 1, 1],
            }
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
            documents in prop::collection::vec("([a-cé中ñ \t\u{3000}\u{85}0-9\u{301}٣\u{1F600}]{1,40}|[A-z0-9 \t\n\x0b\x1f\u{2003}]{30,300}){0,12}", 0..8),
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
