//! The first vocabulary of Unigram: strings that occur again and again, found by sorting all
//! suffixes.
//!
//! A candidate is a string of two characters and more that the rules allow and that occurs at least
//! twice. Different things follow it in different places; the end of a word counts as a different
//! thing each time. A longer string that occurs equally often makes a shorter one worthless. These
//! are the inner nodes of the suffix tree of the weighted words, and its leaves. Its score is its
//! frequency times its characters; the best ones are taken.
//!
//! Suffixes are sorted in groups that begin with the same two bytes, each group by itself. So
//! memory is 4 bytes a character, and threads need not wait for one another. A suffix is looked at
//! as far as a piece may be long; strings of just that length are candidates even where nothing
//! different follows.
//!
//! Cost: sorting, O(n log n) comparisons of up to the length of a piece.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::corpus::Corpus;
use crate::sentences::PieceRules;

/// A string of the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed {
    /// Frequency times characters.
    pub(super) score: u128,
    pub(super) start: u32,
    /// In bytes.
    pub(super) len: u16,
}

impl Seed {
    pub(super) fn text<'a>(&self, corpus: &'a Corpus) -> &'a [u8] {
        &corpus.bytes()[self.start as usize..self.start as usize + usize::from(self.len)]
    }
}

#[derive(Clone, Copy)]
struct Suffix {
    /// The eight bytes behind the first two, zeros behind the end.
    key: u64,
    start: u32,
    len: u16,
}

const N_GROUPS: usize = 1 << 16;

#[inline]
pub(super) fn begins_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Where each word's suffixes are, and how far each is looked at.
struct Suffixes<'a> {
    corpus: &'a Corpus,
    word_of: Vec<u32>,
    max_chars: usize,
}

impl Suffixes<'_> {
    fn len_at(&self, start: usize) -> usize {
        let (_, end) = self.corpus.range(self.word_of[start] as usize);
        let rest = &self.corpus.bytes()[start..end];
        let mut n_chars = 0;
        for (at, &byte) in rest.iter().enumerate() {
            if begins_char(byte) {
                if n_chars == self.max_chars {
                    return at;
                }
                n_chars += 1;
            }
        }
        rest.len()
    }

    fn suffix(&self, start: u32) -> Suffix {
        let len = self.len_at(start as usize);
        let mut key = [0; 8];
        let from = start as usize + len.min(2);
        let to = start as usize + len.min(10);
        key[..to - from].copy_from_slice(&self.corpus.bytes()[from..to]);
        Suffix {
            key: u64::from_be_bytes(key),
            start,
            len: len as u16,
        }
    }

    fn text(&self, suffix: &Suffix) -> &[u8] {
        &self.corpus.bytes()[suffix.start as usize..suffix.start as usize + usize::from(suffix.len)]
    }

    /// Candidates among the suffixes of one group.
    fn candidates(&self, starts: &[u32], rules: &PieceRules, min_frequency: u64) -> Vec<Seed> {
        let mut suffixes: Vec<Suffix> = starts.iter().map(|&start| self.suffix(start)).collect();
        suffixes.sort_unstable_by(|a, b| {
            a.key
                .cmp(&b.key)
                .then_with(|| self.text(a).cmp(self.text(b)))
        });
        let mut found = Vec::new();
        let mut chars = Vec::new();
        let mut emit = |suffix: &Suffix, depth: usize, frequency: u64| {
            if frequency < min_frequency {
                return;
            }
            let text = &self.text(suffix)[..depth];
            chars.clear();
            chars.extend(std::str::from_utf8(text).unwrap_or_default().chars());
            if chars.len() >= 2 && rules.allow(&chars) {
                found.push(Seed {
                    score: u128::from(frequency) * chars.len() as u128,
                    start: suffix.start,
                    len: depth as u16,
                });
            }
        };
        // Open nodes: depth in bytes, rising, and the weight of the suffixes below that are closed.
        let mut open: Vec<(usize, u64)> = Vec::new();
        for (at, suffix) in suffixes.iter().enumerate() {
            if at > 0 {
                let before = &suffixes[at - 1];
                let shared = shared_chars(self.text(before), self.text(suffix));
                close(&mut open, shared, |depth, weight| {
                    emit(before, depth, weight);
                });
            }
            let weight = self
                .corpus
                .weight(self.word_of[suffix.start as usize] as usize);
            let depth = usize::from(suffix.len);
            match open.last_mut() {
                Some(last) if last.0 == depth => last.1 = last.1.saturating_add(weight),
                _ => open.push((depth, weight)),
            }
        }
        if let Some(last) = suffixes.last() {
            close(&mut open, 0, |depth, weight| emit(last, depth, weight));
        }
        found
    }
}

/// Close every open node deeper than `depth`; what they hold goes to the one at `depth`.
fn close(open: &mut Vec<(usize, u64)>, depth: usize, mut emit: impl FnMut(usize, u64)) {
    let mut below = 0u64;
    while let Some(&(at, weight)) = open.last()
        && at > depth
    {
        open.pop();
        below = below.saturating_add(weight);
        emit(at, below);
    }
    if below > 0 && depth > 0 {
        match open.last_mut() {
            Some(last) if last.0 == depth => last.1 = last.1.saturating_add(below),
            _ => open.push((depth, below)),
        }
    }
}

/// Bytes of the characters that two texts begin with.
fn shared_chars(a: &[u8], b: &[u8]) -> usize {
    let mut shared = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    // Not in the middle of a character.
    while shared > 0
        && (a.get(shared).is_some_and(|&byte| !begins_char(byte))
            || b.get(shared).is_some_and(|&byte| !begins_char(byte)))
    {
        shared -= 1;
    }
    shared
}

/// The best candidates, by falling score, then longer ones first, then by their bytes.
pub(super) fn find(
    corpus: &Corpus,
    rules: &PieceRules,
    max_chars: usize,
    min_frequency: u64,
    n_wanted: usize,
    num_threads: usize,
) -> Vec<Seed> {
    let bytes = corpus.bytes();
    let mut word_of = vec![0u32; bytes.len()];
    for word in 0..corpus.len() {
        let (start, end) = corpus.range(word);
        word_of[start..end].fill(word as u32);
    }
    // A counting sort of all places at which a character begins, by the two bytes there.
    let group = |at: usize| {
        let (_, end) = corpus.range(word_of[at] as usize);
        let second = if at + 1 < end { bytes[at + 1] } else { 0 };
        usize::from(bytes[at]) << 8 | usize::from(second)
    };
    let places = || (0..bytes.len()).filter(|&at| begins_char(bytes[at]));
    let mut ends = vec![0u32; N_GROUPS + 1];
    for at in places() {
        ends[group(at) + 1] += 1;
    }
    for index in 0..N_GROUPS {
        ends[index + 1] += ends[index];
    }
    let mut starts = vec![0u32; ends[N_GROUPS] as usize];
    let mut cursors = ends.clone();
    for at in places() {
        let cursor = &mut cursors[group(at)];
        starts[*cursor as usize] = at as u32;
        *cursor += 1;
    }
    drop(cursors);
    let suffixes = Suffixes {
        corpus,
        word_of,
        max_chars: max_chars.min(512), // what the reference allows; lengths in bytes fit 16 bits
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let group = next.fetch_add(1, Ordering::Relaxed);
            if group >= N_GROUPS {
                return found;
            }
            let range = ends[group] as usize..ends[group + 1] as usize;
            if !range.is_empty() {
                found.extend(suffixes.candidates(&starts[range], rules, min_frequency));
                // Memory for the best ones only, however many there are.
                if found.len() > 4 * n_wanted.max(1 << 16) {
                    best(&mut found, corpus, n_wanted);
                }
            }
        }
    };
    let mut found = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..num_threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut found = work();
        for helper in helpers {
            match helper.join() {
                Ok(others) => found.extend(others),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
        found
    });
    best(&mut found, corpus, n_wanted);
    found.sort_unstable_by(|a, b| order(a, b, corpus));
    found
}

/// A total order: no two candidates have the same text.
fn order(a: &Seed, b: &Seed, corpus: &Corpus) -> std::cmp::Ordering {
    b.score
        .cmp(&a.score)
        .then_with(|| b.len.cmp(&a.len))
        .then_with(|| a.text(corpus).cmp(b.text(corpus)))
}

fn best(found: &mut Vec<Seed>, corpus: &Corpus, n_wanted: usize) {
    if found.len() > n_wanted {
        if n_wanted > 0 {
            found.select_nth_unstable_by(n_wanted - 1, |a, b| order(a, b, corpus));
        }
        found.truncate(n_wanted);
    }
}
