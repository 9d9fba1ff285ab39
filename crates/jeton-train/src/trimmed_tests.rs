//! BPE without scaffolding: by hand, and against twins that merge every word from its bytes.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::bpe::{BpeTrainOptions, TrainedBpe, train_bpe};
use super::trimmed::{Kept, Pool, TrainedTrimmed, TrimmedOptions, Uses, train_trimmed};
use super::words::words_of;
use super::{PretokenCounts, StopReason};

fn counts_of(words: &[(String, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for (word, weight) in words {
        counts.add(word.as_bytes(), *weight).unwrap();
    }
    counts
}

fn bpe_options(vocab_size: usize) -> BpeTrainOptions {
    BpeTrainOptions {
        vocab_size,
        ..BpeTrainOptions::default()
    }
}

fn plain(counts: &PretokenCounts, vocab_size: usize) -> TrainedBpe {
    train_bpe(counts, &bpe_options(vocab_size), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap()
}

fn train(counts: &PretokenCounts, vocab_size: usize, per_mille: u64, n: usize) -> TrainedTrimmed {
    let options = TrimmedOptions {
        bpe: bpe_options(vocab_size),
        least_use_per_mille: per_mille,
    };
    train_trimmed(counts, &options, n, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// A word as ids: whole if it is a token, else from its bytes, the merge of the lowest new id
/// first.
fn naive_encode(
    tokens: &[Vec<u8>],
    merges: &[(u32, u32, u32)],
    word: &[u8],
    whole: bool,
) -> Vec<u32> {
    let id_of = |bytes: &[u8]| tokens.iter().position(|token| token == bytes);
    if whole && let Some(id) = id_of(word) {
        return vec![id as u32];
    }
    let mut ids: Vec<u32> = word.iter().map(|&b| id_of(&[b]).unwrap() as u32).collect();
    while let Some((new, at)) = (1..ids.len())
        .filter_map(|at| {
            let pair = (ids[at - 1], ids[at]);
            let merge = merges.iter().find(|merge| (merge.0, merge.1) == pair)?;
            Some((merge.2, at - 1))
        })
        .min()
    {
        ids.splice(at..at + 2, [new]);
    }
    ids
}

fn naive_without(large: &TrainedBpe, is_gone: &[bool]) -> Kept {
    let mut merges: Vec<(u32, u32, u32)> = Vec::new();
    let mut pairs = vec![None; is_gone.len()];
    for id in (256..is_gone.len()).filter(|&id| !is_gone[id]) {
        let ids = naive_encode(&large.tokens, &merges, &large.tokens[id], false);
        if let [left, right] = ids[..] {
            merges.push((left, right, id as u32));
            pairs[id] = Some((left, right));
        }
    }
    Kept {
        is_kept: is_gone.iter().map(|gone| !gone).collect(),
        pairs,
    }
}

fn naive_uses(counts: &PretokenCounts, large: &TrainedBpe, kept: &Kept) -> Uses {
    let merges: Vec<_> = (0u32..)
        .zip(&kept.pairs)
        .filter_map(|(id, pair)| pair.map(|(left, right)| (left, right, id)))
        .collect();
    // A dropped token is not found as a whole.
    let tokens: Vec<Vec<u8>> = large
        .tokens
        .iter()
        .zip(&kept.is_kept)
        .map(|(token, &is_kept)| if is_kept { token.clone() } else { Vec::new() })
        .collect();
    let n = kept.is_kept.len();
    let mut uses = Uses {
        all: vec![0; n],
        within: vec![0; n],
    };
    for (word, weight) in counts.iter() {
        let ids = naive_encode(&tokens, &merges, word, true);
        for &id in &ids {
            uses.all[id as usize] += weight;
            uses.within[id as usize] += if ids.len() > 1 { weight } else { 0 };
        }
    }
    uses
}

fn owned(words: &[(&str, u64)]) -> Vec<(String, u64)> {
    let owned = |&(word, weight): &(&str, u64)| (word.to_owned(), weight);
    words.iter().map(owned).collect()
}

#[test]
fn what_only_leads_to_others_goes() {
    // "abcd" by way of "ab" and "cd", which no text becomes.
    let counts = counts_of(&owned(&[("abcd", 100), ("xy", 20), ("pq", 19)]));
    let large = plain(&counts, 259);
    assert_eq!(
        large.tokens[256..],
        [b"ab".to_vec(), b"cd".to_vec(), b"abcd".to_vec()]
    );
    let words = words_of(&counts);
    let pool = pool(&words, &large, 500);
    let gone = |gone: &[usize]| -> Vec<bool> { (0..259).map(|id| gone.contains(&id)).collect() };
    // Four bytes are no pair: it is a token of whole words only.
    let kept = pool.without(&gone(&[256, 257]));
    assert_eq!(kept.pairs[258], None);
    assert_eq!(pool.uses(&kept).unwrap().all[258], 100);
    // Nor are "ab", "c" and "d".
    assert_eq!(pool.without(&gone(&[257])).pairs[258], None);
    assert_eq!(pool.without(&gone(&[])).pairs[258], Some((256, 257)));
}

#[test]
fn a_vocabulary_without_scaffolding_needs_fewer_tokens() {
    let mut words = owned(&[("abcd", 1000)]);
    let pairs = ["ij", "kl", "mn", "op", "qr", "st", "uv", "wx"];
    words.extend(
        (0u64..)
            .zip(pairs)
            .map(|(i, word)| (word.to_owned(), 90 - i)),
    );
    let counts = counts_of(&words);
    let size = 256 + 9;
    let trained = train(&counts, size, 500, 1);
    assert_eq!(trained.bpe.tokens.len(), size);
    assert_eq!(trained.bpe.stop, StopReason::VocabFull);
    // Without "ab" and "cd" there is room for the last two pairs, 84 and 83 times.
    assert_eq!(trained.removed, [b"ab".to_vec(), b"cd".to_vec()]);
    assert_eq!(trained.n_tokens + 84 + 83, trained.n_plain_tokens);
    assert_eq!(trained.n_whole_only, 1);
    // Nothing is scaffolding if it need not be used.
    let all = train(&counts, size, 0, 1);
    assert_eq!(all.bpe, plain(&counts, size));
    assert_eq!(all.n_tokens, all.n_plain_tokens);
}

#[test]
fn forced_tokens_stay() {
    let words = owned(&[
        ("abcd", 100),
        ("xy", 20),
        ("pq", 19),
        ("rs", 18),
        ("tu", 17),
    ]);
    let counts = counts_of(&words);
    let mut options = TrimmedOptions {
        bpe: bpe_options(263),
        least_use_per_mille: 1000,
    };
    options.bpe.forced_tokens = vec![b"abc".to_vec()];
    let trained = train_trimmed(&counts, &options, 1, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(trained.bpe.tokens.contains(&b"abc".to_vec()));
    assert!(!trained.removed.contains(&b"abc".to_vec()));
}

fn pool<'a>(words: &'a super::words::Words<'a>, large: &'a TrainedBpe, per_mille: u64) -> Pool<'a> {
    Pool {
        words,
        tokens: &large.tokens,
        merges: &large.merges,
        n_special: 0,
        n_base: 256,
        is_forced: vec![false; large.tokens.len()],
        least_use_per_mille: per_mille,
        num_threads: 2,
    }
}

fn any_words() -> impl Strategy<Value = Vec<(String, u64)>> {
    proptest::collection::vec(("[abc]{1,9}|[ab]{1,5}é?", 1_u64..40), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any tokens taken out: the merges that are left and what they make of the text.
    #[test]
    fn merges_and_uses_equal_those_of_the_naive_twin(
        words in any_words(),
        n_merges in 1_usize..24,
        gone in proptest::collection::vec(any::<bool>(), 24),
    ) {
        let counts = counts_of(&words);
        let large = plain(&counts, 256 + n_merges);
        let words = words_of(&counts);
        let pool = pool(&words, &large, 500);
        let is_gone: Vec<bool> = (0..large.tokens.len())
            .map(|id| id >= 256 && gone[id - 256])
            .collect();
        let kept = pool.without(&is_gone);
        prop_assert_eq!(&kept, &naive_without(&large, &is_gone));
        prop_assert_eq!(pool.uses(&kept).unwrap(), naive_uses(&counts, &large, &kept));
    }

    /// The result agrees with its own figures, is equal on any number of threads, and is never
    /// worse than plain BPE.
    #[test]
    fn it_is_never_worse_than_plain_bpe(
        words in any_words(),
        n_merges in 1_usize..24,
        per_mille in 0_u64..2000,
    ) {
        let counts = counts_of(&words);
        let size = 256 + n_merges;
        let trained = train(&counts, size, per_mille, 1);
        prop_assert_eq!(&trained, &train(&counts, size, per_mille, 3));
        let plain = plain(&counts, size);
        prop_assert!(trained.bpe.tokens.len() <= plain.tokens.len());
        let count = |bpe: &TrainedBpe| -> u64 {
            counts
                .iter()
                .map(|(word, weight)| {
                    naive_encode(&bpe.tokens, &bpe.merges, word, true).len() as u64 * weight
                })
                .sum()
        };
        prop_assert_eq!(trained.n_tokens, count(&trained.bpe));
        prop_assert_eq!(trained.n_plain_tokens, count(&plain));
        prop_assert!(trained.n_tokens <= trained.n_plain_tokens);
        let n_learned = trained.bpe.tokens.len() - 256;
        prop_assert_eq!(trained.bpe.merges.len() + trained.n_whole_only, n_learned);
        for &(left, right, new) in &trained.bpe.merges {
            let joined = [&trained.bpe.tokens[left as usize][..], &trained.bpe.tokens[right as usize]].concat();
            prop_assert_eq!(&joined, &trained.bpe.tokens[new as usize]);
        }
    }
}
