//! BPE without tokens that only lead to others: what is hardly used itself is taken out, and
//! further merges take its place.
//!
//! Plain BPE keeps every token on the way to a longer one, " dramati" on the way to "
//! dramatically", whether text ever becomes it or not. Scaffold-BPE (arXiv:2404.17808) and
//! `PickyBPE` (arXiv:2409.04599) take such tokens out, and need encoders of their own for that.
//! Here the result is a plain list of merges.
//!
//! # What is learned, exactly
//!
//! 1. Plain BPE is learned to more tokens than are wanted: the *pool*. Tokens that the text is cut
//!    into by a pool are *used*. A token that merging makes is *made*; later merges swallow most of
//!    these.
//! 2. The worth of a place in the vocabulary is how often the last [`MARGIN`] tokens of the pool
//!    are made, on average. A token is *scaffolding* if it is used less often than `least_use`
//!    times that worth, and made at least that often. (A token made less often is one of the last,
//!    and as good as its replacement.)
//! 3. Without the scaffolding, the merges before a token's own cut its bytes into other tokens. If
//!    these are two, that pair is its merge. If they are more, no merge within a longer word makes
//!    it any more. But a pretoken that is a token is never cut, so the token lives on as a whole
//!    word. If it was used within longer words at least as often as scaffolding may be, all of its
//!    parts are kept instead, for good.
//! 4. The text is encoded anew, and 2 and 3 are repeated until nothing changes, [`MAX_ROUNDS`]
//!    times at most.
//! 5. The pool is made larger until the rest has the size wanted, and cut there. If the text then
//!    needs more tokens than with plain BPE of that size, plain BPE it is.
//!
//! # Why it is exact elsewhere
//!
//! The result is a merge for each token, except for whole-word-only tokens, and one rule: a
//! pretoken that is a token is not cut. `tokenizers` calls the rule `ignore_merges`, and Llama 3
//! has it. Removed tokens keep no ids.
//!
//! A merge whose two parts still have all their merges is the same as before. The bytes of a token
//! undergo only the merges of its own tree ([`super::bpe`]), and none of these is gone. So only
//! tokens above scaffolding are looked at again.

use std::ops::ControlFlow;

use hashbrown::{HashMap, HashSet};

use jeton_core::error::{ErrorKind, Result};
use jeton_core::models::Model;
use jeton_core::models::bpe::{BpeModel, BpeScratch, Merges, Missing};
use jeton_core::vocab::{MAX_IDS, Vocab, hasher};

use super::bpe::{BpeTrainOptions, TrainedBpe, first_vocab, train_bpe};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::rules::StopReason;
use super::words::{Words, sum_over, words_of};

/// Last tokens of a pool by which the worth of a place is judged: enough to be steady, few enough
/// to be of one kind.
const MARGIN: usize = 64;
/// Most rounds of taking out and encoding again for one pool.
const MAX_ROUNDS: usize = 8;
/// Most pools that are tried.
const MAX_POOLS: usize = 8;
/// The pool has at most one more token for this many wanted: no text had more scaffolding.
const TOKENS_PER_SPARE: usize = 4;

/// How to train.
#[derive(Clone, Debug)]
pub struct TrimmedOptions {
    /// As for plain BPE; `resume` has to be empty.
    pub bpe: BpeTrainOptions,
    /// In thousandths: a token that is used less often than this share of what a place is worth
    /// goes.
    pub least_use_per_mille: u64,
}

/// Result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedTrimmed {
    /// Tokens and merges; whole pretokens that are tokens are not cut.
    pub bpe: TrainedBpe,
    /// Tokens of the pool that were taken out, in its order.
    pub removed: Vec<Vec<u8>>,
    /// Tokens that only whole pretokens become.
    pub n_whole_only: usize,
    /// Tokens of the text.
    pub n_tokens: u64,
    /// Tokens of the text with plain BPE of the same size.
    pub n_plain_tokens: u64,
}

/// Tokens of a pool that stay, and what makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// By token of the pool: whether it stays.
    pub(crate) is_kept: Vec<bool>,
    /// By token of the pool: the pair that makes it, as ids of the pool; None for bytes, special
    /// tokens, what is gone, and what only a whole pretoken becomes.
    pub(crate) pairs: Vec<Option<(u32, u32)>>,
}

/// Uses of each token in the cut text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// All uses.
    pub(crate) all: Vec<u64>,
    /// Uses in pretokens of more than one token.
    pub(crate) within: Vec<u64>,
}

impl Uses {
    fn new(n: usize) -> Self {
        Self {
            all: vec![0; n],
            within: vec![0; n],
        }
    }

    fn total(&self) -> u64 {
        self.all.iter().sum()
    }
}

/// Learn merges, and take out what only leads to others. The result depends on the counts and the
/// options only.
///
/// # Errors
///
/// As [`train_bpe`].
pub fn train_trimmed(
    counts: &PretokenCounts,
    options: &TrimmedOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedTrimmed> {
    let wanted = options.bpe.vocab_size;
    let n_base = first_vocab(&options.bpe)?.size() as usize;
    let most = wanted + (wanted - n_base) / TOKENS_PER_SPARE;
    let large = train_bpe(
        counts,
        &BpeTrainOptions {
            vocab_size: most.min(MAX_IDS as usize),
            ..options.bpe.clone()
        },
        on_progress,
    )?;
    let words = words_of(counts);
    let pool = Pool {
        words: &words,
        tokens: &large.tokens,
        merges: &large.merges,
        n_special: large.n_special,
        n_base,
        is_forced: forced_with_parts(&large, n_base, &options.bpe.forced_tokens),
        least_use_per_mille: options.least_use_per_mille,
        num_threads,
    };
    let n_all = large.tokens.len();
    let n_plain = wanted.min(n_all);
    let plain = pool.first(n_plain);
    let plain_uses = pool.uses(&plain)?;
    let mut size = n_plain;
    let mut best = plain.clone();
    for _ in 0..MAX_POOLS {
        tell(on_progress, n_plain, wanted)?;
        best = pool.trim(size)?;
        let n_kept = best.n_kept();
        if n_kept >= n_plain || size >= n_all {
            break;
        }
        size = (size + n_plain - n_kept).min(n_all);
    }
    pool.truncate(&mut best, n_plain);
    let mut uses = pool.uses(&best)?;
    if uses.total() > plain_uses.total() {
        best = plain;
        uses = plain_uses.clone();
    }
    tell(on_progress, n_plain, wanted)?;
    Ok(pool.finished(&best, &large, &uses, &plain_uses, wanted))
}

/// Returns true for each token that is forced, or a part of one that is.
fn forced_with_parts(large: &TrainedBpe, n_base: usize, forced: &[Vec<u8>]) -> Vec<bool> {
    let mut wanted: HashSet<&[u8], _> = HashSet::with_hasher(hasher());
    wanted.extend(forced.iter().map(Vec::as_slice));
    let mut is_forced: Vec<bool> = large
        .tokens
        .iter()
        .map(|token| wanted.contains(token.as_slice()))
        .collect();
    for id in (n_base..is_forced.len()).rev() {
        let (left, right, _) = large.merges[id - n_base];
        is_forced[left as usize] |= is_forced[id];
        is_forced[right as usize] |= is_forced[id];
    }
    is_forced
}

fn tell(
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    n_tokens: usize,
    vocab_size: usize,
) -> Result<()> {
    let progress = Progress {
        n_tokens,
        vocab_size,
    };
    match on_progress(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ErrorKind::Interrupted.into()),
    }
}

impl Kept {
    pub(crate) fn n_kept(&self) -> usize {
        self.is_kept.iter().filter(|&&is_kept| is_kept).count()
    }
}

/// Plain BPE of more tokens than wanted, and the text.
pub(crate) struct Pool<'a> {
    pub(crate) words: &'a Words<'a>,
    pub(crate) tokens: &'a [Vec<u8>],
    pub(crate) merges: &'a [(u32, u32, u32)],
    pub(crate) n_special: usize,
    pub(crate) n_base: usize,
    pub(crate) is_forced: Vec<bool>,
    pub(crate) least_use_per_mille: u64,
    pub(crate) num_threads: usize,
}

impl Pool<'_> {
    /// The pair of a token of the pool.
    fn pair(&self, id: usize) -> Option<(u32, u32)> {
        let (left, right, _) = *self.merges.get(id.checked_sub(self.n_base)?)?;
        Some((left, right))
    }

    /// Keeps `n` tokens: the first ones, and forced ones that would come later.
    fn first(&self, n: usize) -> Kept {
        let mut kept = Kept {
            is_kept: vec![true; self.tokens.len()],
            pairs: (0..self.tokens.len()).map(|id| self.pair(id)).collect(),
        };
        self.truncate(&mut kept, n);
        kept
    }

    /// Drops the last tokens until `n` are left, unless they are forced: no earlier token depends
    /// on them.
    fn truncate(&self, kept: &mut Kept, n: usize) {
        let mut n_too_many = kept.n_kept().saturating_sub(n);
        for id in (self.n_base..kept.is_kept.len()).rev() {
            if n_too_many == 0 {
                break;
            }
            if kept.is_kept[id] && !self.is_forced[id] {
                kept.is_kept[id] = false;
                kept.pairs[id] = None;
                n_too_many -= 1;
            }
        }
    }

    /// The tokenizer that these make; its ids are the pool's, without removed tokens.
    fn model(&self, kept: &Kept) -> Result<(BpeModel, Vec<usize>)> {
        let mut vocab = Vocab::with_capacity(kept.n_kept());
        let mut new_ids = vec![0; kept.is_kept.len()];
        let mut old_ids = Vec::with_capacity(kept.n_kept());
        let mut merges = Vec::new();
        for (id, &is_kept) in kept.is_kept.iter().enumerate() {
            if !is_kept {
                continue;
            }
            let new = vocab.size();
            new_ids[id] = new;
            old_ids.push(id);
            if id < self.n_special {
                vocab.insert_opaque(new, &self.tokens[id])?;
            } else {
                vocab.insert(new, &self.tokens[id])?;
            }
            if let Some((left, right)) = kept.pairs[id] {
                merges.push((new_ids[left as usize], new_ids[right as usize]));
            }
        }
        let model = BpeModel::new(vocab, &Merges::List(merges), true, Missing::Fail)?;
        Ok((model, old_ids))
    }

    /// Returns the uses of each token of the pool in the cut text.
    pub(crate) fn uses(&self, kept: &Kept) -> Result<Uses> {
        let (model, old_ids) = self.model(kept)?;
        let new = || {
            let uses = Uses::new(kept.is_kept.len());
            (uses, BpeScratch::default(), Vec::new())
        };
        let (uses, ..) = sum_over(
            self.words,
            self.num_threads,
            new,
            |(uses, scratch, ids), word, weight| {
                ids.clear();
                model.encode_pretoken(word, scratch, ids)?;
                for &id in ids.iter() {
                    let old = old_ids[id as usize];
                    uses.all[old] += weight;
                    if ids.len() > 1 {
                        uses.within[old] += weight;
                    }
                }
                Ok(())
            },
            |(sum, ..), (part, ..)| {
                for (sum, part) in [(&mut sum.all, part.all), (&mut sum.within, part.within)] {
                    sum.iter_mut()
                        .zip(part)
                        .for_each(|(sum, more)| *sum += more);
                }
            },
        )?;
        Ok(uses)
    }

    /// How often each of the first tokens is made, by how often it is used.
    fn made(&self, uses: &[u64]) -> Vec<u64> {
        let mut made = uses.to_vec();
        for id in (self.n_base..made.len()).rev() {
            if let Some((left, right)) = self.pair(id) {
                made[left as usize] += made[id];
                made[right as usize] += made[id];
            }
        }
        made
    }

    /// Takes the scaffolding out of the first `n` tokens.
    pub(crate) fn trim(&self, n: usize) -> Result<Kept> {
        let all = self.first(n);
        let uses = self.uses(&all)?;
        let made = self.made(&uses.all);
        let learned =
            || (self.n_base..made.len()).filter(|&id| all.is_kept[id] && !self.is_forced[id]);
        let last: Vec<u64> = learned().rev().take(MARGIN).map(|id| made[id]).collect();
        let worth = last.iter().sum::<u64>() / (last.len() as u64).max(1);
        let least_use = worth.saturating_mul(self.least_use_per_mille) / 1000;
        let may_go: Vec<usize> = learned().filter(|&id| made[id] >= least_use).collect();
        let mut is_protected = vec![false; made.len()];
        let mut is_gone: Vec<bool> = all.is_kept.iter().map(|&is_kept| !is_kept).collect();
        let mut now = uses.clone();
        let mut kept = all.clone();
        for _ in 0..MAX_ROUNDS {
            let mut has_changed = false;
            for &id in &may_go {
                if !is_gone[id] && !is_protected[id] && now.all[id] < least_use {
                    is_gone[id] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
            // A token that is worth more than scaffolding keeps its parts; that may make other
            // tokens whole again.
            loop {
                kept = self.without(&is_gone);
                let stranded: Vec<usize> = (self.n_base..made.len())
                    .filter(|&id| kept.is_kept[id] && kept.pairs[id].is_none())
                    .filter(|&id| uses.within[id] >= least_use)
                    .collect();
                if stranded.is_empty() {
                    break;
                }
                for id in stranded {
                    self.protect(id, &mut is_gone, &mut is_protected);
                }
            }
            now = self.uses(&kept)?;
        }
        Ok(kept)
    }

    /// Keep all that a token is made of.
    fn protect(&self, id: usize, is_gone: &mut [bool], is_protected: &mut [bool]) {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            is_gone[id] = false;
            is_protected[id] = true;
            if let Some((left, right)) = self.pair(id) {
                open.extend([left as usize, right as usize].iter().filter(|&&part| {
                    !is_protected[part] // what is protected has its parts already
                }));
            }
        }
    }

    /// Returns the rest without some tokens, and the merges that make it.
    pub(crate) fn without(&self, is_gone: &[bool]) -> Kept {
        let size = is_gone.len();
        let mut pairs: Vec<Option<(u32, u32)>> = vec![None; size];
        // True if all merges of a token are left and its own.
        let mut is_whole = vec![true; size];
        let mut merges: HashMap<(u32, u32), u32, _> = HashMap::with_hasher(hasher());
        let mut symbols = Vec::new();
        for id in self.n_base..size {
            let Some((left, right)) = self.pair(id) else {
                continue;
            };
            is_whole[id] = !is_gone[id] && is_whole[left as usize] && is_whole[right as usize];
            if is_gone[id] {
                continue;
            }
            let pair = if is_whole[id] {
                Some((left, right))
            } else {
                self.merged(id, &merges, &mut symbols);
                match symbols[..] {
                    [left, right] => Some((left, right)),
                    _ => None,
                }
            };
            if let Some(pair) = pair {
                merges.insert(pair, id as u32);
                pairs[id] = Some(pair);
            }
        }
        Kept {
            is_kept: is_gone.iter().map(|&is_gone| !is_gone).collect(),
            pairs,
        }
    }

    /// Merges the bytes of a token. A merge comes before another if its token does.
    fn merged(
        &self,
        id: usize,
        merges: &HashMap<(u32, u32), u32, foldhash::fast::FixedState>,
        symbols: &mut Vec<u32>,
    ) {
        symbols.clear();
        let mut open = vec![id as u32];
        while let Some(id) = open.pop() {
            match self.pair(id as usize) {
                Some((left, right)) => open.extend([right, left]),
                None => symbols.push(id),
            }
        }
        loop {
            let first = symbols
                .windows(2)
                .filter_map(|pair| Some((*merges.get(&(pair[0], pair[1]))?, (pair[0], pair[1]))))
                .min();
            let Some((new, (left, right))) = first else {
                return;
            };
            let mut end = 0;
            let mut at = 0;
            while at < symbols.len() {
                let is_pair = symbols[at] == left && symbols.get(at + 1) == Some(&right);
                symbols[end] = if is_pair { new } else { symbols[at] };
                end += 1;
                at += if is_pair { 2 } else { 1 };
            }
            symbols.truncate(end);
        }
    }

    fn finished(
        &self,
        kept: &Kept,
        large: &TrainedBpe,
        uses: &Uses,
        plain_uses: &Uses,
        wanted: usize,
    ) -> TrainedTrimmed {
        let mut new_ids = vec![0; kept.is_kept.len()];
        let mut tokens = Vec::with_capacity(kept.n_kept());
        let mut merges = Vec::new();
        let mut removed = Vec::new();
        let mut n_whole_only = 0;
        let n_until_last = kept
            .is_kept
            .iter()
            .rposition(|&is_kept| is_kept)
            .map_or(0, |last| last + 1);
        for id in 0..n_until_last {
            if !kept.is_kept[id] {
                removed.push(self.tokens[id].clone());
                continue;
            }
            let new = tokens.len() as u32;
            new_ids[id] = new;
            tokens.push(self.tokens[id].clone());
            match kept.pairs[id] {
                Some((left, right)) => {
                    merges.push((new_ids[left as usize], new_ids[right as usize], new));
                }
                None if id >= self.n_base => n_whole_only += 1,
                None => {}
            }
        }
        let stop = if tokens.len() >= wanted {
            StopReason::VocabFull
        } else {
            large.stop
        };
        TrainedTrimmed {
            bpe: TrainedBpe {
                tokens,
                n_special: self.n_special,
                merges,
                stop,
            },
            removed,
            n_whole_only,
            n_tokens: uses.total(),
            n_plain_tokens: plain_uses.total(),
        }
    }
}
