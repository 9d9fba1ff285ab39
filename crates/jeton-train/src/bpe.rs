//! Byte-level byte-pair encoding (Sennrich, Haddow and Birch 2016, arXiv:1508.07909) on pretoken
//! counts.
//!
//! # What is learned, exactly
//!
//! Ids: the special tokens in the order given, then the 256 bytes in the order of
//! [`TieRule::Hf`], then one new token for each merge, in order.
//!
//! 1. The count of a pair is the number of its *windows*: every place where the two tokens stand
//!    side by side in a word, times the weight of the word. Windows may overlap: `aaaa` holds `(a,
//!    a)` three times.
//! 2. The pair with the highest count is merged; among equals the [`TieRule`] decides. A pair whose
//!    token would be longer than `max_token_bytes` is never counted. A pair whose token would spell
//!    a special token is passed over, so plain text can never become a special token.
//! 3. It is joined from left to right in each word: `aaa` becomes `aa a`.
//! 4. Training ends when the vocabulary has `vocab_size` tokens, when the best count is below
//!    `min_frequency`, or when no pair is left.
//!
//! # No token is made twice
//!
//! A string has one way to become a token. So no merge meets bytes that the vocabulary has already;
//! a pair comes into being in one merge only, and its count never rises after. Proof: let a string
//! stand at some place with a token boundary at both ends, so that no merge so far has joined
//! across them. Each merge (l, r) then did inside what it does to the string alone. For l != r the
//! places cannot overlap. For l = r, joining a run of l from the left would have crossed the left
//! end if an odd number of them stood before it. So the pairs inside fall as they do alone. Hence
//! the tokens inside depend on the string and the merges only, not on where it stands.
//!
//! # Equal to `tokenizers`
//!
//! With [`TieRule::Hf`] the merges equal `tokenizers` 0.23 (`BpeTrainer` with
//! `initial_alphabet=ByteLevel.alphabet()`, `limit_alphabet` unset). There are three differences.
//! Its counts are 32 bits wide and overflow, ours are 64 and checked. It gives a token that spells
//! a special token the special token's id (rule 2). Its `max_token_length` is exclusive and does
//! not bind pairs of bytes: `max_token_bytes: n` is its `max_token_length=n + 1`, for n of 2 and
//! more.

use std::ops::ControlFlow;

use hashbrown::HashSet;

use jeton_core::codec::gpt2_alphabet::{byte_to_char, spell};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::{MAX_IDS, MAX_TOKEN_BYTES, Vocab, hasher};

use super::counts::PretokenCounts;
use super::engine::{Learned, Resume, Settings, ids_of_bytes, learn, rows_of_bytes};
use super::forced::ForcedTokens;
use super::learner::{Learner, MergePredicate, Progress, forbidden_tokens};
use super::rules::{StopReason, TieRule, no_text};

/// How to train. The default is 256 bytes and nothing learned.
#[derive(Clone, Debug)]
pub struct BpeTrainOptions {
    /// Tokens wanted, special tokens and the 256 bytes included.
    pub vocab_size: usize,
    /// Pairs that occur less often are not merged. 0 and 1 mean the same.
    pub min_frequency: u64,
    /// Special tokens, with the ids 0, 1 ... in this order.
    pub special_tokens: Vec<String>,
    /// Longest token in bytes.
    pub max_token_bytes: Option<usize>,
    /// Order of pairs with the same count.
    pub tie_rule: TieRule,
    /// Tokens that the vocabulary must have. They are completed at the end and change nothing else.
    pub forced_tokens: Vec<Vec<u8>>,
    /// Tokens that must not be made, and so nothing that would be made of them.
    pub forbidden_tokens: Vec<Vec<u8>>,
    /// Says of each pair whether it may be merged; None: all may.
    pub may_merge: Option<MergePredicate>,
    /// Learn from this many of the most frequent characters only: the others stay bytes. Among
    /// equals the lower code point is kept. None: from all.
    pub max_alphabet: Option<usize>,
    /// Merges of an interrupted run with the same counts and options. Training goes on from there,
    /// and its result equals an uninterrupted run's.
    pub resume: Vec<(u32, u32)>,
}

impl Default for BpeTrainOptions {
    fn default() -> Self {
        Self {
            vocab_size: 256,
            min_frequency: 1,
            special_tokens: Vec::new(),
            max_token_bytes: None,
            tie_rule: TieRule::Hf,
            forced_tokens: Vec::new(),
            forbidden_tokens: Vec::new(),
            may_merge: None,
            max_alphabet: None,
            resume: Vec::new(),
        }
    }
}

/// Result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedBpe {
    /// Bytes of each token in id order; the special tokens first, as their UTF-8 bytes.
    pub tokens: Vec<Vec<u8>>,
    /// How many of the tokens are special.
    pub n_special: usize,
    /// (left, right, new id) in the order in which they apply; the new ids count up.
    pub merges: Vec<(u32, u32, u32)>,
    /// Why it ended; anything but `VocabFull` means fewer tokens than were asked for.
    pub stop: StopReason,
}

/// Learn merges from counts. The result depends on the counts and the options only.
///
/// `on_progress` is called before the first merge, then now and then, and at the end; `Break`
/// stops.
///
/// # Errors
///
/// `Training`: the vocabulary has no room for the special tokens and the 256 bytes, or there is no
/// text. Also if a special token is empty, given twice or spells a single byte. `TooLarge`: more
/// than 2^24 tokens, or more text than the loop can count. `Interrupted`: `on_progress` said so.
///
/// ```
/// use jeton_train::{BpeTrainOptions, PretokenCounts, train_bpe};
/// use std::ops::ControlFlow;
/// let mut counts = PretokenCounts::new();
/// counts.add(b"low", 5)?;
/// counts.add(b"lower", 2)?;
/// let options = BpeTrainOptions {
///     vocab_size: 258,
///     ..BpeTrainOptions::default()
/// };
/// let trained = train_bpe(&counts, &options, &mut |_| ControlFlow::Continue(()))?;
/// assert_eq!(trained.tokens[256..], [b"lo".to_vec(), b"low".to_vec()]);
/// # Ok::<(), jeton_core::error::Error>(())
/// ```
pub fn train_bpe(
    counts: &PretokenCounts,
    options: &BpeTrainOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedBpe> {
    let trained = train_bpe_until(counts, options, on_progress)?;
    if trained.stop == StopReason::Interrupted {
        return Err(ErrorKind::Interrupted.into());
    }
    Ok(trained)
}

/// Trains as `train_bpe` does, but `Break` is no error: the merges learned until then come back,
/// with [`StopReason::Interrupted`]. [`BpeTrainOptions::resume`] takes them.
///
/// # Errors
///
/// As [`train_bpe`], without `Interrupted`.
pub fn train_bpe_until(
    counts: &PretokenCounts,
    options: &BpeTrainOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedBpe> {
    let vocab = first_vocab(options)?;
    require_text(counts)?;
    let mut learner = learner_of(options, &vocab, on_progress)?;
    let limited;
    let counts = match options.max_alphabet {
        None => counts,
        Some(n_chars) => {
            limited = super::frequent::limited(counts, n_chars)?;
            &limited
        }
    };
    if learner.report(vocab.size() as usize).is_break() {
        return Ok(finished(
            &vocab,
            Vec::new(),
            StopReason::Interrupted,
            options,
        ));
    }
    let cells = rows_of_bytes(counts, &vocab)?;
    let learned = learn(
        cells,
        vocab,
        settings_of(options),
        &mut learner,
        Resume::All(&options.resume),
    )?;
    complete(learned, &mut learner, options)
}

/// Make the forced tokens that are missing, and tell the end.
pub(crate) fn complete(
    learned: Learned,
    learner: &mut Learner<'_>,
    options: &BpeTrainOptions,
) -> Result<TrainedBpe> {
    let Learned {
        mut vocab,
        mut merges,
        mut stop,
        ..
    } = learned;
    if stop != StopReason::Interrupted {
        complete_forced(learner, &mut vocab, &mut merges)?;
        // The last pair and the last place in the vocabulary may go together.
        if vocab.size() as usize >= options.vocab_size {
            stop = StopReason::VocabFull;
        }
        if learner.report(vocab.size() as usize).is_break() {
            stop = StopReason::Interrupted;
        }
    }
    Ok(finished(&vocab, merges, stop, options))
}

pub(crate) fn require_text(counts: &PretokenCounts) -> Result<()> {
    if counts.is_empty() {
        return Err(no_text());
    }
    Ok(())
}

pub(crate) fn settings_of(options: &BpeTrainOptions) -> Settings {
    Settings {
        tie_rule: options.tie_rule,
        max_token_bytes: options
            .max_token_bytes
            .unwrap_or(MAX_TOKEN_BYTES)
            .min(MAX_TOKEN_BYTES),
    }
}

/// The policy that the options ask for. `vocab`: special tokens and bytes.
pub(crate) fn learner_of<'a>(
    options: &BpeTrainOptions,
    vocab: &Vocab,
    on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Learner<'a>> {
    let mut learner = Learner::new(options.vocab_size, options.min_frequency, on_progress);
    learner.forbidden = forbidden_tokens(
        options.special_tokens.iter().map(String::as_str),
        &options.forbidden_tokens,
    );
    learner.predicate.clone_from(&options.may_merge);
    let id_of_byte = ids_of_bytes(vocab)?;
    let mut rows = Vec::new();
    let mut seen = HashSet::with_hasher(hasher());
    for token in &options.forced_tokens {
        let shown = String::from_utf8_lossy(token);
        if token.is_empty() {
            return Err(Error::training("a forced token is empty"));
        }
        if learner.forbidden.contains(token) {
            return Err(Error::training(format!(
                "the token {shown:?} is forced, but it is a special token or forbidden"
            )));
        }
        if options
            .max_token_bytes
            .is_some_and(|most| token.len() > most)
        {
            return Err(Error::training(format!(
                "the forced token {shown:?} has {} bytes, more than max_token_bytes allows",
                token.len()
            )));
        }
        if seen.insert(token.as_slice()) {
            rows.push(
                token
                    .iter()
                    .map(|&byte| id_of_byte[usize::from(byte)])
                    .collect(),
            );
        }
    }
    learner.forced = ForcedTokens::new(rows);
    if !learner.forced.is_empty() {
        let n_needed = learner.forced.clone().complete(u32::MAX).len();
        let room = options.vocab_size - vocab.size() as usize;
        if n_needed > room {
            return Err(Error::training(format!(
                "vocab_size {} has room for {room} learned tokens; the forced tokens need {n_needed} with those \
                 that they are made of",
                options.vocab_size
            )));
        }
    }
    Ok(learner)
}

/// Make the merges that forced tokens lack.
fn complete_forced(
    learner: &mut Learner<'_>,
    vocab: &mut Vocab,
    merges: &mut Vec<(u32, u32, u32)>,
) -> Result<()> {
    let missing = std::mem::take(&mut learner.forced).complete(vocab.size());
    for (left, right, id) in missing {
        let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
        let token_bytes = [bytes(left), bytes(right)].concat();
        if learner.forbidden.contains(&token_bytes) {
            return Err(Error::training(format!(
                "a forced token needs {:?} as a part, which is a special token or forbidden",
                String::from_utf8_lossy(&token_bytes)
            )));
        }
        vocab.insert(id, &token_bytes)?;
        merges.push((left, right, id));
    }
    Ok(())
}

fn finished(
    vocab: &Vocab,
    merges: Vec<(u32, u32, u32)>,
    stop: StopReason,
    options: &BpeTrainOptions,
) -> TrainedBpe {
    TrainedBpe {
        tokens: vocab.iter().map(|(_, bytes)| bytes.to_vec()).collect(),
        n_special: options.special_tokens.len(),
        merges,
        stop,
    }
}

/// Special tokens and bytes, after checking that they fit what is asked.
pub(crate) fn first_vocab(options: &BpeTrainOptions) -> Result<Vocab> {
    let special_tokens = &options.special_tokens;
    let needed = special_tokens.len() + 256;
    let vocab_size = options.vocab_size;
    if vocab_size < needed {
        return Err(Error::training(format!(
            "vocab_size {vocab_size} is too small: {} special tokens and 256 bytes need {needed}",
            special_tokens.len(),
        )));
    }
    if vocab_size > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    let mut vocab = Vocab::with_capacity(vocab_size);
    let mut seen = HashSet::with_hasher(hasher());
    for (id, token) in special_tokens.iter().enumerate() {
        if token.is_empty() {
            return Err(Error::training(format!(
                "special token number {} is empty",
                id + 1
            )));
        }
        if !seen.insert(token.as_str()) {
            return Err(Error::training(format!(
                "the special token {token:?} is given twice"
            )));
        }
        if token.len() == 1 || spell(token).is_some_and(|bytes| bytes.len() == 1) {
            return Err(Error::training(format!(
                "the special token {token:?} spells a single byte, which is a token already\n\
                 hint: special tokens are strings that ordinary text does not hold, like <|endoftext|>"
            )));
        }
        vocab.insert_opaque(id as u32, token.as_bytes())?;
    }
    // `tokenizers` orders its alphabet by code point, and ids decide ties: so this order is part of
    // the result.
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    bytes.sort_unstable_by_key(|&byte| byte_to_char(byte));
    for byte in bytes {
        vocab.insert(vocab.size(), &[byte])?;
    }
    Ok(vocab)
}
