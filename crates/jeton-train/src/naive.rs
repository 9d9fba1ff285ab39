//! Training by recounting everything at each step, from the rules in [`super::bpe`],
//! [`super::superword`] and [`super::parity`]: tests only.

use std::collections::BTreeMap;

use jeton_core::vocab::Vocab;

use super::bpe::{BpeTrainOptions, TrainedBpe, first_vocab};
use super::counts::PretokenCounts;
use super::learner::forbidden_tokens;
use super::rules::{StopReason, TieRule};

pub(crate) type Pair = (u32, u32);
pub(crate) type Row = (Vec<u32>, u64);

/// Join `pair` from left to right.
pub(crate) fn join(word: &mut Vec<u32>, pair: Pair, new: u32) {
    let mut at = 0;
    while at + 1 < word.len() {
        if (word[at], word[at + 1]) == pair {
            word.splice(at..at + 2, [new]);
        }
        at += 1;
    }
}

/// Bytes as ids.
pub(crate) fn bytes_as_ids(vocab: &Vocab, bytes: &[u8]) -> Vec<u32> {
    bytes
        .iter()
        .map(|&byte| vocab.bytes_to_id(&[byte]).unwrap())
        .collect()
}

/// The bytes that a pair makes.
pub(crate) fn joined(vocab: &Vocab, (left, right): Pair) -> Vec<u8> {
    [
        vocab.id_to_bytes(left).unwrap(),
        vocab.id_to_bytes(right).unwrap(),
    ]
    .concat()
}

/// The pair that comes next in these rows, with its count.
pub(crate) fn best_pair(
    rows: &[Row],
    vocab: &Vocab,
    options: &BpeTrainOptions,
    may_merge: &dyn Fn(&[u8]) -> bool,
) -> Option<(Pair, u64)> {
    let forbidden = forbidden_tokens(
        options.special_tokens.iter().map(String::as_str),
        &options.forbidden_tokens,
    );
    let longest = options.max_token_bytes.unwrap_or(usize::MAX);
    let mut windows: BTreeMap<Pair, u64> = BTreeMap::new();
    for (row, weight) in rows {
        for window in row.windows(2) {
            *windows.entry((window[0], window[1])).or_default() += weight;
        }
    }
    let bytes = |id| vocab.id_to_bytes(id).unwrap();
    windows
        .into_iter()
        .filter(|&(pair, count)| {
            let token_bytes = joined(vocab, pair);
            count >= options.min_frequency.max(1)
                && token_bytes.len() <= longest
                && !forbidden.contains(&token_bytes)
                && may_merge(&token_bytes)
                && options
                    .may_merge
                    .as_ref()
                    .is_none_or(|may| (may.0)(bytes(pair.0), bytes(pair.1)))
        })
        .min_by(|&(a, count_a), &(b, count_b)| {
            count_b.cmp(&count_a).then_with(|| match options.tie_rule {
                TieRule::Hf => a.cmp(&b),
                TieRule::Bytes => (bytes(a.0), bytes(a.1)).cmp(&(bytes(b.0), bytes(b.1))),
                TieRule::SentencePiece => {
                    let key = |pair| {
                        let token_bytes = joined(vocab, pair);
                        let chars = token_bytes.iter().filter(|&&byte| byte >> 6 != 2).count();
                        (chars, token_bytes)
                    };
                    key(a).cmp(&key(b))
                }
            })
        })
}

/// A new token of a pair.
///
/// Panics if a merge makes bytes that the vocabulary has: that this cannot be is proved in
/// [`super::bpe`] and relied upon by the fast twin.
pub(crate) fn make(vocab: &mut Vocab, pair: Pair) -> u32 {
    let token_bytes = joined(vocab, pair);
    assert_eq!(
        vocab.bytes_to_id(&token_bytes),
        None,
        "a token is made twice"
    );
    let new = vocab.size();
    vocab.insert(new, &token_bytes).unwrap();
    new
}

/// The merges that forced tokens lack, made from left to right.
fn completion(forced: &[Vec<u32>], mut next: u32) -> Vec<(u32, u32, u32)> {
    let mut forced = forced.to_vec();
    let mut merges = Vec::new();
    for index in 0..forced.len() {
        while forced[index].len() > 1 {
            let pair = (forced[index][0], forced[index][1]);
            forced.iter_mut().for_each(|row| join(row, pair, next));
            merges.push((pair.0, pair.1, next));
            next += 1;
        }
    }
    merges
}

/// Learning after some start: what the options and `may_merge` allow, in `rows`, up to `size`.
pub(crate) fn learn_naive(
    rows: &mut [Row],
    vocab: &mut Vocab,
    forced: &mut [Vec<u32>],
    merges: &mut Vec<(u32, u32, u32)>,
    options: &BpeTrainOptions,
    size: usize,
    may_merge: &dyn Fn(&[u8]) -> bool,
) -> StopReason {
    loop {
        let n_tokens = vocab.size() as usize;
        let n_missing = completion(forced, 1 << 30).len();
        if n_tokens >= size || n_missing > 0 && n_tokens + n_missing >= options.vocab_size {
            return StopReason::VocabFull;
        }
        let Some((pair, _)) = best_pair(rows, vocab, options, may_merge) else {
            return StopReason::NoPairLeft;
        };
        let new = make(vocab, pair);
        merges.push((pair.0, pair.1, new));
        rows.iter_mut().for_each(|(row, _)| join(row, pair, new));
        forced.iter_mut().for_each(|row| join(row, pair, new));
    }
}

/// Forced tokens as rows of bytes.
pub(crate) fn forced_rows(vocab: &Vocab, options: &BpeTrainOptions) -> Vec<Vec<u32>> {
    options
        .forced_tokens
        .iter()
        .map(|token| bytes_as_ids(vocab, token))
        .collect()
}

/// The tokens of all that was learned, forced tokens completed.
pub(crate) fn finish_naive(
    mut vocab: Vocab,
    forced: &[Vec<u32>],
    mut merges: Vec<(u32, u32, u32)>,
    mut stop: StopReason,
    options: &BpeTrainOptions,
) -> TrainedBpe {
    for (left, right, id) in completion(forced, vocab.size()) {
        assert_eq!(make(&mut vocab, (left, right)), id);
        merges.push((left, right, id));
    }
    if vocab.size() as usize >= options.vocab_size {
        stop = StopReason::VocabFull;
    }
    TrainedBpe {
        tokens: vocab.iter().map(|(_, bytes)| bytes.to_vec()).collect(),
        n_special: options.special_tokens.len(),
        merges,
        stop,
    }
}

/// The rows that words begin as, with characters left out that are not among the most frequent.
fn rows_of(counts: &PretokenCounts, vocab: &Vocab, max_alphabet: Option<usize>) -> Vec<Row> {
    let mut chars: BTreeMap<char, u64> = BTreeMap::new();
    for (word, weight) in counts.iter_sorted() {
        for char in std::str::from_utf8(word).unwrap().chars() {
            *chars.entry(char).or_default() += weight;
        }
    }
    let mut chars: Vec<(char, u64)> = chars.into_iter().collect();
    chars.sort_by_key(|&(char, count)| (u64::MAX - count, char));
    chars.truncate(max_alphabet.unwrap_or(usize::MAX));
    let mut rows = Vec::new();
    for (word, weight) in counts.iter_sorted() {
        let text = std::str::from_utf8(word).unwrap();
        for piece in text.split(|char| !chars.iter().any(|&(kept, _)| kept == char)) {
            rows.push((bytes_as_ids(vocab, piece.as_bytes()), weight));
        }
    }
    rows
}

/// The slow twin of [`super::train_bpe`], without progress and without the checks.
pub(crate) fn train_bpe_naive(counts: &PretokenCounts, options: &BpeTrainOptions) -> TrainedBpe {
    train_naive(counts, options).0
}

/// Number of merges that the text teaches; merges that complete forced tokens come after.
pub(crate) fn train_bpe_naive_learned(counts: &PretokenCounts, options: &BpeTrainOptions) -> usize {
    train_naive(counts, options).1
}

fn train_naive(counts: &PretokenCounts, options: &BpeTrainOptions) -> (TrainedBpe, usize) {
    let mut vocab = first_vocab(options).unwrap();
    let mut rows = rows_of(counts, &vocab, options.max_alphabet);
    let mut forced = forced_rows(&vocab, options);
    let mut merges = Vec::new();
    let stop = learn_naive(
        &mut rows,
        &mut vocab,
        &mut forced,
        &mut merges,
        options,
        options.vocab_size,
        &|_| true,
    );
    let n_learned = merges.len();
    (
        finish_naive(vocab, &forced, merges, stop, options),
        n_learned,
    )
}
