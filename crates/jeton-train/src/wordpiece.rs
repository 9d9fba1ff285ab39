//! WordPiece, by two rules that both go by this name.
//!
//! [`WordPieceRule::Likelihood`] is Schuster and Nakajima's (2012, "Japanese and Korean voice
//! search"). It takes the pair that most raises the likelihood of the text under a unigram model:
//! the one with the greatest `f(ab) / (f(a) f(b))`. It joins what seldom stands apart, so it begins
//! with the rarest characters and needs a minimum frequency to be of use.
//! [`WordPieceRule::Frequency`] is the one that `tokenizers` ships under the name: BPE with a
//! prefix before continuations, the pair with the greatest `f(ab)`.
//!
//! # The rule by likelihood, exactly
//!
//! `f(ab)` is the number of windows of the pair, `f(a)` and `f(b)` are how often the tokens stand
//! in the words as they are cut now, all with weights. The quotient is taken in double precision;
//! among equals the more frequent pair wins, then the one with the lower left id, then the lower
//! right id. Everything else is as in [`super::char_bpe`].
//!
//! A merge lowers `f(a)` and `f(b)`, so the scores of other pairs with `a` and `b` rise. These
//! pairs are queued again with their new score; outdated entries are dropped when they come up.
//! Cost: for each merge its places, and the pairs of its two parts times the logarithm of the
//! queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use hashbrown::HashMap;

use jeton_core::error::{ErrorKind, Result};
use jeton_core::vocab::hasher;

use super::alphabet::AlphabetOptions;
use super::char_bpe::{
    CharBpe, CharTieRule, LearnedChars, TrainedChars, first_pairs, first_symbols, learn,
};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::pairs::{Change, Pair};
use super::rules::StopReason;
use super::symbols::{Spelling, Symbols, Words, joined};

/// Rule for the next pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordPieceRule {
    /// The most frequent one, as `tokenizers` has it.
    #[default]
    Frequency,
    /// The one that raises the likelihood most.
    Likelihood,
}

/// How to train `WordPiece`.
#[derive(Clone, Debug)]
pub struct WordPieceTrainOptions {
    /// Tokens wanted, special tokens and the alphabet included.
    pub vocab_size: usize,
    /// Pairs that occur less often are not merged. 0 and 1 mean the same.
    pub min_frequency: u64,
    /// Special tokens, with the ids 0, 1 ... in this order.
    pub special_tokens: Vec<String>,
    /// Longest token in characters, the prefix left out.
    pub max_token_chars: Option<usize>,
    /// Rule for the characters that become tokens.
    pub alphabet: AlphabetOptions,
    /// Stands before tokens that continue a word.
    pub prefix: String,
    /// Rule for the next pair.
    pub rule: WordPieceRule,
}

/// Learn a `WordPiece` vocabulary from counts. The result depends on the counts and the options
/// only.
///
/// Errors: as [`train_char_bpe`](super::train_char_bpe).
pub fn train_wordpiece(
    counts: &PretokenCounts,
    options: &WordPieceTrainOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedChars> {
    let symbols = first_symbols(
        counts,
        options.vocab_size,
        &options.special_tokens,
        &options.alphabet,
    )?;
    let spelling = Spelling {
        continuing_prefix: options.prefix.clone(),
        ..Spelling::default()
    };
    let loop_options = CharBpe {
        n_tokens: options.vocab_size,
        min_frequency: options.min_frequency,
        max_chars: options.max_token_chars.unwrap_or(usize::MAX),
        spelling: &spelling,
        tie_rule: CharTieRule::LowerIds,
        allow: &|_| true,
        n_others: 0,
    };
    let learned = match options.rule {
        WordPieceRule::Frequency => learn(counts, symbols, &loop_options, on_progress)?,
        WordPieceRule::Likelihood => {
            learn_by_likelihood(counts, symbols, &loop_options, on_progress)?
        }
    };
    Ok(TrainedChars {
        tokens: learned.symbols.into_texts(),
        n_special: options.special_tokens.len(),
        merges: learned.merges,
        stop: learned.stop,
    })
}

/// `f(ab) / (f(a) f(b))`.
#[inline]
pub(crate) fn likelihood_score(pair: u64, left: u64, right: u64) -> f64 {
    pair as f64 / (left as f64 * right as f64)
}

/// A pair in the queue. The order of its fields is the rule's. A score is positive, so its bits
/// rise with it.
type Entry = (u64, u64, Reverse<u32>, Reverse<u32>);

struct State {
    pairs: HashMap<(u32, u32), Pair, foldhash::fast::FixedState>,
    /// How often each symbol stands in the words.
    frequency: Vec<u64>,
    /// Symbols that have stood right of each symbol, and left of it.
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    queue: BinaryHeap<Entry>,
    min_count: i64,
}

impl State {
    fn entry(&self, pair: (u32, u32), count: i64) -> Entry {
        let count = count.cast_unsigned();
        let (left, right) = (
            self.frequency[pair.0 as usize],
            self.frequency[pair.1 as usize],
        );
        let score = likelihood_score(count, left, right);
        (score.to_bits(), count, Reverse(pair.0), Reverse(pair.1))
    }

    fn push(&mut self, pair: (u32, u32)) {
        if let Some(found) = self.pairs.get(&pair)
            && found.count >= self.min_count
        {
            let entry = self.entry(pair, found.count);
            self.queue.push(entry);
        }
    }

    fn lower(&mut self, pair: (u32, u32), by: i64) {
        if let Some(found) = self.pairs.get_mut(&pair) {
            found.count -= by;
            if found.count < self.min_count {
                self.pairs.remove(&pair);
            }
        }
    }

    /// Queue every pair with a symbol whose frequency has changed.
    fn push_all_with(&mut self, symbol: u32) {
        // Partners whose pair is gone never come back: drop them on the way.
        let mut after = std::mem::take(&mut self.after[symbol as usize]);
        after.retain(|&right| {
            self.push((symbol, right));
            self.pairs.contains_key(&(symbol, right))
        });
        self.after[symbol as usize] = after;
        let mut before = std::mem::take(&mut self.before[symbol as usize]);
        before.retain(|&left| {
            self.push((left, symbol));
            self.pairs.contains_key(&(left, symbol))
        });
        self.before[symbol as usize] = before;
    }

    fn insert(&mut self, pair: (u32, u32), found: Pair) {
        self.pairs.insert(pair, found);
        self.after[pair.0 as usize].push(pair.1);
        self.before[pair.1 as usize].push(pair.0);
    }
}

/// Merges between two reports.
const MERGES_PER_REPORT: usize = 256;

fn learn_by_likelihood(
    counts: &PretokenCounts,
    mut symbols: Symbols,
    options: &CharBpe<'_>,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LearnedChars> {
    let frequency = Words::frequencies(counts, options.spelling, &mut symbols)?;
    let mut words = Words::new(counts, options.spelling, &mut symbols)?;
    let min_count = options.min_frequency.max(1);
    let mut state = State {
        pairs: HashMap::with_hasher(hasher()),
        after: vec![Vec::new(); frequency.len()],
        before: vec![Vec::new(); frequency.len()],
        frequency,
        queue: BinaryHeap::new(),
        min_count: i64::try_from(min_count).unwrap_or(i64::MAX),
    };
    let mut postings = Vec::new();
    if options.max_chars >= 2 {
        let (mut pairs, places, candidates) = first_pairs(&words, min_count);
        postings = places;
        for first in candidates {
            let pair = (first.left, first.right);
            if let Some(found) = pairs.remove(pair) {
                state.insert(pair, found);
                state.push(pair);
            }
        }
    }
    let mut merges = Vec::new();
    let mut report = |symbols: &Symbols| -> Result<()> {
        let progress = Progress {
            n_tokens: symbols.len(),
            vocab_size: options.n_tokens,
        };
        match on_progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Interrupted.into()),
        }
    };
    report(&symbols)?;
    let stop = 'learning: loop {
        if symbols.len() >= options.n_tokens {
            break StopReason::VocabFull;
        }
        let (pair, found, text) = loop {
            let Some(entry) = state.queue.pop() else {
                break 'learning StopReason::NoPairLeft;
            };
            let pair = (entry.2.0, entry.3.0);
            let Some(&found) = state.pairs.get(&pair) else {
                continue;
            };
            if state.entry(pair, found.count) != entry {
                continue; // out of date: what it is worth now was queued when that changed
            }
            state.pairs.remove(&pair);
            let text = joined(symbols.text(pair.0), symbols.text(pair.1), options.spelling);
            if symbols.id(&text).is_none() && (options.allow)(&text) {
                break (pair, found, text);
            }
        };
        let (left, right) = pair;
        let n_chars = symbols.n_chars(left) + symbols.n_chars(right);
        let new = symbols.insert(text, n_chars);
        merges.push((left, right, new));
        let places = found.start as usize..found.start as usize + found.len as usize;
        let n_joined = words
            .join_everywhere(
                (left, right, new),
                &postings[places],
                &symbols,
                options.max_chars,
            )
            .cast_unsigned();
        state.frequency.push(n_joined);
        state.after.push(Vec::new());
        state.before.push(Vec::new());
        for part in [left, right] {
            state.frequency[part as usize] -= n_joined;
        }
        let lowered = |change: &&Change| change.lost > 0;
        for change in words.left_side.changes().iter().filter(lowered) {
            state.lower((change.neighbour, left), change.lost);
        }
        for change in words.right_side.changes().iter().filter(lowered) {
            state.lower((right, change.neighbour), change.lost);
        }
        for (side, is_left) in [(&mut words.left_side, true), (&mut words.right_side, false)] {
            let min_count = state.min_count;
            let wanted = |change: &Change| change.gained >= min_count;
            let mut start = side.write_positions(&mut postings, wanted);
            for change in side.changes().iter().filter(|&change| wanted(change)) {
                let pair = if is_left {
                    (change.neighbour, new)
                } else {
                    (new, change.neighbour)
                };
                let found = Pair {
                    count: change.gained,
                    start,
                    len: change.n_positions,
                };
                state.insert(pair, found);
                start += change.n_positions;
            }
        }
        state.push_all_with(left);
        if right != left {
            state.push_all_with(right);
        }
        state.push_all_with(new);
        if merges.len().is_multiple_of(MERGES_PER_REPORT) {
            report(&symbols)?;
        }
    };
    report(&symbols)?;
    Ok(LearnedChars {
        symbols,
        merges,
        stop,
    })
}
