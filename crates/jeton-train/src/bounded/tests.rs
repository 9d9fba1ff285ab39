//! Learning in rounds against learning at once, in as little memory as makes for many rounds.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{PretokenCounts, TieRule, train_bpe};

struct InMemory(BTreeMap<Vec<u8>, u64>);

impl CountSource for InMemory {
    fn each(&mut self, visit: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|(word, &count)| visit(word, count))
    }

    fn scratch(&mut self) -> Result<Box<dyn Scratch>> {
        Ok(Box::new(Bytes::default()))
    }
}

#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    at: usize,
}

impl Scratch for Bytes {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn rewind(&mut self) -> Result<()> {
        self.at = 0;
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.bytes[self.at..][..bytes.len()]);
        self.at += bytes.len();
        Ok(())
    }
}

fn options(vocab_size: usize) -> BpeTrainOptions {
    BpeTrainOptions {
        vocab_size,
        ..BpeTrainOptions::default()
    }
}

/// Learns both ways; returns the rounds that it took.
fn check(words: &BTreeMap<Vec<u8>, u64>, options: &BpeTrainOptions, max_memory: usize) -> usize {
    let mut counts = PretokenCounts::new();
    for (word, &count) in words {
        counts.add(word, count).unwrap();
    }
    let go = &mut |_| ControlFlow::Continue(());
    let expected = train_bpe(&counts, options, go).unwrap();
    let mut source = InMemory(words.clone());
    let (found, n_rounds) = train_bpe_bounded(&mut source, options, max_memory, go).unwrap();
    assert_eq!(found, expected);
    n_rounds
}

fn noise(n: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

fn corpus() -> BTreeMap<Vec<u8>, u64> {
    let syllables = [
        "ka", "to", "mi", "lo", "re", "n", "s", "th", "ing", "a", "aa",
    ];
    let mut words = BTreeMap::new();
    for n in noise(20_000) {
        let parts = 1 + (n % 6) as usize;
        let word: String = (0..parts)
            .map(|i| syllables[(n >> (8 + i * 5)) as usize % syllables.len()])
            .collect();
        *words.entry(word.into_bytes()).or_default() += 1 + (n >> 50) % 40;
    }
    words
}

#[test]
fn rounds_change_nothing() {
    let words = corpus();
    let mut most = 0;
    // The least that is enough makes for the most rounds.
    let enough = |max_memory: &usize| {
        let go = &mut |_| ControlFlow::Continue(());
        train_bpe_bounded(&mut InMemory(words.clone()), &options(900), *max_memory, go).is_ok()
    };
    let least = (14..30).map(|bits| 1 << bits).find(enough).unwrap();
    for max_memory in [least, 2 * least, 8 * least, 1 << 30] {
        for tie_rule in [TieRule::Hf, TieRule::Bytes, TieRule::SentencePiece] {
            let options = BpeTrainOptions {
                tie_rule,
                ..options(900)
            };
            most = most.max(check(&words, &options, max_memory));
        }
    }
    assert!(most > 1, "{most}");
    let with_rules = BpeTrainOptions {
        min_frequency: 50,
        max_token_bytes: Some(7),
        special_tokens: vec!["<|end|>".into(), "kato".into()],
        forbidden_tokens: vec![b"ing".to_vec()],
        ..options(5000)
    };
    for max_memory in [8 * least, 1 << 30] {
        check(&words, &with_rules, max_memory);
    }
}

/// Words of random syllables. All pairs of syllables are about equally frequent, so no floor parts
/// them well. The sum of two pairs in one bucket is above every count.
fn flat_corpus() -> BTreeMap<Vec<u8>, u64> {
    let mut words = BTreeMap::new();
    for n in noise(20_000) {
        let word: String = (0..6)
            .flat_map(|i| {
                let digit = (n >> (10 * i)) as usize & 0x3ff;
                let consonant = b"bdgklmnrstvz"[digit % 12];
                [char::from(consonant), char::from(b"aeiou"[digit / 12 % 5])]
            })
            .collect();
        *words.entry(word.into_bytes()).or_default() += 1 + n % 3;
    }
    words
}

#[test]
fn frequencies_that_hardly_differ_are_learned_alike() {
    let words = flat_corpus();
    let options = options(1500);
    // The least that is enough makes for the most rounds: a fraction of the 10 MB that all places
    // of all pairs take.
    let enough = |max_memory: &usize| {
        let go = &mut |_| ControlFlow::Continue(());
        train_bpe_bounded(&mut InMemory(words.clone()), &options, *max_memory, go).is_ok()
    };
    let least = (14..30).map(|bits| 1 << bits).find(enough).unwrap();
    assert!(least <= 1 << 22, "{least}");
    let n_rounds = check(&words, &options, least);
    assert!(n_rounds > 1, "{n_rounds}");
    check(&words, &options, 4 * least);
}

#[test]
fn too_little_memory_is_an_error_and_no_text_too() {
    let go = &mut |_| ControlFlow::Continue(());
    let mut source = InMemory(corpus());
    let error = train_bpe_bounded(&mut source, &options(900), 500, go).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    let error = train_bpe_bounded(&mut InMemory(BTreeMap::new()), &options(900), 500, go);
    assert!(error.unwrap_err().to_string().contains("no text"));
    let mut source = InMemory(corpus());
    let stopped = train_bpe_bounded(&mut source, &options(900), 1 << 20, &mut |_| {
        ControlFlow::Break(())
    });
    assert_eq!(*stopped.unwrap_err().kind(), ErrorKind::Interrupted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_words_are_learned_alike(
        words in proptest::collection::btree_map("[ab]{1,9}|[abc]{1,30}|a{1,40}", 1_u64..30, 1..80),
        size in 257_usize..320,
        min_frequency in 1_u64..6,
        max_memory in proptest::sample::select(vec![6_000_usize, 30_000, 1 << 20]),
        bytes in any::<bool>(),
    ) {
        let words: BTreeMap<Vec<u8>, u64> =
            words.into_iter().map(|(word, n)| (word.into_bytes(), n)).collect();
        let options = BpeTrainOptions {
            min_frequency,
            tie_rule: if bytes { TieRule::Bytes } else { TieRule::Hf },
            ..options(size)
        };
        let mut source = InMemory(words.clone());
        let go = &mut |_| ControlFlow::Continue(());
        // With almost no memory it may be impossible, but never different.
        if train_bpe_bounded(&mut source, &options, max_memory, go).is_ok() {
            check(&words, &options, max_memory);
        } else {
            prop_assert!(max_memory < 1 << 20);
        }
    }
}

proptest! {
    /// Words come back with their counts, in their order, as often as wanted. Words of one token
    /// are not kept.
    #[test]
    fn words_beside_memory_come_back(
        words in proptest::collection::vec(
            (proptest::collection::vec(any::<u32>().prop_map(|n| n >> (n % 32)), 0..12), any::<u64>()),
            0..200,
        ),
    ) {
        let mut kept = Words::new(Box::new(Bytes::default()));
        for (tokens, count) in &words {
            kept.push(tokens, *count).unwrap();
        }
        kept.finish().unwrap();
        let expected: Vec<_> = words.into_iter().filter(|(tokens, _)| tokens.len() > 1).collect();
        prop_assert_eq!(kept.len(), expected.len() as u64);
        for _ in 0..2 {
            let mut found = Vec::new();
            kept.each(&mut |tokens, count| {
                found.push((tokens.clone(), count));
                Ok(())
            }).unwrap();
            prop_assert_eq!(&found, &expected);
        }
    }
}
