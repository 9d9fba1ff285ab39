//! Byte-level BPE on counts that do not fit in memory: the same merges, learned in rounds.
//!
//! # Why a round is exact
//!
//! Let all merges so far be applied to all words, and let `floor` be a number. The count of a pair
//! never rises once it exists. Let a pair (x, y) stand at some place later. Now two tokens stand
//! there: the last one of x's text and the first one of y's. This pair of tokens of now stands at
//! equally many places or more. So let a pair of tokens now stand at fewer than `floor` places
//! (with weights). While merges of counts of `floor` and more are looked for, it parts its words
//! for good. Cutting all words there loses none of these merges and changes none of their counts. A
//! run of equal tokens is cut everywhere or nowhere, so that joining it from the left stays the
//! same.
//!
//! A round streams all words, applies the merges of the last round, and cuts words where pairs are
//! rarer than the floor. It then counts the fragments. They are far fewer than words: the many
//! distinct words of a corpus are mostly junk, and junk is made of rare pairs. On the fragments all
//! merges of a count of `floor` and more are made. Then comes a round with a lower floor.
//!
//! # Why memory is bounded
//!
//! Frequent pairs are counted exactly (`pairs`), and the most frequent of them are few. If
//! fragments have no room, the floor is raised and they are cut again, up to the places of the most
//! frequent pair alone. Each round has a lower floor than the one before.
//!
//! Words lie beside memory as tokens, in two copies while one becomes the next (`words`).
//!
//! Cost: two or three passes over them for each round, about as many rounds as the counts of merges
//! halve a few times; see `benches`.

mod fragments;
mod merging;
mod pairs;
#[cfg(test)]
mod tests;
mod words;

use std::ops::ControlFlow;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::models::bpe::MergeList;

use self::fragments::{Fragments, Lengths};
use self::merging::Merging;
use self::pairs::{PairBuckets, PairCounts};
pub use self::words::Scratch;
use self::words::Words;
use super::bpe::{BpeTrainOptions, TrainedBpe, first_vocab};
use super::learner::{Progress, forbidden_tokens};
use super::rules::{StopReason, no_text};

/// Where words and their counts come from, and what is made of them is kept.
pub trait CountSource {
    /// Calls `visit` with every word and its count, by rising bytes.
    fn each(&mut self, visit: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()>;
    /// Room beside memory, for words as tokens.
    fn scratch(&mut self) -> Result<Box<dyn Scratch>>;
}

/// The first floor of a round is so much below the last one; where there is no room, it is raised.
const FLOOR_STEP: u64 = 1 << 10;

/// Words between two looks at whether to stop.
const WORDS_PER_LOOK: u64 = 1 << 16;

/// Learns merges as [`train_bpe`](super::train_bpe) does, in about `max_memory` bytes. Returns
/// how many rounds it took, too.
///
/// # Errors
///
/// As `train_bpe`; `Training` where even the places of one pair do not fit.
pub fn train_bpe_bounded(
    source: &mut dyn CountSource,
    options: &BpeTrainOptions,
    max_memory: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(TrainedBpe, usize)> {
    check(options)?;
    let mut vocab = first_vocab(options)?;
    let mut id_of_byte = [0; 256];
    for byte in 0..=u8::MAX {
        id_of_byte[usize::from(byte)] = vocab
            .bytes_to_id(&[byte])
            .ok_or_else(|| Error::training(format!("the vocabulary lacks the byte {byte}")))?;
    }
    let forbidden = forbidden_tokens(
        options.special_tokens.iter().map(String::as_str),
        &options.forbidden_tokens,
    );
    let mut merges: Vec<(u32, u32, u32)> = Vec::new();
    let mut report = |n_tokens: usize| match on_progress(Progress {
        n_tokens,
        vocab_size: options.vocab_size,
    }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::from(ErrorKind::Interrupted)),
    };
    let lowest = options.min_frequency.max(1);
    let (mut last_floor, mut n_rounds) = (None, 0);
    let mut words: Option<Words> = None;
    let mut n_applied = 0;
    let stop = loop {
        let n_tokens = vocab.size() as usize;
        if n_tokens >= options.vocab_size {
            break StopReason::VocabFull;
        }
        report(n_tokens)?;
        let mut n_looks = 0_u64;
        let mut look = || -> Result<()> {
            n_looks += 1;
            if n_looks.is_multiple_of(WORDS_PER_LOOK) {
                report(n_tokens)?;
            }
            Ok(())
        };
        let lengths = Lengths::new(&vocab, options.max_token_bytes);
        let mut pairs = PairCounts::new(max_memory / 8, 1);
        let mut buckets = PairBuckets::new(max_memory / 4);
        let mut has_all = true;
        let mut next = Words::new(source.scratch()?);
        let mut add = |tokens: &[u32], count| {
            look()?;
            for (left, right) in lengths.pairs_of(tokens) {
                has_all = has_all && pairs.add(left, right, count)?;
                buckets.add(left, right, count)?;
            }
            next.push(tokens, count)
        };
        if let Some(words) = &mut words {
            // A merge joins tokens of merges before it: none becomes possible by a later one, so
            // that the new ones can be applied to words as those before left them.
            let mut joined = MergeList::new(&merges[n_applied..]);
            words.each(&mut |tokens, count| {
                joined.apply(tokens);
                add(tokens, count)
            })?;
        } else {
            let (mut tokens, mut has_words) = (Vec::new(), false);
            source.each(&mut |word, count| {
                has_words = true;
                tokens.clear();
                tokens.extend(word.iter().map(|&byte| id_of_byte[usize::from(byte)]));
                add(&tokens, count)
            })?;
            if !has_words {
                return Err(no_text());
            }
        }
        next.finish()?;
        let words = words.insert(next);
        n_applied = merges.len();
        if !has_all {
            pairs = PairCounts::new(max_memory / 8, lowest);
            words.each(&mut |tokens, count| {
                look()?;
                let mut adjacent = lengths.pairs_of(tokens);
                adjacent.try_for_each(|(left, right)| pairs.add_if(left, right, count, &buckets))
            })?;
        }
        drop(buckets);
        // All pairs of the last floor and more are merged, or never will be.
        let below = last_floor.map_or(u64::MAX, |last: u64| last - 1);
        let top = pairs.most().min(below);
        if top < lowest && pairs.least() <= lowest {
            break StopReason::NoPairLeft;
        }
        let least = pairs.least().max(lowest);
        if top < least {
            return Err(Error::training(format!(
                "{max_memory} bytes of memory are too few to tell the most frequent pairs apart\n\
                 hint: allow more memory"
            )));
        }
        let wanted = (last_floor.unwrap_or(top) / FLOOR_STEP).max(least);
        let mut fragments =
            Fragments::new(pairs, &lengths, words.len(), wanted..=top, max_memory / 2);
        words.each(&mut |tokens, count| {
            look()?;
            fragments.add(tokens, count)
        })?;
        let floor = fragments.floor();
        n_rounds += 1;
        let merging = Merging::new(fragments, floor, options)?;
        let is_full = merging.run(&mut vocab, &mut merges, &forbidden, &mut report)?;
        if is_full {
            break StopReason::VocabFull;
        }
        if floor <= lowest {
            break StopReason::NoPairLeft;
        }
        last_floor = Some(floor);
    };
    report(vocab.size() as usize)?;
    let trained = TrainedBpe {
        tokens: vocab.iter().map(|(_, bytes)| bytes.to_vec()).collect(),
        n_special: options.special_tokens.len(),
        merges,
        stop,
    };
    Ok((trained, n_rounds))
}

/// Refuses what learning in rounds does not know.
fn check(options: &BpeTrainOptions) -> Result<()> {
    let unknown = [
        (!options.forced_tokens.is_empty(), "forced tokens"),
        (options.max_alphabet.is_some(), "a limit on the alphabet"),
        (!options.resume.is_empty(), "going on from merges"),
    ];
    for (is_asked, what) in unknown {
        if is_asked {
            return Err(Error::training(format!(
                "{what}: not possible where the counts do not fit in memory\n\
                 hint: allow more memory, or leave rare pretokens out with min_count"
            )));
        }
    }
    Ok(())
}
