//! Superword BPE: tokens of several words, learned after those within words.
//!
//! Text is cut into *phrases*, within which tokens may span words, and phrases into *words*. In the
//! first stage merges are learned from words, as in [`super::bpe`], until the vocabulary has
//! `transition_size` tokens. In the second they go on over phrases, across the ends of words
//! (SuperBPE: Liu et al. 2025, arXiv:2503.13423). The result is a plain list of merges that applies
//! to phrases: no encoder has to know of words or stages.
//!
//! # What is learned, exactly
//!
//! 1. Stage one is [`train_bpe`](super::train_bpe) on the words of all phrases, each as often as it
//!    occurs, with `transition_size` as its size. A word is a part into which the split cuts a
//!    phrase alone.
//! 2. Stage two begins with the tokens that the merges of stage one make of each *phrase*. Where
//!    they would join across the end of a word they do, since an encoder does not see words.
//! 3. It goes on with the same rules on phrases, with two more. No token has more than `max_words`
//!    words (runs without white space). With `whole_words`, only sequences of two and more whole
//!    words count: a token one end of which is within a word stops them. arXiv:2604.05192 (Faster
//!    superword tokenization) learns superwords from counts in this way. These sequences repeat, so
//!    they are few, and no superword is learned from the beginning of a longer word.
//!
//! # Cost
//!
//! Distinct phrases have to fit in memory: 4 bytes a word and 12 a token beside their text. Words
//! are cut on all threads; the merges run on one.

use std::hash::BuildHasher;
use std::ops::ControlFlow;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::hasher;

use super::bpe::{
    BpeTrainOptions, TrainedBpe, complete, first_vocab, learner_of, require_text, settings_of,
};
use super::cells::Cells;
use super::counts::{PretokenCounts, SplitFn};
use super::engine::{Learned, Resume, ids_of_bytes, learn};
use super::learner::Progress;
use super::rules::StopReason;
use super::units::Units;

/// How to train superwords.
#[derive(Clone, Debug)]
pub struct SuperwordOptions {
    /// Options of both stages; `vocab_size` is the size of the whole.
    pub bpe: BpeTrainOptions,
    /// Tokens, special tokens and bytes included, at which merges begin to cross the ends of words.
    pub transition_size: usize,
    /// Most words of a token, at least 1.
    pub max_words: usize,
    /// Learn superwords from sequences of whole words only.
    pub whole_words: bool,
}

/// Result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedSuperwords {
    /// Tokens and merges of both stages, which apply to phrases.
    pub bpe: TrainedBpe,
    /// Number of the merges that come from the first stage.
    pub n_word_merges: usize,
}

/// Learn merges from phrases. The result depends on phrases, split and options only.
///
/// `words` cuts a phrase into words and keeps all of it. `on_progress` as in [`super::train_bpe`].
///
/// # Errors
///
/// As [`super::train_bpe`]; `Training` for a transition that is beyond the size or before the
/// bytes, no words in a token, or a split that leaves something out.
pub fn train_superwords(
    phrases: &PretokenCounts,
    words: &SplitFn<'_>,
    options: &SuperwordOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedSuperwords> {
    let trained = train_superwords_until(phrases, words, options, num_threads, on_progress)?;
    if trained.bpe.stop == StopReason::Interrupted {
        return Err(ErrorKind::Interrupted.into());
    }
    Ok(trained)
}

/// Trains as `train_superwords` does, but `Break` is no error, as in [`super::train_bpe_until`].
///
/// # Errors
///
/// As [`train_superwords`], without `Interrupted`.
pub fn train_superwords_until(
    phrases: &PretokenCounts,
    words: &SplitFn<'_>,
    options: &SuperwordOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedSuperwords> {
    let bpe = &options.bpe;
    let vocab = first_vocab(bpe)?;
    check(options, vocab.size() as usize)?;
    require_text(phrases)?;
    let limited;
    let phrases = match bpe.max_alphabet {
        None => phrases,
        Some(n_chars) => {
            limited = super::frequent::limited(phrases, n_chars)?;
            &limited
        }
    };
    let mut learner = learner_of(bpe, &vocab, on_progress)?;
    let n_first = vocab.size() as usize;
    let started = learner.report(n_first);
    let units = Units::new(phrases, words, num_threads)?;

    // Stage one, on units: units of several words have no weight.
    learner.vocab_size = options.transition_size;
    let id_of_byte = ids_of_bytes(&vocab)?;
    let mut cells = Cells::with_capacity(units.n_bytes(), units.iter().len());
    let mut row = Vec::new();
    for (unit, weight) in units.iter() {
        row.clear();
        row.extend(unit.iter().map(|&byte| id_of_byte[usize::from(byte)]));
        cells.push(&row, weight)?;
    }
    let settings = settings_of(bpe);
    let n_in_first = bpe.resume.len().min(options.transition_size - n_first);
    let (resume, later) = bpe.resume.split_at(n_in_first);
    let mut first = learn(
        cells,
        vocab,
        settings,
        &mut learner,
        Resume::AsFarAsItGoes(resume),
    )?;
    if started.is_break() {
        first.stop = StopReason::Interrupted;
    }
    let n_word_merges = first.merges.len();
    if first.stop == StopReason::Interrupted {
        let bpe = complete(first, &mut learner, bpe)?;
        return Ok(TrainedSuperwords { bpe, n_word_merges });
    }
    // Where words ran out of pairs before the transition, what was resumed has superwords already.
    let n_resumed = first.n_resumed;
    if n_resumed < resume.len() && n_resumed < n_word_merges {
        return Err(Error::training(
            "the run to go on with is one on other text\n\
             hint: resume with the inputs and settings of that run",
        ));
    }
    let later: Vec<(u32, u32)> = resume[n_resumed..].iter().chain(later).copied().collect();

    // Stage two, on phrases.
    let cells = rows_of_phrases(&units, &first, options.whole_words)?;
    drop(units);
    learner.vocab_size = bpe.vocab_size;
    learner.max_words = options.max_words;
    let Learned {
        vocab, mut merges, ..
    } = first;
    let mut second = learn(cells, vocab, settings, &mut learner, Resume::All(&later))?;
    merges.append(&mut second.merges);
    second.merges = merges;
    let bpe = complete(second, &mut learner, bpe)?;
    Ok(TrainedSuperwords { bpe, n_word_merges })
}

fn check(options: &SuperwordOptions, n_first: usize) -> Result<()> {
    let (transition, size) = (options.transition_size, options.bpe.vocab_size);
    if transition < n_first || transition > size {
        return Err(Error::training(format!(
            "transition_size is {transition}; it should be from {n_first}, the special tokens and the bytes, \
             to the vocab_size {size}"
        )));
    }
    if options.max_words == 0 {
        return Err(Error::training("max_words is 0; it should be at least 1"));
    }
    Ok(())
}

/// The tokens of each phrase, or of the sequences of whole words in it.
fn rows_of_phrases(units: &Units, first: &Learned, whole_words: bool) -> Result<Cells> {
    let mut tokens = Vec::new();
    let mut ends = Vec::new();
    first.for_each_row(|_, row| {
        tokens.extend_from_slice(row);
        ends.push(tokens.len());
    });
    let tokens_of = |unit: u32| {
        let unit = unit as usize;
        let start = unit.checked_sub(1).map_or(0, |before| ends[before]);
        &tokens[start..ends[unit]]
    };
    let n_bytes_of = |id: u32| first.sizes[id as usize].n_bytes as usize;
    let mut rows = Rows::default();
    let mut row = Vec::new();
    for (phrase, weight) in units.phrases() {
        row.clear();
        for &unit in phrase {
            let tokens = tokens_of(unit);
            match units.word_ends(unit) {
                _ if !whole_words => row.extend_from_slice(tokens),
                None if tokens.len() == 1 => row.push(tokens[0]),
                None => rows.end(&mut row, weight),
                Some(word_ends) => {
                    let (mut start, mut starts_word) = (0, true);
                    for &token in tokens {
                        start += n_bytes_of(token);
                        let ends_word = word_ends.binary_search(&start).is_ok();
                        if starts_word && ends_word {
                            row.push(token);
                        } else {
                            rows.end(&mut row, weight);
                        }
                        starts_word = ends_word;
                    }
                }
            }
        }
        rows.end(&mut row, weight);
    }
    rows.into_cells()
}

/// Distinct sequences of tokens with their weights.
#[derive(Default)]
#[allow(clippy::struct_field_names)] // what they are
struct Rows {
    tokens: Vec<u32>,
    /// (where it ends, weight).
    rows: Vec<(u64, u64)>,
    table: HashTable<u32>,
}

impl Rows {
    /// Add a sequence, if it has a pair, and empty it.
    fn end(&mut self, row: &mut Vec<u32>, weight: u64) {
        if row.len() > 1 {
            self.add(row, weight);
        }
        row.clear();
    }

    fn add(&mut self, row: &[u32], weight: u64) {
        let Self {
            tokens,
            rows,
            table,
        } = self;
        let of = |index: u32| range(rows, index as usize);
        let entry = table.entry(
            hasher().hash_one(row),
            |&index| &tokens[of(index)] == row,
            |&index| hasher().hash_one(&tokens[of(index)]),
        );
        match entry {
            Entry::Occupied(occupied) => {
                let known = &mut rows[*occupied.get() as usize].1;
                *known = known.saturating_add(weight);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(rows.len() as u32);
                tokens.extend_from_slice(row);
                rows.push((tokens.len() as u64, weight));
            }
        }
    }

    fn into_cells(self) -> Result<Cells> {
        let mut cells = Cells::with_capacity(self.tokens.len(), self.rows.len());
        for (index, &(_, weight)) in self.rows.iter().enumerate() {
            cells.push(&self.tokens[range(&self.rows, index)], weight)?;
        }
        Ok(cells)
    }
}

fn range(rows: &[(u64, u64)], index: usize) -> std::ops::Range<usize> {
    let start = index.checked_sub(1).map_or(0, |before| rows[before].0);
    start as usize..rows[index].0 as usize
}
