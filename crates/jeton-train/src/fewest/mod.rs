//! The vocabulary with which text needs fewest tokens: each word is cut into as few as can be, and
//! tokens that are missed least are taken out.
//!
//! BPE chooses tokens by merging and cuts words by the same merges, which is not the shortest way.
//! Here words are cut into the fewest tokens (`PathPiece`, arXiv:2402.18376; `MinGram`,
//! arXiv:2606.27019), and a token is worth what its removal would cost.
//!
//! # What is learned, exactly
//!
//! 1. Candidates: the tokens of byte-level BPE of `seed_factor` times the size wanted, of at most
//!    256 bytes unless `max_token_bytes` says otherwise. All 256 bytes stay.
//! 2. A word is cut into the fewest tokens. Among several such ways the least sum of *rarity*
//!    decides, then the order in which the search for best paths in [`lattice`] finds them. The
//!    rarity of a token is `log2(all uses / its uses)` in steps of 1/256, from the cutting before;
//!    in the first cutting it is 0. A token that was never used counts as used half a time. A token
//!    used less than once in 2^32 counts as used once in 2^32.
//! 3. The *loss* of a token is a sum over all places where it is used. Each place adds the fewest
//!    tokens that its word needs if this place is cut in another way, less the tokens that it needs
//!    now.
//! 4. The tokens with the least loss go; ties go by fewer uses, then by later candidates. At most
//!    the share `1 - shrinking_factor` of them goes at a time, then 2 and 3 are made again. This
//!    ends when the number wanted is reached, and when every token saves `min_saving`, if that is
//!    set.
//! 5. Rarities are taken from two more rounds of cutting.
//!
//! # The same ids elsewhere
//!
//! The result is a Unigram model with the score `-(2^33 + rarity)` for a token. Whole numbers below
//! 2^53 are exact in double precision, in files and in sums. So fewer tokens always have the better
//! score up to 2^19 tokens in a pretoken, and neither order nor rounding can matter. `tokenizers`
//! gives the same ids because it searches in the same order.
//!
//! Cost: a round looks at every candidate in every distinct word once. Memory: the words and the
//! candidates' trie.

mod lattice;
#[cfg(test)]
mod naive;
mod rarity;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use hashbrown::HashSet;

use self::lattice::{Lattice, Tokens};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::{MAX_IDS, hasher};

use super::bpe::{BpeTrainOptions, first_vocab, train_bpe};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::rules::StopReason;
use super::words::{Words, sum_over, words_of};

/// Cost of a token besides its rarity: more than all rarities of a pretoken of 2^19 tokens
/// together.
pub const TOKEN_COST: u64 = 1 << 33;
/// The cost of a special token, which no text can be cut into: more than any pretoken below 2^19
/// bytes costs.
pub const SPECIAL_COST: u64 = 1 << 52;
/// Longest candidate, in bytes, unless the options say otherwise. A pretoken of many kilobytes has
/// candidates as long as itself. Finding the loss of one takes its length in steps for each of its
/// bytes.
const LONGEST_CANDIDATE: usize = 256;
/// Rounds of cutting after the last token went.
const LAST_ROUNDS: usize = 2;

/// How to train.
#[derive(Clone, Debug)]
pub struct FewestOptions {
    /// As for plain BPE, which finds the candidates. `vocab_size`: tokens wanted at most.
    pub bpe: BpeTrainOptions,
    /// In thousandths: candidates for each token wanted, at least 1000.
    pub seed_per_mille: u64,
    /// In thousandths: least share of the tokens that a round keeps.
    pub shrinking_per_mille: u64,
    /// Tokens that the removal of any token has to cost. Cheaper tokens go, and so there may be
    /// fewer than wanted. 0: none go for that reason.
    pub min_saving: u64,
}

/// Result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedFewest {
    /// Bytes of each token in id order: the special tokens, the 256 bytes, then by falling uses.
    pub tokens: Vec<Vec<u8>>,
    /// How many of them are special.
    pub n_special: usize,
    /// The score of each is minus this.
    pub costs: Vec<u64>,
    /// Tokens of the text.
    pub n_tokens: u64,
    /// How often each is used.
    pub uses: Vec<u64>,
    /// Why there are not more.
    pub stop: StopReason,
}

/// Statistics of the tokens in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TokenUses {
    uses: Vec<u64>,
    losses: Vec<u64>,
}

/// Learn tokens from counts. The result depends on the counts and the options only.
///
/// # Errors
///
/// As [`train_bpe`], and `Training` for factors that cannot be meant.
pub fn train_fewest(
    counts: &PretokenCounts,
    options: &FewestOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedFewest> {
    if options.seed_per_mille < 1000 {
        return Err(Error::training(format!(
            "there would be {} candidates for 1,000 tokens; expected at least 1,000",
            options.seed_per_mille
        )));
    }
    if options.shrinking_per_mille >= 1000 {
        return Err(Error::training(
            "a round would keep all tokens; it should keep fewer",
        ));
    }
    let n_base = first_vocab(&options.bpe)?.size() as usize;
    let wanted = options.bpe.vocab_size - n_base;
    let n_seeds = (wanted as u64).saturating_mul(options.seed_per_mille) / 1000;
    let large = train_bpe(
        counts,
        &BpeTrainOptions {
            vocab_size: usize::try_from(n_seeds)
                .unwrap_or(usize::MAX)
                .saturating_add(n_base)
                .min(MAX_IDS as usize),
            max_token_bytes: options.bpe.max_token_bytes.or(Some(LONGEST_CANDIDATE)),
            ..options.bpe.clone()
        },
        on_progress,
    )?;
    let words = words_of(counts);
    let forced = {
        let mut forced: HashSet<&[u8], _> = HashSet::with_hasher(hasher());
        forced.extend(options.bpe.forced_tokens.iter().map(Vec::as_slice));
        forced
    };
    // Bytes come first and stay; then candidates in the order in which they were merged.
    let mut tokens = Tokens::new(large.tokens[large.n_special..].to_vec(), 256)?;
    let n_first = tokens.len();
    let is_forced = |bytes: &[u8]| forced.contains(bytes);
    let mut report = |n_now: usize| -> Result<()> {
        let progress = Progress {
            n_tokens: n_first - n_now,
            vocab_size: n_first.saturating_sub(wanted + 256),
        };
        match on_progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Interrupted.into()),
        }
    };
    let mut stop = large.stop;
    loop {
        report(tokens.len())?;
        let found = find(&words, &tokens, true, num_threads)?;
        tokens.set_rarities(&found.uses);
        let keep = to_keep(&found, &tokens, wanted + 256, options, &is_forced);
        let Some(is_kept) = keep else {
            break;
        };
        tokens = tokens.filtered(&is_kept)?;
        stop = StopReason::VocabFull;
    }
    let mut found = find(&words, &tokens, false, num_threads)?;
    for _ in 0..LAST_ROUNDS {
        report(tokens.len())?;
        tokens.set_rarities(&found.uses);
        found = find(&words, &tokens, false, num_threads)?;
    }
    report(tokens.len())?;
    Ok(finished(
        &large.tokens[..large.n_special],
        &tokens,
        &found.uses,
        stop,
    ))
}

/// Tokens that the next round keeps; None where all stay.
fn to_keep(
    found: &TokenUses,
    tokens: &Tokens,
    wanted: usize,
    options: &FewestOptions,
    is_forced: &dyn Fn(&[u8]) -> bool,
) -> Option<Vec<bool>> {
    let n = tokens.len();
    let mut may_go: Vec<usize> = (tokens.n_fixed()..n)
        .filter(|&id| !is_forced(tokens.bytes(id)))
        .collect();
    // Tokens in the order of their loss, the least first.
    may_go.sort_unstable_by_key(|&id| (found.losses[id], found.uses[id], std::cmp::Reverse(id)));
    let n_cheap = may_go.partition_point(|&id| found.losses[id] < options.min_saving);
    let n_should_go = n.saturating_sub(wanted).max(n_cheap);
    let most = (n as u64).saturating_mul(1000 - options.shrinking_per_mille) / 1000;
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
    let n_go = n_should_go.min(most).min(may_go.len());
    if n_go == 0 {
        return None;
    }
    let mut is_kept = vec![true; n];
    for &id in &may_go[..n_go] {
        is_kept[id] = false;
    }
    Some(is_kept)
}

/// Cut the text. `with_losses`: also what it would cost to lose each token.
fn find(
    words: &Words<'_>,
    tokens: &Tokens,
    with_losses: bool,
    num_threads: usize,
) -> Result<TokenUses> {
    let new = || {
        let found = TokenUses {
            uses: vec![0; tokens.len()],
            losses: vec![0; tokens.len()],
        };
        (found, Lattice::default())
    };
    let (found, _) = sum_over(
        words,
        num_threads,
        new,
        |(found, lattice), word, weight| {
            lattice.cut(tokens, word);
            for &(id, _, _) in lattice.path() {
                found.uses[id as usize] += weight;
            }
            if with_losses {
                lattice.each_loss(|id, loss| {
                    let loss = loss.saturating_mul(weight);
                    let sum = &mut found.losses[id as usize];
                    *sum = sum.saturating_add(loss);
                });
            }
            Ok(())
        },
        |(sum, _), (part, _)| {
            sum.uses
                .iter_mut()
                .zip(part.uses)
                .for_each(|(sum, more)| *sum += more);
            for (sum, more) in sum.losses.iter_mut().zip(part.losses) {
                *sum = sum.saturating_add(more);
            }
        },
    )?;
    Ok(found)
}

fn finished(special: &[Vec<u8>], tokens: &Tokens, uses: &[u64], stop: StopReason) -> TrainedFewest {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order[tokens.n_fixed()..].sort_by_key(|&id| std::cmp::Reverse(uses[id]));
    let bytes = order.iter().map(|&id| tokens.bytes(id).to_vec());
    let costs = order.iter().map(|&id| tokens.cost(id));
    TrainedFewest {
        tokens: special.iter().cloned().chain(bytes).collect(),
        n_special: special.len(),
        costs: special.iter().map(|_| SPECIAL_COST).chain(costs).collect(),
        n_tokens: uses.iter().sum(),
        uses: special
            .iter()
            .map(|_| 0)
            .chain(order.iter().map(|&id| uses[id]))
            .collect(),
        stop,
    }
}
