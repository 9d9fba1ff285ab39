//! Continuing a tokenizer: more merges after its own, learned from a domain's text.
//!
//! # What is learned, exactly
//!
//! Each pretoken begins as the ids that the tokenizer gives it now. From there merges go on as in
//! [`super::bpe`]: the pair with the most windows becomes a token, and so on. New tokens get the
//! ids after the last one that is taken, special and added tokens included.
//!
//! So every old id keeps its meaning. New merges come after all old ones, so an encoder first does
//! what it did before and then only joins: no text needs more tokens than it did.
//!
//! In a file of ranks any pair may merge whose joined bytes are a token, its id being its rank.
//! That comes to the same. New ids are the highest ranks. After the merges below its rank, the
//! bytes of a new token are cut in one way only, wherever they stand (the proof is in
//! [`super::bpe`]).

use std::ops::ControlFlow;

use jeton_core::codec::base64::Base64Bytes;
use jeton_core::config::{Config, ModelConfig};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::tokenizer::Tokenizer;
use jeton_core::vocab::{MAX_IDS, Vocab};

use super::bpe::{BpeTrainOptions, require_text, settings_of};
use super::cells::Cells;
use super::counts::PretokenCounts;
use super::cutting::CutConfig;
use super::engine::{Resume, learn};
use super::learner::{Learner, Progress, forbidden_tokens};
use super::rules::StopReason;

/// A token that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Its id.
    pub id: u32,
    /// The token on the left of its merge.
    pub left: u32,
    /// The token on the right of its merge.
    pub right: u32,
    /// Tokens of the text that its merge saved when it was chosen.
    pub n_saved: u64,
    /// How often the text has it now that all merges are made.
    pub n_uses: u64,
    /// Old tokens that one use stands for.
    pub n_old_tokens: u32,
}

/// Result of continuing.
#[derive(Debug)]
pub struct Continued {
    /// The tokenizer with its new tokens.
    pub tokenizer: Tokenizer,
    /// In the order of their ids, which is also the order of tokens saved when they were chosen.
    pub new_tokens: Vec<NewToken>,
    /// Tokens of the text as the old tokenizer cuts it.
    pub n_tokens_before: u64,
    /// Tokens of the text as the new one cuts it.
    pub n_tokens_after: u64,
    /// Why it ended.
    pub stop: StopReason,
}

fn require_bytes(tokenizer: &Tokenizer) -> Result<()> {
    let vocab = tokenizer.vocab();
    let has_bytes = (0..=u8::MAX).all(|byte| vocab.bytes_to_id(&[byte]).is_some());
    if tokenizer.sentencepiece().is_some() || tokenizer.algorithm() != "bpe" || !has_bytes {
        return Err(Error::training(format!(
            "only byte-level BPE with all 256 bytes can be continued; this tokenizer is {}\n\
             hint: train a new one, or extend this one with added tokens",
            tokenizer.algorithm()
        )));
    }
    Ok(())
}

/// How to cut the text to continue on: as the tokenizer does, special tokens read as text.
///
/// Errors: `Training` if the tokenizer is none that can be continued.
pub fn cutting_of(base: &Tokenizer) -> Result<CutConfig> {
    require_bytes(base)?;
    let Config { normalizer, .. } = base.to_config();
    Ok(CutConfig::Steps {
        normalizer,
        pretokenizer: base.pretokenizer_steps().to_vec(),
    })
}

/// Learn more merges from counts of pretokens that were cut as [`cutting_of`] says.
///
/// The options `special_tokens`, `forced_tokens` and `max_alphabet` must have their defaults;
/// `vocab_size` is the size of the whole. `on_progress` as in [`super::train_bpe`]. Errors: as
/// there, and `Training` if the tokenizer is not byte-level BPE.
pub fn continue_bpe(
    counts: &PretokenCounts,
    base: &Tokenizer,
    options: &BpeTrainOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Continued> {
    require_bytes(base)?;
    require_text(counts)?;
    let vocab = taken_ids(base)?;
    let first_new = vocab.size();
    if options.vocab_size <= first_new as usize {
        return Err(Error::training(format!(
            "vocab_size is {}, but the tokenizer to continue has ids up to {}\n\
             hint: ask for the size of the whole, old tokens and new ones",
            options.vocab_size,
            first_new - 1
        )));
    }
    if options.vocab_size > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    let mut learner = Learner::new(options.vocab_size, options.min_frequency, on_progress);
    learner.forbidden = forbidden_tokens(
        base.added_tokens()
            .iter()
            .map(|added| added.content.as_str()),
        &options.forbidden_tokens,
    );
    learner.forbid_known = true;
    learner.predicate.clone_from(&options.may_merge);
    if learner.report(first_new as usize).is_break() {
        return Err(ErrorKind::Interrupted.into());
    }

    let mut cells = Cells::with_capacity(counts.n_distinct_bytes() / 2, counts.len());
    let mut row = Vec::new();
    let mut n_tokens_before = 0;
    for (pretoken, weight) in counts.iter() {
        row.clear();
        base.encode_pretoken(pretoken, &mut row)?;
        n_tokens_before += weight * row.len() as u64;
        cells.push(&row, weight)?;
    }
    let mut saved = Saved {
        learner,
        counts: Vec::new(),
    };
    let resume = Resume::All(&options.resume);
    let learned = learn(cells, vocab, settings_of(options), &mut saved, resume)?;
    if learned.stop == StopReason::Interrupted
        || saved
            .learner
            .report(learned.vocab.size() as usize)
            .is_break()
    {
        return Err(ErrorKind::Interrupted.into());
    }

    let mut n_uses = vec![0_u64; learned.vocab.size() as usize];
    let mut n_tokens_after = 0;
    learned.for_each_row(|weight, tokens| {
        let weight = weight.cast_unsigned();
        n_tokens_after += weight * tokens.len() as u64;
        for &id in tokens {
            n_uses[id as usize] += weight;
        }
    });
    let new_tokens =
        learned
            .merges
            .iter()
            .zip(&saved.counts)
            .map(|(&(left, right, id), &n_saved)| NewToken {
                id,
                left,
                right,
                n_saved,
                n_uses: n_uses[id as usize],
                n_old_tokens: learned.sizes[id as usize].width,
            });
    let new_tokens = new_tokens.collect();
    let stop = if learned.vocab.size() as usize >= options.vocab_size {
        StopReason::VocabFull
    } else {
        learned.stop
    };
    let config = with_tokens(base.to_config(), &learned.vocab, &learned.merges)?;
    Ok(Continued {
        tokenizer: Tokenizer::from_config(config)?,
        new_tokens,
        n_tokens_before,
        n_tokens_after,
        stop,
    })
}

/// The vocabulary with every id that is taken, also by added tokens.
fn taken_ids(base: &Tokenizer) -> Result<Vocab> {
    let mut vocab = base.vocab().clone();
    for added in base.added_tokens() {
        if vocab.id_to_bytes(added.id).is_none() {
            vocab.insert_opaque(added.id, added.content.as_bytes())?;
        }
    }
    Ok(vocab)
}

fn with_tokens(mut config: Config, vocab: &Vocab, new: &[(u32, u32, u32)]) -> Result<Config> {
    let ModelConfig::Bpe { tokens, merges, .. } = &mut config.model else {
        return Err(Error::training("only byte-level BPE can be continued"));
    };
    for &(left, right, id) in new {
        if let Some(bytes) = vocab.id_to_bytes(id) {
            if tokens.len() <= id as usize {
                tokens.resize_with(id as usize + 1, || None);
            }
            tokens[id as usize] = Some(Base64Bytes(bytes.to_vec()));
        }
        if let Some(merges) = merges {
            merges.push((left, right));
        }
    }
    Ok(config)
}

/// The learner, and what each merge saved.
struct Saved<'a> {
    learner: Learner<'a>,
    counts: Vec<u64>,
}

impl super::MergePolicy for Saved<'_> {
    fn may_merge(&mut self, vocab: &Vocab, pair: (u32, u32)) -> bool {
        self.learner.may_merge(vocab, pair)
    }

    fn stop(&mut self, n_tokens: usize, best_count: u64) -> Option<StopReason> {
        self.learner.stop(n_tokens, best_count)
    }

    fn min_count(&self) -> u64 {
        self.learner.min_count()
    }

    fn on_merge(&mut self, vocab: &Vocab, merge: &super::Merge) -> ControlFlow<()> {
        self.counts.push(merge.count);
        self.learner.on_merge(vocab, merge)
    }
}
