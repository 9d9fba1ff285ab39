//! Documents that are nearly alike: MinHash signatures (Broder 1997) in bands (locality-sensitive
//! hashing, Indyk and Motwani 1998; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets,
//! chapter 3).
//!
//! A document is the set of its shingles, runs of a fixed number of words. Each of `bands x rows`
//! hash functions keeps the least value over the set. Two documents have one function's value in
//! common with a probability equal to the Jaccard similarity of their sets. They resemble one
//! another here where they have all `rows` values of some band in common: for similarity s that has
//! the probability `1 - (1 - s^rows)^bands`. Nothing else is compared.
//!
//! A word is a run of letters, marks and digits in lower case; a letter of a script that puts no
//! spaces between words is one by itself. A document of fewer words than a shingle has is one
//! shingle; one without words resembles nothing. Equal documents in equal order give the same
//! result, on any machine and number of threads.

use std::collections::VecDeque;

use hashbrown::HashMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::characters::table;
use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::hasher;

/// Options of the comparison: the texts' parts, and how close two must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearDuplicateOptions {
    /// Words of a shingle.
    pub shingle_words: usize,
    /// Bands: more find more.
    pub n_bands: usize,
    /// Hash functions of a band: more ask for more likeness.
    pub n_rows: usize,
    /// Chooses the hash functions.
    pub seed: u64,
}

/// Most hash functions, and words of a shingle.
const MAX_FUNCTIONS: usize = 4096;
const MAX_SHINGLE_WORDS: usize = 256;

/// The side of a document that resembles documents of several sides.
pub const BETWEEN: u8 = u8::MAX;

/// Place of a document among near duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Number of the earliest document that it resembles; none: of no earlier one.
    pub resembles: Option<u32>,
    /// Where it belongs: with what it resembles, or where it was to go; [`BETWEEN`] where it
    /// resembles several.
    pub side: u8,
}

/// Documents met so far, by their bands.
#[derive(Debug)]
pub struct NearDuplicates {
    options: NearDuplicateOptions,
    /// A mask and an odd factor of each hash function.
    functions: Vec<(u32, u32)>,
    bands: HashMap<u64, u32, foldhash::fast::FixedState>,
    sides: Vec<u8>,
    n_documents: u32,
}

impl NearDuplicates {
    /// No documents yet.
    ///
    /// Errors: `Usage` for a number that is 0 or too large.
    pub fn new(options: NearDuplicateOptions) -> Result<Self> {
        let n_functions = options.n_bands.saturating_mul(options.n_rows);
        if options.shingle_words == 0 || options.shingle_words > MAX_SHINGLE_WORDS {
            return Err(Error::usage(format!(
                "a shingle of {} words; expected 1 to {MAX_SHINGLE_WORDS}",
                options.shingle_words
            )));
        }
        if n_functions == 0 || n_functions > MAX_FUNCTIONS {
            return Err(Error::usage(format!(
                "{} bands of {} rows; expected 1 to {MAX_FUNCTIONS} hash functions in all",
                options.n_bands, options.n_rows
            )));
        }
        let functions = (0..n_functions as u64)
            .map(|index| {
                let random = xxh3_64_with_seed(&index.to_le_bytes(), options.seed);
                ((random >> 32) as u32, random as u32 | 1)
            })
            .collect();
        Ok(Self {
            options,
            functions,
            bands: HashMap::with_hasher(hasher()),
            sides: Vec::new(),
            n_documents: 0,
        })
    }

    /// Places every document of a batch, in order: each against all before it. `sides`: side of
    /// each document that resembles no other; None: all go to one side. With `keep_all`, documents
    /// that resemble others are remembered as well (but for those between). Otherwise, resembling
    /// only such a document does not count.
    pub fn place(
        &mut self,
        batch: BatchRef<'_>,
        sides: Option<&[u8]>,
        keep_all: bool,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Placed>> {
        if let Some(sides) = sides
            && (sides.len() != batch.len() || sides.contains(&BETWEEN))
        {
            return Err(Error::usage(format!(
                "{} sides for {} documents; expected as many, each below {BETWEEN}",
                sides.len(),
                batch.len()
            )));
        }
        let n_bands = self.options.n_bands;
        let parts = map_documents(batch, threads, keep_going, &|range| {
            let mut keys = Vec::with_capacity(range.len() * n_bands);
            let mut signing = Signing::new(&self.options, &self.functions);
            for document in batch.slice(range.start, range.end).iter() {
                let text = as_text(document)?;
                signing.push_keys(text, &mut keys);
            }
            Ok(keys)
        })?;
        let keys = parts.concat();
        let documents = keys.chunks_exact(n_bands).enumerate();
        documents
            .map(|(index, keys)| {
                let side = sides.and_then(|sides| sides.get(index)).copied();
                self.place_one(keys, side.unwrap_or(0), keep_all)
            })
            .collect()
    }

    fn place_one(&mut self, keys: &[u64], side: u8, keep_all: bool) -> Result<Placed> {
        let number = self.n_documents;
        self.n_documents = number.checked_add(1).ok_or(ErrorKind::TooLarge {
            what: "the number of documents that are compared",
            limit: u64::from(u32::MAX),
        })?;
        let mut placed = Placed {
            resembles: None,
            side,
        };
        // No words: all keys are 0, which a band has once in 2^64.
        if keys.iter().any(|&key| key != 0) {
            for key in keys {
                let Some(&earlier) = self.bands.get(key) else {
                    continue;
                };
                let other = self.sides.get(earlier as usize).copied().unwrap_or(side);
                placed.side = match placed.resembles {
                    None => other,
                    Some(_) if placed.side == other => other,
                    Some(_) => BETWEEN,
                };
                placed.resembles = Some(placed.resembles.map_or(earlier, |a| a.min(earlier)));
            }
            if (keep_all || placed.resembles.is_none()) && placed.side != BETWEEN {
                for &key in keys {
                    self.bands.entry(key).or_insert(number);
                }
            }
        }
        self.sides.push(placed.side);
        Ok(placed)
    }

    /// Documents that were placed.
    pub fn len(&self) -> usize {
        self.sides.len()
    }

    /// True if none was placed.
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.bands.allocation_size() + self.sides.capacity()
    }
}

/// State that a thread needs to make keys.
struct Signing<'a> {
    options: &'a NearDuplicateOptions,
    functions: &'a [(u32, u32)],
    least: Vec<u32>,
    words: VecDeque<u64>,
    word: String,
}

impl<'a> Signing<'a> {
    fn new(options: &'a NearDuplicateOptions, functions: &'a [(u32, u32)]) -> Self {
        Self {
            options,
            functions,
            least: vec![u32::MAX; functions.len()],
            words: VecDeque::new(),
            word: String::new(),
        }
    }

    /// Appends the key of each band of a text; zeros for one without words.
    fn push_keys(&mut self, text: &str, keys: &mut Vec<u64>) {
        self.least.fill(u32::MAX);
        self.words.clear();
        self.word.clear();
        let mut n_words = 0;
        for c in text.chars() {
            let known = table().of(c);
            if known.is_word() || known.is_mark() || known.is_digit() {
                self.word.extend(c.to_lowercase());
                continue;
            }
            n_words += self.end_word();
            if known.is_plain() && known.has_script() {
                self.word.push(c);
                n_words += self.end_word();
            }
        }
        n_words += self.end_word();
        if n_words == 0 {
            keys.resize(keys.len() + self.options.n_bands, 0);
            return;
        }
        if n_words < self.options.shingle_words {
            self.take_shingle();
        }
        for (band, rows) in (1..).zip(self.least.chunks_exact(self.options.n_rows)) {
            let mut bytes = Vec::with_capacity(rows.len() * 4);
            rows.iter()
                .for_each(|row| bytes.extend_from_slice(&row.to_le_bytes()));
            keys.push(xxh3_64_with_seed(&bytes, band));
        }
    }

    /// Ends a word, if one has begun; returns how many ended.
    fn end_word(&mut self) -> usize {
        if self.word.is_empty() {
            return 0;
        }
        if self.words.len() == self.options.shingle_words {
            self.words.pop_front();
        }
        self.words.push_back(xxh3_64(self.word.as_bytes()));
        self.word.clear();
        if self.words.len() == self.options.shingle_words {
            self.take_shingle();
        }
        1
    }

    /// Lets every hash function see the last words.
    fn take_shingle(&mut self) {
        let mut hash = 0_u64;
        for &word in &self.words {
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let hash = ((hash >> 32) ^ hash) as u32;
        for (least, &(mask, factor)) in self.least.iter_mut().zip(self.functions) {
            let mixed = (hash ^ mask).wrapping_mul(factor);
            // The low bits of a product say little: the high ones come down.
            let value = (mixed ^ (mixed >> 16)).wrapping_mul(0x7FEB_352D);
            *least = (*least).min(value ^ (value >> 15));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;

    const OPTIONS: NearDuplicateOptions = NearDuplicateOptions {
        shingle_words: 5,
        n_bands: 14,
        n_rows: 8,
        seed: 1,
    };

    fn words(from: usize, n: usize) -> String {
        (from..from + n).map(|i| format!("word{i} ")).collect()
    }

    fn place(texts: &[String], sides: Option<&[u8]>, threads: usize) -> Vec<Placed> {
        let mut index = NearDuplicates::new(OPTIONS).unwrap();
        let batch = DocumentBatch::from_texts(texts);
        index
            .place(batch.as_ref(), sides, sides.is_some(), threads, &mut || {
                true
            })
            .unwrap()
    }

    #[test]
    fn what_is_nearly_alike_is_found_and_what_is_not_is_not() {
        let base = words(0, 1000);
        let changed = base.replace("word500 ", "other ");
        let loud = base.to_uppercase().replace(' ', ",  ");
        let texts = [
            base.clone(),
            words(5000, 1000),
            changed,
            loud,
            words(0, 300) + &words(9000, 700),
            String::new(),
            "...".to_owned(),
            "two words".to_owned(),
            "Two, words!".to_owned(),
            "中文中文中文中文".to_owned(),
            "中文中文中文中文中文".to_owned(),
        ];
        let found: Vec<_> = place(&texts, None, 1).iter().map(|p| p.resembles).collect();
        let expected = [
            None,
            None,
            Some(0),
            Some(0),
            None,
            None,
            None,
            None,
            Some(7),
            None,
            Some(9),
        ];
        assert_eq!(found, expected);
        assert_eq!(place(&texts, None, 3), place(&texts, None, 1));
    }

    #[test]
    fn the_chance_to_be_found_is_the_one_that_is_stated() {
        // Pairs of sets of 200 shingles of which 180 are common to both: similarity 180 / 220 =
        // 0.818. Shingles of one word make sets easy to choose.
        let options = NearDuplicateOptions {
            shingle_words: 1,
            ..OPTIONS
        };
        let (mut found, n_pairs) = (0_u32, 400);
        for pair in 0..n_pairs {
            let base = pair * 1000;
            let texts = [words(base, 200), words(base + 20, 200)];
            let mut index = NearDuplicates::new(options).unwrap();
            let batch = DocumentBatch::from_texts(&texts);
            let placed = index
                .place(batch.as_ref(), None, false, 1, &mut || true)
                .unwrap();
            found += u32::from(placed[1].resembles.is_some());
        }
        let s: f64 = 180.0 / 220.0;
        let expected = 1.0 - (1.0 - s.powi(8)).powi(14);
        let share = f64::from(found) / n_pairs as f64;
        let error = (expected * (1.0 - expected) / n_pairs as f64).sqrt();
        assert!((share - expected).abs() < 4.0 * error, "{share} {expected}");
    }

    #[test]
    fn alike_documents_are_on_one_side_and_what_joins_both_is_on_none() {
        let (a, b) = (words(0, 1000), words(5000, 1000));
        let texts = [
            a.clone(),
            b.clone(),
            a.clone() + "x",
            b.clone() + "y",
            a.clone() + &b,
            a + "z",
        ];
        let placed = place(&texts, Some(&[0, 1, 1, 0, 0, 1]), 1);
        let sides: Vec<u8> = placed.iter().map(|p| p.side).collect();
        // Half of the fifth is like the first and half like the second: whether it is like enough
        // is up to chance.
        assert_eq!(
            [sides[0], sides[1], sides[2], sides[3], sides[5]],
            [0, 1, 0, 1, 0]
        );
        let mut index = NearDuplicates::new(OPTIONS).unwrap();
        let mut keys = vec![vec![0; 14]; 3];
        keys[0][0] = 1;
        keys[1][1] = 2;
        (keys[2][0], keys[2][1]) = (1, 2);
        // Bands that nothing else has.
        for (i, keys) in keys.iter_mut().enumerate() {
            keys[2..].fill(100 + i as u64);
        }
        (keys[0][1], keys[1][0]) = (7, 8);
        let placed: Vec<_> = [0, 1, 1]
            .iter()
            .zip(&keys)
            .map(|(&side, keys)| index.place_one(keys, side, true).unwrap().side)
            .collect();
        assert_eq!(placed, [0, 1, BETWEEN]);
        assert_eq!(index.len(), 3);
    }

    #[test]
    fn options_that_cannot_be_meant_are_refused() {
        for (shingle_words, n_bands, n_rows) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 100, 100)] {
            let options = NearDuplicateOptions {
                shingle_words,
                n_bands,
                n_rows,
                seed: 0,
            };
            assert!(NearDuplicates::new(options).is_err());
        }
        let mut index = NearDuplicates::new(OPTIONS).unwrap();
        let batch = DocumentBatch::from_texts(["a"]);
        for sides in [&[][..], &[BETWEEN]] {
            let placed = index.place(batch.as_ref(), Some(sides), true, 1, &mut || true);
            assert!(placed.is_err());
        }
    }
}
