//! Figures that published filters of web text look at, one row for each document.
//!
//! The rules themselves (which figure may be how large) are not here; see `jeton.corpus.care`,
//! which names the origin of each. Words are what white space separates; a line that holds nothing
//! but white space does not count; paragraphs are separated by such lines. All shares are between 0
//! and 1, and 0 where there is nothing to share.

use std::hash::BuildHasher;

use hashbrown::{HashMap, HashSet};

use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::Result;
use jeton_core::vocab::hasher;

/// Names of the figures, in the order of a row.
pub const QUALITY_FIGURES: [&str; 27] = [
    "n_words",
    "mean_word_chars",
    "hashes_per_word",
    "ellipses_per_word",
    "bullet_lines",
    "ellipsis_lines",
    "alphabetic_words",
    "n_stop_words",
    "duplicate_lines",
    "duplicate_line_chars",
    "duplicate_paragraphs",
    "duplicate_paragraph_chars",
    "top_2_gram_chars",
    "top_3_gram_chars",
    "top_4_gram_chars",
    "duplicate_5_gram_chars",
    "duplicate_6_gram_chars",
    "duplicate_7_gram_chars",
    "duplicate_8_gram_chars",
    "duplicate_9_gram_chars",
    "duplicate_10_gram_chars",
    "n_lines",
    "n_sentences",
    "terminal_lines",
    "n_curly_brackets",
    "n_lorem_ipsum",
    "replacement_chars",
];

/// The stop words of Rae et al. 2021 (Gopher), table A1.
const STOP_WORDS: [&str; 8] = ["the", "be", "to", "of", "and", "that", "have", "with"];
/// Characters that begin an item of a list.
const BULLETS: [char; 7] = ['•', '‣', '⁃', '◦', '●', '-', '*'];
/// Characters that end a sentence, or a line of one.
const TERMINAL: [char; 8] = ['.', '!', '?', '"', '”', '。', '！', '？'];

/// One row.
pub type QualityRow = [f64; QUALITY_FIGURES.len()];

/// The figures of every document of a batch, in order.
pub fn quality(
    batch: BatchRef<'_>,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Vec<QualityRow>> {
    let parts = map_documents(batch, threads, keep_going, &|range| {
        let documents = batch.slice(range.start, range.end);
        documents
            .iter()
            .map(|document| {
                let text = as_text(document)?;
                Ok(row(text))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.concat())
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn row(text: &str) -> QualityRow {
    let words: Vec<&str> = text.split_whitespace().collect();
    let word_chars: Vec<usize> = words.iter().map(|word| chars(word)).collect();
    let n_word_chars: usize = word_chars.iter().sum();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let n_chars = chars(text);
    let of_lines = |holds: &dyn Fn(&str) -> bool| {
        share(lines.iter().filter(|line| holds(line)).count(), lines.len())
    };
    let n_of = |needle: &str| memchr::memmem::find_iter(text.as_bytes(), needle).count();
    let ellipses = n_of("...") + n_of("…");
    let mut paragraphs = Vec::new();
    let mut paragraph = String::new();
    for line in text.lines().map(str::trim).chain([""]) {
        if !line.is_empty() {
            paragraph.push_str(line);
            paragraph.push('\n');
        } else if !paragraph.is_empty() {
            paragraphs.push(std::mem::take(&mut paragraph));
        }
    }
    let (duplicate_lines, duplicate_line_chars) = repeated(lines.iter().copied(), n_chars);
    let (duplicate_paragraphs, duplicate_paragraph_chars) = repeated(
        paragraphs.iter().map(|paragraph| paragraph.trim_end()),
        n_chars,
    );
    let hashes: Vec<u64> = words.iter().map(|word| hasher().hash_one(*word)).collect();
    let stop_words = STOP_WORDS
        .iter()
        .filter(|&stop| words.iter().any(|word| word.eq_ignore_ascii_case(stop)));
    let lower = text.to_ascii_lowercase();
    let mut row = [0.0; QUALITY_FIGURES.len()];
    let first = [
        words.len() as f64,
        share(n_word_chars, words.len()),
        share(n_of("#"), words.len()),
        share(ellipses, words.len()),
        of_lines(&|line| line.starts_with(BULLETS)),
        of_lines(&|line| line.ends_with("...") || line.ends_with('…')),
        share(
            words
                .iter()
                .filter(|word| word.chars().any(char::is_alphabetic))
                .count(),
            words.len(),
        ),
        stop_words.count() as f64,
        duplicate_lines,
        duplicate_line_chars,
        duplicate_paragraphs,
        duplicate_paragraph_chars,
        top_gram(&hashes, &word_chars, 2, n_word_chars),
        top_gram(&hashes, &word_chars, 3, n_word_chars),
        top_gram(&hashes, &word_chars, 4, n_word_chars),
    ];
    let grams = (5..=10).map(|n| duplicate_grams(&hashes, &word_chars, n, n_word_chars));
    let last = [
        lines.len() as f64,
        n_sentences(text) as f64,
        of_lines(&|line| line.ends_with(TERMINAL)),
        (n_of("{") + n_of("}")) as f64,
        memchr::memmem::find_iter(lower.as_bytes(), "lorem ipsum").count() as f64,
        share(n_of("\u{fffd}"), n_chars),
    ];
    let figures = first.into_iter().chain(grams).chain(last);
    row.iter_mut()
        .zip(figures)
        .for_each(|(place, figure)| *place = figure);
    row
}

/// Sentences: ends of them that white space or the end of the text follows.
fn n_sentences(text: &str) -> usize {
    let mut n = 0;
    let mut before = ' ';
    for c in text.chars().chain(['\n']) {
        n += usize::from(
            matches!(before, '。' | '！' | '？')
                || matches!(before, '.' | '!' | '?') && c.is_whitespace(),
        );
        before = c;
    }
    n
}

/// Returns the share of parts that occurred before, and their share of all characters.
fn repeated<'t>(parts: impl Iterator<Item = &'t str>, n_chars: usize) -> (f64, f64) {
    let mut seen = HashSet::with_hasher(hasher());
    let (mut n, mut n_repeated, mut n_repeated_chars) = (0, 0, 0);
    for part in parts {
        n += 1;
        if !seen.insert(part) {
            n_repeated += 1;
            n_repeated_chars += chars(part);
        }
    }
    (share(n_repeated, n), share(n_repeated_chars, n_chars))
}

fn gram_hash(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |sum: u64, &hash| {
        (sum.rotate_left(23) ^ hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}

/// The share of characters that the run of `n` words has which covers most by coming again; 0 if
/// none comes twice.
fn top_gram(hashes: &[u64], word_chars: &[usize], n: usize, n_chars: usize) -> f64 {
    let mut counts = HashMap::with_hasher(hasher());
    for (words, lengths) in hashes.windows(n).zip(word_chars.windows(n)) {
        let entry = counts
            .entry(gram_hash(words))
            .or_insert_with(|| (0_usize, lengths.iter().sum::<usize>()));
        entry.0 += 1;
    }
    let most = counts
        .values()
        .filter(|(count, _)| *count > 1)
        .map(|(count, length)| count * length)
        .max();
    share(most.unwrap_or(0), n_chars).min(1.0)
}

/// The share of characters in runs of `n` words that occurred before; overlapping runs count once.
fn duplicate_grams(hashes: &[u64], word_chars: &[usize], n: usize, n_chars: usize) -> f64 {
    let mut seen = HashSet::with_hasher(hasher());
    let (mut n_repeated_chars, mut at) = (0, 0);
    while let (Some(words), Some(lengths)) = (hashes.get(at..at + n), word_chars.get(at..at + n)) {
        if seen.insert(gram_hash(words)) {
            at += 1;
        } else {
            n_repeated_chars += lengths.iter().sum::<usize>();
            at += n;
        }
    }
    share(n_repeated_chars, n_chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;

    fn figure(text: &str, name: &str) -> f64 {
        let index = QUALITY_FIGURES.iter().position(|&n| n == name).unwrap();
        row(text)[index]
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn figures_of_small_texts() {
        let text = "# The cat and the dog...\n- one\n• two …\n\nThe end.";
        close(figure(text, "n_words"), 13.0);
        close(figure(text, "hashes_per_word"), 1.0 / 13.0);
        close(figure(text, "ellipses_per_word"), 2.0 / 13.0);
        close(figure(text, "bullet_lines"), 0.5);
        close(figure(text, "ellipsis_lines"), 0.5);
        close(figure(text, "n_stop_words"), 2.0);
        close(figure(text, "n_lines"), 4.0);
        close(figure(text, "n_sentences"), 2.0);
        close(figure(text, "terminal_lines"), 0.5);
        // "#", "-", "•" and "…" have no letter.
        close(figure(text, "alphabetic_words"), 9.0 / 13.0);
        close(figure("Lorem IPSUM {x}", "n_lorem_ipsum"), 1.0);
        close(figure("Lorem IPSUM {x}", "n_curly_brackets"), 2.0);
        close(figure("ab\u{fffd}\u{fffd}", "replacement_chars"), 0.5);
        close(figure("abc de", "mean_word_chars"), 2.5);
        close(figure("你好。好吗？", "n_sentences"), 2.0);
    }

    #[test]
    fn repetition_is_found() {
        let text = "aa bb\naa bb\ncc\n\ndd\n\ndd\n";
        close(figure(text, "duplicate_lines"), 2.0 / 5.0);
        close(
            figure(text, "duplicate_line_chars"),
            7.0 / chars(text) as f64,
        );
        close(figure(text, "duplicate_paragraphs"), 1.0 / 3.0);
        // "aa bb" twice: 8 of the 14 characters of words.
        close(figure(text, "top_2_gram_chars"), 8.0 / 14.0);
        let words: String = "a b c d e ".repeat(4);
        close(figure(&words, "duplicate_5_gram_chars"), 15.0 / 20.0);
        close(figure("a b c d e f g h i j", "duplicate_5_gram_chars"), 0.0);
    }

    #[test]
    fn nothing_has_no_share_of_anything() {
        for text in ["", " \n\n ", "\0"] {
            assert!(row(text).iter().all(|figure| figure.is_finite()));
        }
        assert!(row("").iter().all(|&figure| figure == 0.0));
    }

    #[test]
    fn threads_change_nothing() {
        let texts: Vec<String> = (0..3000).map(|i| format!("w{i} ").repeat(40)).collect();
        let batch = DocumentBatch::from_texts(&texts);
        let one = quality(batch.as_ref(), 1, &mut || true).unwrap();
        assert_eq!(quality(batch.as_ref(), 3, &mut || true).unwrap(), one);
        assert_eq!(one.len(), 3000);
    }
}
