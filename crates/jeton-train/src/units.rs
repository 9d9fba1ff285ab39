//! Phrases as sequences of units, whose ends no merge within words can cross.
//!
//! A phrase is cut into words, and words are learned from. But an encoder later has a phrase's
//! bytes only and no words. So a merge may join across the end of a word where the same two bytes
//! stand side by side within another. Words with such a place between them form one unit. So the
//! tokens of a phrase, under merges learned from words, are exactly its units' tokens, one after
//! the other.

use std::hash::BuildHasher;
use std::ops::Range;
use std::thread::ScopedJoinHandle;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use jeton_core::error::{Error, Result};
use jeton_core::vocab::hasher;

use super::counts::{PretokenCounts, SplitFn};

/// Distinct byte strings, numbered as they came.
#[derive(Debug, Default)]
struct Strings {
    arena: Vec<u8>,
    /// Where each ends in the arena.
    ends: Vec<u64>,
    table: HashTable<u32>,
}

impl Strings {
    fn get(&self, id: u32) -> &[u8] {
        &self.arena[self.range(id)]
    }

    fn range(&self, id: u32) -> Range<usize> {
        range_of(&self.ends, id as usize)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn intern(&mut self, bytes: &[u8]) -> u32 {
        let Self { arena, ends, table } = self;
        let of = |id: u32| &arena[range_of(ends, id as usize)];
        let entry = table.entry(
            hasher().hash_one(bytes),
            |&id| of(id) == bytes,
            |&id| hasher().hash_one(of(id)),
        );
        match entry {
            Entry::Occupied(occupied) => *occupied.get(),
            Entry::Vacant(vacant) => {
                let id = ends.len() as u32;
                vacant.insert(id);
                arena.extend_from_slice(bytes);
                ends.push(arena.len() as u64);
                id
            }
        }
    }
}

fn range_of(ends: &[u64], index: usize) -> Range<usize> {
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[index] as usize
}

/// Phrases cut into words or units.
#[derive(Debug, Default)]
pub(crate) struct Units {
    strings: Strings,
    /// Weight of each unit for learning within words: 0 for one of several words.
    weights: Vec<u64>,
    /// The words of the units of several words.
    words_of: hashbrown::HashMap<u32, Vec<u32>, foldhash::fast::FixedState>,
    /// The units of all phrases.
    sequence: Vec<u32>,
    /// End of each phrase's units.
    ends: Vec<u64>,
    phrase_weights: Vec<u64>,
}

impl Units {
    /// Cut phrases into words with `split`, on up to `num_threads` threads.
    ///
    /// Errors: the ones of `split`; `Training` if it leaves out part of a phrase, or a phrase is
    /// not UTF-8.
    pub(crate) fn new(
        phrases: &PretokenCounts,
        split: &SplitFn<'_>,
        num_threads: usize,
    ) -> Result<Self> {
        let phrases: Vec<(&[u8], u64)> = phrases.iter().collect();
        let share = phrases.len().div_ceil(num_threads.max(1)).max(1);
        let mut parts = std::thread::scope(|scope| {
            let helpers: Vec<_> = phrases
                .chunks(share)
                .map(|part| scope.spawn(|| Self::of_part(part, split)))
                .collect();
            helpers
                .into_iter()
                .map(ScopedJoinHandle::join)
                .map(|joined| joined.unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
                .collect::<Result<Vec<_>>>()
        })?
        .into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.append(&part));
        all.join_where_merges_may_cross();
        Ok(all)
    }

    fn of_part(phrases: &[(&[u8], u64)], split: &SplitFn<'_>) -> Result<Self> {
        let mut new = Self::default();
        for &(phrase, weight) in phrases {
            let text = std::str::from_utf8(phrase).map_err(|_| {
                Error::training(
                    "a phrase is cut within a character\n\
                     hint: superwords need a pattern that cuts text, not bytes",
                )
            })?;
            let mut n_bytes = 0;
            split(text, &mut |word| {
                n_bytes += word.len();
                let id = new.strings.intern(word);
                if id as usize == new.weights.len() {
                    new.weights.push(0);
                }
                // The weight of all pretokens together fits u64; the weight of all words need not.
                new.weights[id as usize] = new.weights[id as usize].saturating_add(weight);
                new.sequence.push(id);
            })?;
            if n_bytes != phrase.len() {
                return Err(Error::training(format!(
                    "the split of words keeps {n_bytes} of {} bytes of a phrase; it should keep all",
                    phrase.len()
                )));
            }
            new.ends.push(new.sequence.len() as u64);
            new.phrase_weights.push(weight);
        }
        Ok(new)
    }

    fn append(&mut self, other: &Self) {
        let ids: Vec<u32> = (0..other.strings.len() as u32)
            .map(|id| {
                let here = self.strings.intern(other.strings.get(id));
                if here as usize == self.weights.len() {
                    self.weights.push(0);
                }
                let weight = &mut self.weights[here as usize];
                *weight = weight.saturating_add(other.weights[id as usize]);
                here
            })
            .collect();
        let before = self.sequence.len() as u64;
        self.sequence
            .extend(other.sequence.iter().map(|&id| ids[id as usize]));
        self.ends.extend(other.ends.iter().map(|&end| before + end));
        self.phrase_weights.extend(&other.phrase_weights);
    }

    /// Make one unit of words between which a merge may join.
    fn join_where_merges_may_cross(&mut self) {
        // Every merge joins two bytes that stand side by side in some word.
        let mut beside = vec![false; 1 << 16];
        let index = |left: u8, right: u8| usize::from(left) << 8 | usize::from(right);
        for id in 0..self.strings.len() as u32 {
            for pair in self.strings.get(id).windows(2) {
                beside[index(pair[0], pair[1])] = true;
            }
        }
        let ends_of: Vec<(u8, u8)> = (0..self.strings.len() as u32)
            .map(|id| {
                let bytes = self.strings.get(id);
                // An empty word is interned nowhere: splits give none.
                (
                    bytes.first().copied().unwrap_or(0),
                    bytes.last().copied().unwrap_or(0),
                )
            })
            .collect();
        let (mut read, mut write) = (0, 0);
        let mut joined = Vec::new();
        for phrase in 0..self.ends.len() {
            let end = self.ends[phrase] as usize;
            while read < end {
                let first = read;
                read += 1;
                while read < end {
                    let (before, after) = (self.sequence[read - 1], self.sequence[read]);
                    let (last, next) = (ends_of[before as usize].1, ends_of[after as usize].0);
                    if !beside[index(last, next)] {
                        break;
                    }
                    read += 1;
                }
                let words = &self.sequence[first..read];
                let unit = if words.len() == 1 {
                    words[0]
                } else {
                    joined.clear();
                    for &word in words {
                        joined.extend_from_slice(self.strings.get(word));
                    }
                    // The unit may be a word as well; then it keeps the word's weight.
                    let words = words.to_vec();
                    let unit = self.strings.intern(&joined);
                    if unit as usize == self.weights.len() {
                        self.weights.push(0);
                    }
                    self.words_of.entry(unit).or_insert(words);
                    unit
                };
                self.sequence[write] = unit;
                write += 1;
            }
            self.ends[phrase] = write as u64;
        }
        self.sequence.truncate(write);
    }

    /// Bytes and weight of each unit.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        (0..self.strings.len()).map(|id| (self.strings.get(id as u32), self.weights[id]))
    }

    /// Bytes of all units.
    pub(crate) fn n_bytes(&self) -> usize {
        self.strings.arena.len()
    }

    /// Units and weight of each phrase.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = (&[u32], u64)> {
        (0..self.ends.len()).map(|phrase| {
            (
                &self.sequence[range_of(&self.ends, phrase)],
                self.phrase_weights[phrase],
            )
        })
    }

    /// Where the words of a unit end, in bytes; `None` for a unit of one word.
    pub(crate) fn word_ends(&self, unit: u32) -> Option<Vec<usize>> {
        let words = self.words_of.get(&unit)?;
        let mut end = 0;
        let ends = words.iter().map(|&word| {
            end += self.strings.get(word).len();
            end
        });
        Some(ends.collect())
    }
}
