//! The Unigram language model (Kudo 2018, arXiv:1804.10959), learned from counts.
//!
//! # What is learned, exactly
//!
//! 1. Candidates: all characters of the alphabet, and the strings that `seeds` finds, with
//!    probabilities in proportion to frequency times length.
//! 2. Expectation: how often each piece is used when every word is cut in all ways, each as likely
//!    as it is.
//! 3. Maximization: pieces used less than half a time go, but characters of the alphabet stay (as
//!    if used half a time): the vocabulary has them in the end, so a piece is worth only what they
//!    cannot do. The others get the log probability `digamma(count) - digamma(sum)`, which favours
//!    few pieces (Liang and Klein 2007).
//! 4. After `num_sub_iterations` of both, pieces are pruned down to `shrinking_factor` of them, but
//!    not below 1.1 times the vocabulary. The loss of a piece decides: the likelihood that the text
//!    would lose if each use of it became the best way to cut it into others. Steps 2 to 4 repeat
//!    until 1.1 times the vocabulary is reached.
//! 5. A last pruning leaves the vocabulary. Then the probabilities are made the most likely ones
//!    for that vocabulary, by `num_sub_iterations` rounds without a prior.
//!
//! Up to 4 this is the method of `sentencepiece` 0.2.3 (its default, pruning by loss). Its
//! candidates come from whole sentences and ours from weighted words. Its sums are made in 32 bits
//! and ours in 64. At the end it takes the most probable pieces with their probabilities in the
//! larger vocabulary. So vocabularies differ in some pieces; compare the likelihood of other text.
//!
//! # The same on any number of threads
//!
//! Expected counts are added up as whole numbers of 2^-k (k as large as the text allows): such sums
//! do not depend on the order. Nothing else is shared between words.
//!
//! Cost: an E-step looks at every piece in every distinct word once; memory is 8 bytes a piece and
//! thread besides the words, the candidates and their trie.

mod corpus;
mod lattice;
mod seeds;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::corpus::Corpus;
use self::lattice::{Lattice, Model, Pieces, UNKNOWN};
use jeton_core::error::{Error, ErrorKind, Result};

use super::alphabet::Alphabet;
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::rules::no_text;
use super::sentences::PieceRules;

/// How to train a Unigram model. The names are SentencePiece's.
#[derive(Clone, Debug, PartialEq)]
pub struct UnigramTrainOptions {
    /// Pieces wanted, characters included.
    pub n_pieces: usize,
    /// Candidates besides the characters.
    pub seed_sentencepiece_size: usize,
    /// Share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Rounds of expectation and maximization before each pruning.
    pub num_sub_iterations: usize,
    /// Longest piece in characters.
    pub max_sentencepiece_length: usize,
    /// Strings that occur less often are no candidates; at least 2.
    pub min_frequency: u64,
}

impl UnigramTrainOptions {
    /// SentencePiece's defaults for a vocabulary of this many pieces.
    pub fn new(n_pieces: usize) -> Self {
        Self {
            n_pieces,
            seed_sentencepiece_size: 1_000_000,
            shrinking_factor: 0.75,
            num_sub_iterations: 2,
            max_sentencepiece_length: 16,
            min_frequency: 2,
        }
    }
}

/// Result of training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedUnigram {
    /// Pieces with their log probabilities, by falling probability, then by their bytes.
    pub pieces: Vec<(String, f64)>,
    /// Log probability of the text per character after the last round, all ways to cut it together;
    /// characters outside the alphabet left out.
    pub log_likelihood_per_char: f64,
}

/// Factor by which the vocabulary is larger before the last choice, as `sentencepiece` 0.2.3 has
/// it.
const SPARE: f64 = 1.1;
/// Pieces that are used less often go, as there.
const MIN_USE: f64 = 0.5;
/// Words that a thread takes at a time.
const WORDS_PER_TURN: usize = 1 << 12;

/// Learn pieces from counts. `alphabet`: the characters that the vocabulary is to have, most
/// frequent first; `refused`: strings that must not be pieces.
///
/// # Errors
///
/// `Training`: no text, pretokens that are not UTF-8, or fewer pieces wanted than the alphabet has.
/// `TooLarge`: more text than places can count. `Interrupted`: `on_progress` said so.
pub fn train_unigram(
    counts: &PretokenCounts,
    alphabet: &Alphabet,
    rules: &PieceRules,
    refused: &dyn Fn(&str) -> bool,
    options: &UnigramTrainOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedUnigram> {
    if counts.is_empty() || alphabet.is_empty() {
        return Err(no_text());
    }
    if alphabet.len() > options.n_pieces {
        return Err(Error::training(format!(
            "the vocabulary has room for {} pieces and the alphabet has {} characters\nhint: ask for a larger vocabulary, \
             or lower character_coverage",
            options.n_pieces,
            alphabet.len()
        )));
    }
    let corpus = Corpus::new(counts, alphabet)?;
    let n_threads = num_threads.max(1);
    let mut report = |n_now: usize, n_first: usize| -> Result<()> {
        let progress = Progress {
            n_tokens: n_first.saturating_sub(n_now),
            vocab_size: n_first.saturating_sub(options.n_pieces),
        };
        match on_progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Interrupted.into()),
        }
    };
    report(0, 0)?;
    let mut pieces = first_pieces(&corpus, alphabet, rules, refused, options, n_threads);
    let n_first = pieces.len();
    let n_spare = share_of(options.n_pieces, SPARE);
    // A first guess at the log probability of a byte: an even choice among a hundred.
    let mut shift = 100f64.ln() / 2.0;
    let mut likelihood;
    loop {
        report(pieces.len(), n_first)?;
        likelihood = 0.0;
        for _ in 0..options.num_sub_iterations.max(1) {
            let model = Model::new(&pieces, shift)?;
            let expected = expect(&corpus, &model, pieces.len(), n_threads);
            likelihood = expected.log_likelihood;
            shift = -likelihood / corpus.bytes_with_weights().max(1.0);
            pieces = maximize(&pieces, &expected.counts, alphabet.len());
            report(pieces.len(), n_first)?;
        }
        let model = Model::new(&pieces, shift)?;
        let target = n_spare.max(share_of(pieces.len(), options.shrinking_factor));
        let n_before = pieces.len();
        pieces = prune(
            &corpus,
            &pieces,
            &model,
            (alphabet.len(), target),
            n_threads,
        );
        if pieces.len() <= n_spare || pieces.len() == n_before {
            break;
        }
    }
    report(pieces.len(), n_first)?;
    let model = Model::new(&pieces, shift)?;
    let (wanted, n_characters) = (options.n_pieces, alphabet.len());
    pieces = prune(&corpus, &pieces, &model, (n_characters, wanted), n_threads);
    // The vocabulary stands: what is left is to say how likely its pieces are.
    for _ in 0..options.num_sub_iterations.max(1) {
        let model = Model::new(&pieces, shift)?;
        let expected = expect(&corpus, &model, pieces.len(), n_threads);
        likelihood = expected.log_likelihood;
        pieces = refit(&pieces, &expected.counts);
        report(pieces.len(), n_first)?;
    }
    let pieces = in_order(&pieces);
    report(options.n_pieces, n_first)?;
    Ok(TrainedUnigram {
        pieces,
        log_likelihood_per_char: likelihood / corpus.n_chars as f64,
    })
}

/// Characters and candidates, with log probabilities in proportion to what they cover.
fn first_pieces(
    corpus: &Corpus,
    alphabet: &Alphabet,
    rules: &PieceRules,
    refused: &dyn Fn(&str) -> bool,
    options: &UnigramTrainOptions,
    n_threads: usize,
) -> Pieces {
    let seeds = seeds::find(
        corpus,
        rules,
        options.max_sentencepiece_length,
        options.min_frequency.max(2),
        options.seed_sentencepiece_size,
        n_threads,
    );
    let mut pieces = Pieces::default();
    let mut total = 0.0;
    for &(c, count) in alphabet {
        let count = count.max(1) as f64;
        total += count;
        pieces.push(c.encode_utf8(&mut [0; 4]).as_bytes(), count);
    }
    for seed in seeds {
        let text = seed.text(corpus);
        if !refused(std::str::from_utf8(text).unwrap_or_default()) {
            let score = seed.score as f64;
            total += score;
            pieces.push(text, score);
        }
    }
    let log_total = total.ln();
    for score in &mut pieces.scores {
        *score = score.ln() - log_total;
    }
    pieces
}

struct Expected {
    counts: Vec<f64>,
    log_likelihood: f64,
}

/// Bits behind the point of the log likelihood's sum.
const LIKELIHOOD_BITS: i32 = 24;

/// The E-step.
fn expect(corpus: &Corpus, model: &Model, n_pieces: usize, n_threads: usize) -> Expected {
    // No count can pass the number of characters, so these bits leave room for every sum.
    let bits = 62 - (64 - corpus.n_chars.leading_zeros() as i32);
    let unit = 2f64.powi(bits.clamp(0, 40));
    let likelihood_unit = 2f64.powi(LIKELIHOOD_BITS);
    let (counts, log_likelihood) = in_turns(
        corpus.len(),
        n_threads,
        || (Lattice::default(), vec![0u64; n_pieces], 0i128),
        |(lattice, counts, sum), word| {
            let (text, weight) = corpus.word(word);
            let weight_units = weight as f64 * unit;
            let log_likelihood = lattice.expect(model, text, |id, probability| {
                counts[id as usize] += whole(weight_units * probability);
            });
            *sum += (weight as f64 * log_likelihood * likelihood_unit).round() as i128;
        },
    )
    .into_iter()
    .map(|(_, counts, sum)| (counts, sum))
    .reduce(|(mut counts, sum), (others, other)| {
        for (count, more) in counts.iter_mut().zip(others) {
            *count += more;
        }
        (counts, sum + other)
    })
    .unwrap_or_default();
    Expected {
        counts: counts
            .into_iter()
            .map(|count| count as f64 / unit)
            .collect(),
        log_likelihood: log_likelihood as f64 / likelihood_unit,
    }
}

/// The nearest whole number, for numbers that are not negative.
#[inline]
#[allow(clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Returns the product of a number and a share, rounded down.
#[allow(clippy::cast_sign_loss)] // neither is negative
fn share_of(number: usize, share: f64) -> usize {
    (number as f64 * share) as usize
}

/// The M-step. The first `n_characters` pieces are those of the alphabet.
fn maximize(pieces: &Pieces, counts: &[f64], n_characters: usize) -> Pieces {
    let count = |id: usize| match counts[id] {
        count if id < n_characters => count.max(MIN_USE),
        count => count,
    };
    let counts = (0..pieces.len()).map(count);
    let sum: f64 = counts.filter(|&count| count >= MIN_USE).sum();
    let log_sum = digamma(sum);
    pieces.filtered(|id| {
        let count = count(id);
        (count >= MIN_USE).then(|| digamma(count) - log_sum)
    })
}

/// Alternative to a piece that is removed.
enum Alternative {
    /// Nothing: it cannot be cut into others.
    None,
    /// These pieces, which are less likely than it is.
    Worse(Vec<u32>),
    /// Pieces that are likelier than it is: it is never used.
    Better,
}

fn alternatives(pieces: &Pieces, model: &Model, n_threads: usize) -> Vec<Alternative> {
    let found = in_turns(
        pieces.len(),
        n_threads,
        || (Lattice::default(), Vec::new()),
        |(lattice, found), id| {
            let mut others = Vec::new();
            let score = lattice.best(model, pieces.text(id), false, |other| others.push(other));
            let alternative = if others.is_empty() || others.contains(&UNKNOWN) {
                Alternative::None
            } else if score > pieces.scores[id] {
                Alternative::Better
            } else {
                Alternative::Worse(others)
            };
            found.push((id, alternative));
        },
    );
    let mut all: Vec<(usize, Alternative)> =
        found.into_iter().flat_map(|(_, found)| found).collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    all.into_iter()
        .map(|(_, alternative)| alternative)
        .collect()
}

/// Keep the characters of the alphabet, which come first, and beside them the pieces without which
/// the text would lose most likelihood, `target` pieces at most. Pieces that are never used go in
/// any case.
fn prune(
    corpus: &Corpus,
    pieces: &Pieces,
    model: &Model,
    (n_characters, target): (usize, usize),
    n_threads: usize,
) -> Pieces {
    let mut is_kept = vec![false; pieces.len()];
    is_kept[..n_characters].fill(true);
    let losses = losses(corpus, pieces, model, n_threads);
    for (_, id) in losses
        .into_iter()
        .filter(|&(loss, id)| loss > f64::NEG_INFINITY && id >= n_characters)
        .take(target.saturating_sub(n_characters))
    {
        is_kept[id] = true;
    }
    pieces.filtered(|id| is_kept[id].then(|| pieces.scores[id]))
}

/// Returns the loss of log likelihood if each use of a piece became the best way to cut it into
/// others, by falling loss. The loss is infinite for pieces that cannot be cut, and may be negative
/// for unused pieces.
fn losses(corpus: &Corpus, pieces: &Pieces, model: &Model, n_threads: usize) -> Vec<(f64, usize)> {
    let alternatives = alternatives(pieces, model, n_threads);
    let uses = in_turns(
        corpus.len(),
        n_threads,
        || (Lattice::default(), vec![0u64; pieces.len()]),
        |(lattice, uses), word| {
            let (text, weight) = corpus.word(word);
            lattice.best(model, text, true, |id| {
                if let Some(count) = uses.get_mut(id as usize) {
                    *count += weight;
                }
            });
        },
    )
    .into_iter()
    .map(|(_, uses)| uses)
    .reduce(|mut uses, others| {
        for (count, more) in uses.iter_mut().zip(others) {
            *count += more;
        }
        uses
    })
    .unwrap_or_default();
    let sum = uses.iter().map(|&count| count as f64).sum::<f64>();
    let log_sum = sum.ln();
    let mut losses: Vec<(f64, usize)> = Vec::with_capacity(pieces.len());
    for (id, alternative) in alternatives.iter().enumerate() {
        let count = uses[id] as f64;
        match alternative {
            _ if uses[id] == 0 => losses.push((f64::NEG_INFINITY, id)),
            Alternative::Better => losses.push((f64::NEG_INFINITY, id)),
            Alternative::None => losses.push((f64::INFINITY, id)),
            Alternative::Worse(others) => {
                let log_probability = count.ln() - log_sum;
                let log_new_sum = (sum + count * (others.len() as f64 - 1.0)).ln();
                let log_others: f64 = others
                    .iter()
                    .map(|&other| (uses[other as usize] as f64 + count).ln() - log_new_sum)
                    .sum();
                losses.push((count / sum * (log_probability - log_others), id));
            }
        }
    }
    losses.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    losses
}

/// The M-step for a vocabulary that stands: the most likely probabilities; what is hardly used
/// counts as [`MIN_USE`].
fn refit(pieces: &Pieces, counts: &[f64]) -> Pieces {
    let count = |id: usize| counts[id].max(MIN_USE);
    let log_sum = (0..pieces.len()).map(count).sum::<f64>().ln();
    pieces.filtered(|id| Some(count(id).ln() - log_sum))
}

/// By falling probability, then by their bytes.
fn in_order(pieces: &Pieces) -> Vec<(String, f64)> {
    let text = |id: usize| String::from_utf8_lossy(pieces.text(id)).into_owned();
    let mut all: Vec<(String, f64)> = (0..pieces.len())
        .map(|id| (text(id), pieces.scores[id]))
        .collect();
    all.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

/// Do something with every number below `n`, in turns, each thread with a state of its own.
fn in_turns<S: Send>(
    n: usize,
    n_threads: usize,
    new: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut state = new();
        loop {
            let start = next.fetch_add(WORDS_PER_TURN, Ordering::Relaxed);
            if start >= n {
                return state;
            }
            for index in start..n.min(start + WORDS_PER_TURN) {
                each(&mut state, index);
            }
        }
    };
    let n_helpers = n_threads.min(n.div_ceil(WORDS_PER_TURN)).saturating_sub(1);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..n_helpers).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        for helper in helpers {
            match helper.join() {
                Ok(state) => states.push(state),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
        states
    })
}

/// The derivative of the logarithm of the gamma function, for positive numbers. It uses the
/// recurrence up to 6, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18), which is
/// exact to 1e-10 from there on.
fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 6.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    result + x.ln()
        - 0.5 * inverse
        - square
            * (1.0 / 12.0
                - square
                    * (1.0 / 120.0
                        - square * (1.0 / 252.0 - square * (1.0 / 240.0 - square / 132.0))))
}
