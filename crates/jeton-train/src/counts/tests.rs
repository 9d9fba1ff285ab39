//! Counting against counting one by one: any splitter, any number of threads, any memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::cutting::Steps;
use jeton_core::documents::batch::DocumentBatch;
use jeton_core::error::{Error, ErrorKind};
use jeton_core::normalize::{NormalizerConfig, bert::BertConfig};
use jeton_core::pretokenize::components::bert_words;
use jeton_core::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig, published};
use jeton_core::text::unicode::UnicodeVersion;

/// Cuts behind each space.
const AT_SPACES: &SplitFn<'static> = &|text, sink| {
    text.split_inclusive(' ')
        .for_each(|piece| sink(piece.as_bytes()));
    Ok(())
};

fn count(documents: &[String], num_threads: usize) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    let batch = DocumentBatch::from_texts(documents);
    counts
        .count_batch(batch.as_ref(), AT_SPACES, num_threads)
        .unwrap();
    counts
}

type Facts = (Vec<(Vec<u8>, u64)>, u64, u64, u64);

fn facts(counts: &PretokenCounts) -> Facts {
    (
        counts
            .iter_sorted()
            .map(|(bytes, n)| (bytes.to_vec(), n))
            .collect(),
        counts.n_documents(),
        counts.n_bytes(),
        counts.n_pretokens(),
    )
}

#[test]
fn order_is_by_count_then_bytes() {
    let counts = count(&["b a a ".into(), "c a b".into(), String::new()], 1);
    let (items, n_documents, n_bytes, n_pretokens) = facts(&counts);
    let expected: [(&[u8], u64); 4] = [(b"a ", 3), (b"b", 1), (b"b ", 1), (b"c ", 1)];
    assert_eq!(items, expected.map(|(bytes, n)| (bytes.to_vec(), n)));
    assert_eq!((n_documents, n_bytes, n_pretokens), (3, 11, 6));
    assert_eq!((counts.get(b"a "), counts.get(b"a")), (3, 0));
}

#[test]
fn a_total_that_does_not_fit_is_an_error_and_changes_nothing() {
    let mut counts = PretokenCounts::new();
    counts.add(b"a", u64::MAX - 1).unwrap();
    let before = facts(&counts);
    let error = counts.add(b"b", 2).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::TooLarge {
            limit: u64::MAX,
            ..
        }
    ));
    assert!(counts.add(b"ab", 1).is_err());
    assert!(counts.clone().merge(&counts).is_err());
    assert_eq!(facts(&counts), before);
}

#[test]
fn bytes_that_are_not_text_are_an_error() {
    let batch = BatchRef {
        data: b"ok\xff",
        offsets: &[0, 2, 3],
    };
    let error = PretokenCounts::new()
        .count_batch(batch, AT_SPACES, 1)
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidUtf8 { byte_offset: 0 });
}

#[test]
fn the_earliest_error_comes_back_from_any_number_of_threads() {
    let fails = |text: &str, _: &mut dyn FnMut(&[u8])| {
        if text.starts_with('x') {
            Err(Error::training(&text[..2]))
        } else {
            Ok(())
        }
    };
    let documents: Vec<String> = ["y", "y", "x1", "y", "x2", "x3"]
        .map(|start| start.to_owned() + &"-".repeat(1 << 17))
        .into();
    let batch = DocumentBatch::from_texts(&documents);
    for num_threads in [1, 2, 8].repeat(5) {
        let outcome = PretokenCounts::new().count_batch(batch.as_ref(), &fails, num_threads);
        assert_eq!(outcome.unwrap_err().to_string(), "x1");
    }
}

#[test]
fn threads_really_share_a_large_batch() {
    let documents: Vec<String> = (0..40)
        .map(|i| format!("w{} ", i % 7).repeat((1 << 17) / 8))
        .collect();
    let one = facts(&count(&documents, 1));
    assert_eq!(facts(&count(&documents, 2)), one);
    assert_eq!(facts(&count(&documents, 8)), one);
}

proptest! {
    #[test]
    fn merging_counts_is_counting_together(
        first in proptest::collection::vec("[ab ]{0,12}", 0..8),
        second in proptest::collection::vec("[abé ]{0,12}", 0..8),
    ) {
        let mut merged = count(&first, 1);
        merged.merge(&count(&second, 2)).unwrap();
        let mut other_way = count(&second, 1);
        other_way.merge(&count(&first, 1)).unwrap();
        let together: Vec<String> = first.into_iter().chain(second).collect();
        let expected = facts(&count(&together, 1));
        prop_assert_eq!(facts(&merged), expected.clone());
        prop_assert_eq!(facts(&other_way), expected);
    }
}

fn steps(pattern: &str) -> Steps {
    Steps::new(
        &[],
        &[StepConfig::Split(SplitConfig {
            pattern: published::by_name(pattern).unwrap_or(pattern).to_owned(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        })],
    )
    .unwrap()
}

type Naive = BTreeMap<Vec<u8>, u64>;

/// The definition: one pretoken after the other, into an ordered map.
fn naive(documents: &[String], weights: &[u64], steps: &Steps) -> Naive {
    let mut counts = Naive::new();
    for (text, &weight) in documents.iter().zip(weights) {
        let normalized = steps.normalizer().normalize(text).unwrap();
        let outcome = steps.cut_normalized(&normalized, &mut |pretoken| {
            if !pretoken.is_empty() {
                *counts.entry(pretoken.to_vec()).or_default() += weight;
            }
            Ok(())
        });
        outcome.unwrap();
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// Counts with a limit on memory; what leaves it is added up as files would be. Returns how often
/// tables were emptied.
fn counted(
    documents: &[String],
    weights: &[u64],
    steps: &Steps,
    threads: usize,
    max_memory: usize,
    per_batch: usize,
) -> (Naive, usize, Totals) {
    let drained = Mutex::new((Naive::new(), 0));
    let drain: &DrainFn<'_> = &|drain| {
        let mut entries = Vec::new();
        drain.each(&mut |bytes, count| {
            entries.push((bytes.to_vec(), count));
            Ok(())
        })?;
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        let mut all = drained.lock().unwrap();
        all.1 += 1;
        for (bytes, count) in entries {
            let sum = all.0.entry(bytes).or_default();
            *sum = sum.wrapping_add(count);
        }
        Ok(())
    };
    let splitting = Splitting::Steps(steps);
    let mut counter = PretokenCounter::new(max_memory);
    for (documents, weights) in documents.chunks(per_batch).zip(weights.chunks(per_batch)) {
        let batch = DocumentBatch::from_texts(documents);
        let weights = Weights::Each(weights);
        counter
            .count(
                batch.as_ref(),
                weights,
                splitting,
                threads,
                &mut || true,
                drain,
            )
            .unwrap();
    }
    let totals = counter.totals();
    if max_memory == usize::MAX {
        let counts = counter.finish().unwrap();
        assert_eq!(counts.len(), counts.iter().count());
        let all = counts
            .iter()
            .map(|(bytes, n)| (bytes.to_vec(), n))
            .collect();
        return (all, 0, totals);
    }
    counter.drain(drain).unwrap();
    let (mut all, n_drained) = drained.into_inner().unwrap();
    all.retain(|_, count| *count > 0);
    (all, n_drained, totals)
}

fn check(documents: &[String], weights: &[u64], steps: &Steps) {
    let expected = naive(documents, weights, steps);
    for (threads, max_memory) in [
        (1, usize::MAX),
        (3, usize::MAX),
        (2, 3 << 20),
        (1, 60_000),
        (2, 1),
    ] {
        let (found, _, totals) = counted(documents, weights, steps, threads, max_memory, 3);
        assert_eq!(found, expected, "{threads} {max_memory}");
        assert_eq!(totals.n_pretokens, expected.values().sum::<u64>());
        let n_bytes = expected.iter().map(|(bytes, n)| bytes.len() as u64 * n);
        assert_eq!(totals.n_bytes, n_bytes.sum::<u64>());
        let n_documents = weights.iter().filter(|&&weight| weight > 0).count();
        assert_eq!(totals.n_documents, n_documents as u64);
    }
}

/// Numbers that look random, the same each time.
fn noise(n: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

#[test]
fn memory_is_bounded_and_counts_are_exact() {
    let words: Vec<String> = noise(60_000)
        .map(|n| match n % 5 {
            0 => format!("{:x}", n >> 40),
            1 => format!("{:x}{:x}", n, n >> 20),
            2 => format!("w{}", n % 50),
            3 => "x".repeat((n % 70) as usize + 1),
            _ => format!("{:040x}", n >> 50),
        })
        .collect();
    let documents: Vec<String> = words.chunks(500).map(|words| words.join(" ")).collect();
    let weights: Vec<u64> = noise(documents.len()).map(|n| n % 4).collect();
    let steps = steps(" ?[^ ]+");
    let expected = naive(&documents, &weights, &steps);
    for (threads, max_memory) in [(1, 400_000), (2, 400_000), (3, 1_000_000)] {
        let (found, n_drained, _) = counted(&documents, &weights, &steps, threads, max_memory, 7);
        assert!(n_drained > 3, "{n_drained}");
        assert_eq!(found, expected);
    }
    let mut counter = PretokenCounter::new(400_000);
    let batch = DocumentBatch::from_texts(&documents);
    let most = Mutex::new(0);
    for document in 0..batch.len() {
        counter
            .count(
                batch.as_ref().slice(document, document + 1),
                Weights::All(1),
                Splitting::Steps(&steps),
                1,
                &mut || true,
                &|drain| drain.each(&mut |_, _| Ok(())),
            )
            .unwrap();
        let mut most = most.lock().unwrap();
        *most = counter.memory_bytes().max(*most);
    }
    let most = most.into_inner().unwrap();
    assert!((300_000..=400_000).contains(&most), "{most}");
}

#[test]
fn long_pretokens_get_room_that_short_ones_had() {
    let n_drains = Mutex::new(0);
    let mut counter = PretokenCounter::new(1 << 20);
    let mut add = |pretoken: String| {
        let drained = counter.add(pretoken.as_bytes(), 1, &|drain| {
            *n_drains.lock().unwrap() += 1;
            drain.each(&mut |_, _| Ok(()))
        });
        drained.unwrap();
    };
    (0..60_000).for_each(|i| add(format!("{i}")));
    for i in 0..4_000 {
        add(format!("{i:0>60}"));
        add(format!("s{i}"));
    }
    // About four times the memory at most, so it is emptied now and then, but not for every other
    // pretoken.
    assert!((1..20).contains(&*n_drains.lock().unwrap()));
}

#[test]
fn long_texts_are_shared_and_guesses_cost_nothing() {
    // Words, among which guesses come right; digits and spaces, among which they never do; and
    // both.
    let words: String = noise(300_000).map(|n| format!("w{} ", n % 9999)).collect();
    let digits = "1234567".repeat(400_000);
    let both = format!("{words}{}{words}", &digits[..1_500_001]);
    let texts = [words, digits, both, " ".repeat(3 << 20)];
    for (index, text) in texts.into_iter().enumerate() {
        for pattern in ["llama3", "gpt2", "o200k_base"] {
            let steps = steps(pattern);
            let documents = ["short".to_owned(), text.clone()];
            let expected = naive(&documents, &[1, 3], &steps);
            for threads in [1, 3] {
                let (found, _, totals) =
                    counted(&documents, &[1, 3], &steps, threads, usize::MAX, 2);
                assert!(found == expected, "{index} {pattern} {threads}");
                assert_eq!(totals.n_pretokens, expected.values().sum::<u64>());
                let (found, ..) = counted(&documents, &[1, 3], &steps, threads, 100_000, 2);
                assert!(
                    found == expected,
                    "{index} {pattern} {threads} in little memory"
                );
            }
        }
    }
}

#[test]
fn weights_must_be_as_many_as_documents() {
    let batch = DocumentBatch::from_texts(["a", "b"]);
    let steps = steps("gpt2");
    let outcome = PretokenCounter::new(usize::MAX).count(
        batch.as_ref(),
        Weights::Each(&[1]),
        Splitting::Steps(&steps),
        1,
        &mut || true,
        &|_| Ok(()),
    );
    assert!(outcome.unwrap_err().to_string().contains("1 weights for 2"));
}

#[test]
fn whoever_asks_to_stop_is_heard() {
    let batch = DocumentBatch::from_texts(["a b c"]);
    let steps = steps("gpt2");
    let outcome = PretokenCounter::new(usize::MAX).count(
        batch.as_ref(),
        Weights::All(1),
        Splitting::Steps(&steps),
        2,
        &mut || false,
        &|_| Ok(()),
    );
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Interrupted);
}

/// Returns the steps of BERT, and two other ways to drop the white space between words.
fn steps_of_words() -> [Steps; 3] {
    let bert = |lowercase| {
        NormalizerConfig::Bert(BertConfig {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: lowercase,
            lowercase,
        })
    };
    let [white, marks] = bert_words();
    let steps = [
        Steps::new(&[bert(true)], &[white.clone(), marks.clone()]),
        Steps::new(&[bert(false)], &[white.clone(), marks]),
        Steps::new(&[], &[white]),
    ];
    steps.map(|steps| {
        let steps = steps.unwrap();
        assert!(steps.raw_cuts().is_some());
        steps
    })
}

#[test]
fn raw_words_that_fill_their_memory_are_counted_as_what_becomes_of_them() {
    let documents: Vec<String> = noise(3_000)
        .map(|n| {
            let words = (0..20).map(|i| format!("W{:x}, \u{e9}{} ", n >> i, n % 70));
            words.collect()
        })
        .collect();
    let weights: Vec<u64> = noise(documents.len()).map(|n| n % 4).collect();
    let [steps, ..] = steps_of_words();
    let expected = naive(&documents, &weights, &steps);
    for (threads, max_memory) in [(1, 2 << 20), (2, 3 << 20), (3, usize::MAX)] {
        let (found, _, totals) = counted(&documents, &weights, &steps, threads, max_memory, 1_500);
        assert!(found == expected, "{threads} {max_memory}");
        assert_eq!(totals.n_pretokens, expected.values().sum::<u64>());
    }
}

#[test]
fn long_texts_are_shared_where_words_of_raw_text_end() {
    let words: String = noise(300_000)
        .map(|n| format!("Wörd{} ", n % 9999))
        .collect();
    let texts = [
        words.clone(),
        "a".repeat(3 << 20),
        format!("{words}{}", "\u{4e00} ".repeat(1 << 19)),
    ];
    for text in texts {
        for steps in steps_of_words() {
            let documents = ["short".to_owned(), text.clone()];
            let expected = naive(&documents, &[1, 3], &steps);
            for (threads, max_memory) in [(1, usize::MAX), (3, usize::MAX), (2, 100_000)] {
                let (found, _, totals) =
                    counted(&documents, &[1, 3], &steps, threads, max_memory, 2);
                assert!(found == expected, "{threads} {max_memory}");
                assert_eq!(totals.n_documents, 2);
                assert_eq!(totals.n_pretokens, expected.values().sum::<u64>());
            }
        }
    }
}

#[test]
fn weights_beyond_what_raw_words_can_be_counted_with_are_no_error() {
    let [steps, ..] = steps_of_words();
    // More bytes than 2^64, of which normalization leaves one.
    let text = format!("{}a", "\u{300}".repeat(200));
    let weight = u64::MAX / 100;
    let expected = naive(std::slice::from_ref(&text), &[weight], &steps);
    let (found, _, totals) = counted(&[text], &[weight], &steps, 2, usize::MAX, 1);
    assert_eq!(found, expected);
    assert_eq!(totals.n_bytes, weight);
}

#[test]
fn bytes_that_are_no_text_are_told_by_their_place_in_a_long_document() {
    let [steps, ..] = steps_of_words();
    let mut data = "some words ".repeat(1 << 18).into_bytes();
    data[2_000_000] = 0xff;
    let batch = BatchRef {
        data: &data,
        offsets: &[0, data.len().try_into().unwrap()],
    };
    for threads in [1, 3] {
        let mut counter = PretokenCounter::new(usize::MAX);
        let outcome = counter.count(
            batch,
            Weights::All(1),
            Splitting::Steps(&steps),
            threads,
            &mut || true,
            &|_| Ok(()),
        );
        let kind = ErrorKind::InvalidUtf8 {
            byte_offset: 2_000_000,
        };
        assert_eq!(*outcome.unwrap_err().kind(), kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn raw_words_are_counted_as_what_becomes_of_them(
        documents in proptest::collection::vec(
            "(?s)[abAB1.,' \\t\\r\\n\u{300}\u{e9}\u{c9}\u{4e00}\u{3002}\u{ad}\u{85}\u{a0}\u{200d}\u{130}\\PC\\x01]{0,200}|(ab|A.|é|中| |\u{301}){0,300}", 0..12),
        seed in 0_u64..1000,
    ) {
        let weights: Vec<u64> = documents.iter().map(|text| (text.len() as u64 + seed) % 4).collect();
        for steps in steps_of_words() {
            check(&documents, &weights, &steps);
        }
    }

    #[test]
    fn any_text_is_counted_as_it_is_cut(
        documents in proptest::collection::vec("(?s)[ab1 '\\PC]{0,200}|(ab|1|é|中| ){0,300}", 0..12),
        seed in 0_u64..1000,
        pattern in proptest::sample::select(vec![
            "gpt2", "llama3", "o200k_base", r"\p{L}+|\s+(?!\S)|[^\p{L}]", r"(?<=a)b|.",
        ]),
    ) {
        let weights: Vec<u64> = documents.iter().map(|text| (text.len() as u64 + seed) % 4).collect();
        check(&documents, &weights, &steps(pattern));
    }

    #[test]
    fn a_table_is_a_map(
        words in proptest::collection::vec(("[ab\\x00]{1,40}", 0_u64..5), 0..300),
        limit in proptest::sample::select(vec![1_usize, 3000, 100_000, usize::MAX]),
    ) {
        let mut table = Table::with_limit(limit);
        let mut expected = Naive::new();
        let mut drained = Naive::new();
        let drain = |table: &mut Table, drained: &mut Naive| {
            table.drain_sorted(&mut |bytes, count| {
                *drained.entry(bytes.to_vec()).or_default() += count;
                Ok(())
            }).unwrap();
        };
        for (word, count) in &words {
            *expected.entry(word.clone().into_bytes()).or_default() += count;
            while !table.add(word.as_bytes(), 0, word.len(), *count).unwrap() {
                prop_assert!(table.len() > 0);
                drain(&mut table, &mut drained);
            }
            if limit == usize::MAX {
                prop_assert_eq!(table.get(word.as_bytes()), expected[word.as_bytes()]);
            }
        }
        if limit == usize::MAX {
            prop_assert_eq!(table.len(), expected.len());
            let n_bytes: usize = expected.keys().map(Vec::len).sum();
            prop_assert_eq!(table.n_distinct_bytes(), n_bytes);
        }
        drain(&mut table, &mut drained);
        expected.retain(|_, count| *count > 0);
        prop_assert_eq!(drained, expected);
    }
}
