//! Conditions of every trainer of this family for a merge: room in the vocabulary, frequency,
//! wanted and unwanted tokens; and progress.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashSet;

use jeton_core::codec::gpt2_alphabet::spell;
use jeton_core::vocab::{Vocab, hasher};

use super::engine::{Merge, MergePolicy};
use super::forced::ForcedTokens;
use super::rules::StopReason;

pub(crate) type ByteStrings = HashSet<Vec<u8>, foldhash::fast::FixedState>;

/// How far training is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Tokens that the vocabulary has.
    pub n_tokens: usize,
    /// Tokens wanted.
    pub vocab_size: usize,
}

/// Says whether two tokens, given as their bytes, may become one. Asked once for each pair, when it
/// is the best; the same answer for the same pair, or the result is not reproducible.
#[derive(Clone)]
#[allow(clippy::type_complexity)] // named nowhere else
pub struct MergePredicate(pub Arc<dyn Fn(&[u8], &[u8]) -> bool + Send + Sync>);

impl fmt::Debug for MergePredicate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MergePredicate")
    }
}

/// The bytes that a token must not have: the special tokens' own, and their spelling in the byte
/// alphabet, since `tokenizer.json` has one name for both.
pub(crate) fn forbidden_tokens<'t>(
    special_tokens: impl IntoIterator<Item = &'t str>,
    others: &[Vec<u8>],
) -> ByteStrings {
    let mut forbidden = HashSet::with_hasher(hasher());
    for token in special_tokens {
        forbidden.insert(token.as_bytes().to_vec());
        forbidden.extend(spell(token));
    }
    forbidden.extend(others.iter().cloned());
    forbidden
}

/// Merges between two reports: rarely enough to cost nothing, often enough to move a bar.
const MERGES_PER_REPORT: usize = 256;
/// Places visited between two reports: about a hundredth of a second, so that Ctrl-C works during
/// the first merges, which are the largest.
const PLACES_PER_REPORT: usize = 1 << 20;

/// Stop rules, tokens that are wanted or not, progress.
pub(crate) struct Learner<'a> {
    /// Size at which to stop.
    pub(crate) vocab_size: usize,
    pub(crate) min_frequency: u64,
    pub(crate) forbidden: ByteStrings,
    /// True if a token must not have the bytes of a known one. Merges make none twice, but a
    /// continued vocabulary may have tokens that no merge makes.
    pub(crate) forbid_known: bool,
    pub(crate) predicate: Option<MergePredicate>,
    /// Most words of a token, where tokens may have several.
    pub(crate) max_words: usize,
    pub(crate) forced: ForcedTokens,
    /// Size after the last stage, the size wanted in reports.
    pub(crate) reported_size: usize,
    places_since: usize,
    merges_since: usize,
    on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl<'a> Learner<'a> {
    pub(crate) fn new(
        vocab_size: usize,
        min_frequency: u64,
        on_progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Self {
        Self {
            vocab_size,
            min_frequency,
            forbidden: HashSet::with_hasher(hasher()),
            forbid_known: false,
            predicate: None,
            max_words: usize::MAX,
            forced: ForcedTokens::default(),
            reported_size: vocab_size,
            places_since: 0,
            merges_since: 0,
            on_progress,
        }
    }

    /// Tell how far it is, whatever was told before.
    pub(crate) fn report(&mut self, n_tokens: usize) -> ControlFlow<()> {
        (self.on_progress)(Progress {
            n_tokens,
            vocab_size: self.reported_size,
        })
    }
}

impl MergePolicy for Learner<'_> {
    fn may_merge(&mut self, vocab: &Vocab, (left, right): (u32, u32)) -> bool {
        let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
        let (left, right) = (bytes(left), bytes(right));
        if self.max_words < usize::MAX || self.forbid_known || !self.forbidden.is_empty() {
            let joined = [left, right].concat();
            let is_known = self.forbid_known && vocab.bytes_to_id(&joined).is_some();
            if is_known || self.forbidden.contains(&joined) || n_words(&joined) > self.max_words {
                return false;
            }
        }
        self.predicate
            .as_ref()
            .is_none_or(|predicate| (predicate.0)(left, right))
    }

    #[inline]
    fn stop(&mut self, n_tokens: usize, _best_count: u64) -> Option<StopReason> {
        let full = n_tokens >= self.vocab_size || self.forced.fill(self.reported_size - n_tokens);
        full.then_some(StopReason::VocabFull)
    }

    #[inline]
    fn min_count(&self) -> u64 {
        self.min_frequency
    }

    #[inline]
    fn on_merge(&mut self, vocab: &Vocab, merge: &Merge) -> ControlFlow<()> {
        self.forced.merge((merge.left, merge.right), merge.new);
        self.merges_since += 1;
        self.places_since += merge.n_places;
        if self.merges_since < MERGES_PER_REPORT && self.places_since < PLACES_PER_REPORT {
            return ControlFlow::Continue(());
        }
        (self.merges_since, self.places_since) = (0, 0);
        self.report(vocab.size() as usize)
    }
}

/// Number of a token's words: runs of bytes without ASCII white space.
pub(crate) fn n_words(token: &[u8]) -> usize {
    token
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .count()
}
