//! The merge loop: take the best pair, join it wherever it stands, adjust what changed.
//!
//! Cost: O(1) for each place that a merge visits (amortised over the hash table), O(log n) for each
//! pair that rises to the top of the queue. A merge makes one token of two. So all merges together
//! visit fewer places than the distinct words have bytes, times a small factor for places that are
//! out of date. The loop runs on one thread: a merge visits a few thousand places on average, less
//! than it costs to wake another thread.

use std::ops::ControlFlow;

use jeton_core::error::{Error, Result};
use jeton_core::vocab::Vocab;

use super::cells::Cells;
use super::counts::PretokenCounts;
use super::queue::Order;
use super::rules::{StopReason, TieRule};
use super::state::{Context, Size, State};

/// One merge, as [`MergePolicy::on_merge`] is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Id on the left.
    pub left: u32,
    /// Id on the right.
    pub right: u32,
    /// Id of the token made of both.
    pub new: u32,
    /// Count of the pair when it was chosen.
    pub count: u64,
    /// Places in distinct words that were looked at.
    pub n_places: usize,
}

/// Differences between merge-based trainers. The defaults are plain BPE without end.
pub trait MergePolicy {
    /// Worth of a pair that occurs `count` times; the highest is merged next. A score depends on
    /// the pair and its count only, and does not rise when the count falls.
    #[inline]
    fn score(&self, _vocab: &Vocab, _pair: (u32, u32), count: u64) -> u64 {
        count
    }

    /// True if this pair may become a token. Asked once, when it is the best.
    #[inline]
    fn may_merge(&mut self, _vocab: &Vocab, _pair: (u32, u32)) -> bool {
        true
    }

    /// Lowest count of a pair worth remembering: counts never rise, so the others are dropped at
    /// once.
    #[inline]
    fn min_count(&self) -> u64 {
        1
    }

    /// True if to stop before the best pair, whose count is given, is merged.
    #[inline]
    fn stop(&mut self, _n_tokens: usize, _best_count: u64) -> Option<StopReason> {
        None
    }

    /// Called after each merge; `Break` ends training with [`StopReason::Interrupted`].
    #[inline]
    fn on_merge(&mut self, _vocab: &Vocab, _merge: &Merge) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Inputs of the loop besides the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) tie_rule: TieRule,
    /// Longest token in bytes.
    pub(crate) max_token_bytes: usize,
}

/// Result of the loop.
pub(crate) struct Learned {
    pub(crate) vocab: Vocab,
    /// (left, right, new id).
    pub(crate) merges: Vec<(u32, u32, u32)>,
    pub(crate) stop: StopReason,
    /// The rows after all merges.
    pub(crate) cells: Cells,
    /// Size of each token.
    pub(crate) sizes: Vec<Size>,
    /// Number of the merges that come from the earlier run.
    pub(crate) n_resumed: usize,
}

impl Learned {
    /// Call `each` with the weight and the tokens of every row, in the order in which they were
    /// given.
    pub(crate) fn for_each_row(&self, each: impl FnMut(i64, &[u32])) {
        self.cells
            .for_each_row(|id| self.sizes[id as usize].width as usize, each);
    }
}

/// Order of pairs with equal scores.
pub(crate) struct Ties<'a> {
    pub(crate) rule: TieRule,
    pub(crate) vocab: &'a Vocab,
}

impl Order for Ties<'_> {
    #[inline]
    fn wins_tie(&self, a: (u32, u32), b: (u32, u32)) -> bool {
        let bytes = |id| self.vocab.id_to_bytes(id).unwrap_or_default();
        match self.rule {
            TieRule::Hf => a < b,
            TieRule::Bytes => (bytes(a.0), bytes(a.1)) < (bytes(b.0), bytes(b.1)),
            TieRule::SentencePiece => {
                // No two pairs make the same bytes, so this is a total order.
                let joined = |pair: (u32, u32)| bytes(pair.0).iter().chain(bytes(pair.1));
                let n_chars = |pair| joined(pair).filter(|&&byte| byte & 0xC0 != 0x80).count();
                n_chars(a)
                    .cmp(&n_chars(b))
                    .then_with(|| joined(a).cmp(joined(b)))
                    .is_lt()
            }
        }
    }
}

/// Words of two bytes and more as rows of bytes; a single byte has no pair.
///
/// `vocab` holds all 256 bytes, findable.
pub(crate) fn rows_of_bytes(words: &PretokenCounts, vocab: &Vocab) -> Result<Cells> {
    let id_of_byte = ids_of_bytes(vocab)?;
    let mut cells = Cells::with_capacity(words.n_distinct_bytes(), words.len());
    let mut row = Vec::new();
    for (word, weight) in words.iter().filter(|(word, _)| word.len() > 1) {
        row.clear();
        row.extend(word.iter().map(|&byte| id_of_byte[usize::from(byte)]));
        cells.push(&row, weight)?;
    }
    Ok(cells)
}

/// The id of each byte.
pub(crate) fn ids_of_bytes(vocab: &Vocab) -> Result<[u32; 256]> {
    let mut id_of_byte = [0; 256];
    for byte in 0..=u8::MAX {
        id_of_byte[usize::from(byte)] = vocab
            .bytes_to_id(&[byte])
            .ok_or_else(|| Error::training(format!("the vocabulary lacks the byte {byte}")))?;
    }
    Ok(id_of_byte)
}

/// Merges of an earlier run on the same rows, which come first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resume<'a> {
    /// All of them are merges of these rows.
    All(&'a [(u32, u32)]),
    /// Merges of an earlier run up to the first that is none of these rows.
    AsFarAsItGoes(&'a [(u32, u32)]),
}

/// Merge until the policy says stop or nothing is left.
///
/// The rows of `cells` are of tokens of `vocab`; new tokens get the ids after its last. The merges
/// of `resume`, from an earlier run on the same rows, come first, unasked.
///
/// Errors: `Training` if a merge of `resume` is none of these rows.
pub(crate) fn learn<P: MergePolicy>(
    cells: Cells,
    mut vocab: Vocab,
    settings: Settings,
    policy: &mut P,
    resume: Resume<'_>,
) -> Result<Learned> {
    let mut sizes: Vec<Size> = (0..vocab.size())
        .map(|id| Size {
            width: 1,
            n_bytes: vocab.id_to_bytes(id).map_or(0, <[u8]>::len) as u32,
        })
        .collect();
    let mut merges = Vec::new();
    // The state's view of the loop, made anew where it is used since merges change the vocabulary.
    macro_rules! context {
        () => {
            &Context {
                sizes: &sizes,
                max_token_bytes: settings.max_token_bytes,
                min_count: policy.min_count().max(1),
                order: &Ties {
                    rule: settings.tie_rule,
                    vocab: &vocab,
                },
                score: |pair, count| policy.score(&vocab, pair, count),
            }
        };
    }
    let mut state = State::new(cells, context!());
    let (mut earlier, strict) = match resume {
        Resume::All(merges) => (merges, true),
        Resume::AsFarAsItGoes(merges) => (merges, false),
    };
    let mut n_resumed = 0;
    let stop = loop {
        let next = earlier.split_first().and_then(|(&pair, rest)| {
            let count = state.count(pair);
            let known = count > 0 || strict;
            earlier = if known { rest } else { &[] };
            known.then_some((pair, count))
        });
        let (pair, count) = match next {
            Some(next) => next,
            None => {
                let Some((pair, count)) = state.best(context!()) else {
                    break StopReason::NoPairLeft;
                };
                if let Some(reason) = policy.stop(vocab.size() as usize, count) {
                    break reason;
                }
                if !policy.may_merge(&vocab, pair) {
                    state.forget(pair);
                    continue;
                }
                (pair, count)
            }
        };
        if count == 0 {
            return Err(Error::training(format!(
                "merge number {} of the run to go on with is none of this text\n\
                 hint: resume with the inputs and settings of that run",
                merges.len() + 1
            )));
        }
        if next.is_some() {
            n_resumed += 1;
        }
        let (left, right) = pair;
        let new = make_token(&mut vocab, &mut sizes, pair)?;
        merges.push((left, right, new));
        let n_places = state.merge(pair, new, context!()).n_places;
        let merge = Merge {
            left,
            right,
            new,
            count,
            n_places,
        };
        if policy.on_merge(&vocab, &merge).is_break() {
            break StopReason::Interrupted;
        }
    };
    Ok(Learned {
        vocab,
        merges,
        stop,
        cells: state.into_cells(),
        sizes,
        n_resumed,
    })
}

/// Give the joined bytes of a pair the next id.
pub(crate) fn make_token(
    vocab: &mut Vocab,
    sizes: &mut Vec<Size>,
    (left, right): (u32, u32),
) -> Result<u32> {
    let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
    let token_bytes = [bytes(left), bytes(right)].concat();
    let id = vocab.size();
    vocab.insert(id, &token_bytes)?;
    sizes.push(Size {
        width: sizes[left as usize].width + sizes[right as usize].width,
        n_bytes: token_bytes.len() as u32,
    });
    Ok(id)
}
