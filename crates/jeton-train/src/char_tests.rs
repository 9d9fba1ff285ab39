//! Merges of characters against a twin that recounts everything at each step.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::alphabet::AlphabetOptions;
use super::char_bpe::{
    CharBpeTrainOptions, CharTieRule, TrainedChars, first_symbols, train_char_bpe,
};
use super::counts::PretokenCounts;
use super::rules::StopReason;
use super::symbols::{Spelling, joined};
use super::wordpiece::{WordPieceRule, WordPieceTrainOptions, likelihood_score, train_wordpiece};

/// How the twin chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Frequency(CharTieRule),
    Likelihood,
}

/// The slow twin of both trainers.
fn naive(counts: &PretokenCounts, options: &CharBpeTrainOptions, rule: Rule) -> TrainedChars {
    let spelling = &options.spelling;
    let mut symbols = first_symbols(
        counts,
        options.vocab_size,
        &options.special_tokens,
        &options.alphabet,
    )
    .unwrap();
    let spell = |word: &str, at: usize, c: char| {
        let mut text = String::new();
        if at > 0 {
            text.push_str(&spelling.continuing_prefix);
        }
        text.push(c);
        if at + c.len_utf8() == word.len() {
            text.push_str(&spelling.end_of_word_suffix);
        }
        text
    };
    // Spelled characters: by place (inside, at the end, both), then by character.
    let mut spelled: Vec<(usize, char, String)> = Vec::new();
    for (word, _) in counts.iter_sorted() {
        let word = std::str::from_utf8(word).unwrap();
        for (at, c) in word.char_indices() {
            let place = usize::from(at > 0) + 2 * usize::from(at + c.len_utf8() == word.len());
            if symbols.id(&c.to_string()).is_some() {
                spelled.push((place, c, spell(word, at, c)));
            }
        }
    }
    spelled.sort();
    for (_, _, text) in spelled {
        symbols.insert(text, 1);
    }
    let mut words: Vec<(Vec<u32>, u64)> = Vec::new();
    for (word, weight) in counts.iter_sorted() {
        let word = std::str::from_utf8(word).unwrap();
        let mut ids = Vec::new();
        for (at, c) in word.char_indices() {
            if symbols.id(&c.to_string()).is_some() {
                ids.push(symbols.id(&spell(word, at, c)).unwrap());
            } else {
                words.push((std::mem::take(&mut ids), weight));
            }
        }
        words.push((ids, weight));
    }
    let mut merges = Vec::new();
    let stop = loop {
        if symbols.len() >= options.vocab_size {
            break StopReason::VocabFull;
        }
        let mut windows: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut singles: BTreeMap<u32, u64> = BTreeMap::new();
        for (word, weight) in &words {
            for window in word.windows(2) {
                *windows.entry((window[0], window[1])).or_default() += weight;
            }
            for &id in word {
                *singles.entry(id).or_default() += weight;
            }
        }
        let longest = options.max_token_chars.unwrap_or(usize::MAX);
        let text = |pair: (u32, u32)| joined(symbols.text(pair.0), symbols.text(pair.1), spelling);
        let n_chars = |pair: (u32, u32)| symbols.n_chars(pair.0) + symbols.n_chars(pair.1);
        let best = windows
            .into_iter()
            .filter(|&(pair, count)| {
                count >= options.min_frequency.max(1)
                    && n_chars(pair) <= longest
                    && symbols.id(&text(pair)).is_none()
            })
            .min_by(|&(a, count_a), &(b, count_b)| match rule {
                Rule::Frequency(ties) => count_b.cmp(&count_a).then_with(|| match ties {
                    CharTieRule::LowerIds => a.cmp(&b),
                    CharTieRule::ShorterFirst => {
                        (n_chars(a), text(a), a).cmp(&(n_chars(b), text(b), b))
                    }
                }),
                Rule::Likelihood => {
                    let score = |pair: (u32, u32), count| {
                        likelihood_score(count, singles[&pair.0], singles[&pair.1])
                    };
                    score(b, count_b)
                        .total_cmp(&score(a, count_a))
                        .then(count_b.cmp(&count_a))
                        .then(a.cmp(&b))
                }
            });
        let Some((pair, _)) = best else {
            break StopReason::NoPairLeft;
        };
        let (text, n_chars) = (text(pair), n_chars(pair));
        let new = symbols.insert(text, n_chars);
        merges.push((pair.0, pair.1, new));
        for (word, _) in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if (word[at], word[at + 1]) == pair {
                    word.splice(at..at + 2, [new]);
                }
                at += 1;
            }
        }
    };
    TrainedChars {
        tokens: symbols.into_texts(),
        n_special: options.special_tokens.len(),
        merges,
        stop,
    }
}

fn go_on(_: super::learner::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn merges_are_those_of_recounting(
        words in proptest::collection::vec(("[abé#]{1,9}", 1u64..6), 1..9),
        more in 0usize..30,
        min_frequency in 1u64..5,
        longest in proptest::option::of(1usize..6),
        marks in 0usize..4,
        ties in proptest::bool::ANY,
        limit in proptest::option::of(1usize..4),
    ) {
        let mut counts = PretokenCounts::new();
        for (word, weight) in &words {
            counts.add(word.as_bytes(), *weight).unwrap();
        }
        let spelling = Spelling {
            continuing_prefix: if marks & 1 == 0 { String::new() } else { "##".into() },
            end_of_word_suffix: if marks & 2 == 0 { String::new() } else { "</w>".into() },
        };
        let tie_rule = if ties { CharTieRule::LowerIds } else { CharTieRule::ShorterFirst };
        let options = CharBpeTrainOptions {
            vocab_size: 8 + more,
            min_frequency,
            special_tokens: vec!["[UNK]".into()],
            max_token_chars: longest,
            alphabet: AlphabetOptions { limit, ..AlphabetOptions::default() },
            spelling: spelling.clone(),
            tie_rule,
        };
        let slow = naive(&counts, &options, Rule::Frequency(tie_rule));
        prop_assert_eq!(train_char_bpe(&counts, &options, &mut go_on).unwrap(), slow);

        let prefixed = CharBpeTrainOptions {
            spelling: Spelling { continuing_prefix: "##".into(), ..Spelling::default() },
            tie_rule: CharTieRule::LowerIds,
            ..options
        };
        for rule in [WordPieceRule::Frequency, WordPieceRule::Likelihood] {
            let wordpiece = WordPieceTrainOptions {
                vocab_size: prefixed.vocab_size,
                min_frequency,
                special_tokens: prefixed.special_tokens.clone(),
                max_token_chars: longest,
                alphabet: prefixed.alphabet.clone(),
                prefix: "##".into(),
                rule,
            };
            let naive_rule = match rule {
                WordPieceRule::Frequency => Rule::Frequency(CharTieRule::LowerIds),
                WordPieceRule::Likelihood => Rule::Likelihood,
            };
            let slow = naive(&counts, &prefixed, naive_rule);
            prop_assert_eq!(train_wordpiece(&counts, &wordpiece, &mut go_on).unwrap(), slow);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut counts = PretokenCounts::new();
    let options = |vocab_size, special: &[&str]| CharBpeTrainOptions {
        vocab_size,
        min_frequency: 1,
        special_tokens: special.iter().map(|&token| token.to_owned()).collect(),
        max_token_chars: None,
        alphabet: AlphabetOptions::default(),
        spelling: Spelling::default(),
        tie_rule: CharTieRule::LowerIds,
    };
    let message = |counts: &PretokenCounts, options: &CharBpeTrainOptions| {
        train_char_bpe(counts, options, &mut go_on)
            .unwrap_err()
            .to_string()
    };
    assert!(message(&counts, &options(9, &[])).contains("no text"));
    counts.add(b"abc", 1).unwrap();
    assert!(message(&counts, &options(2, &[])).contains("too small"));
    assert!(message(&counts, &options(9, &["x", "x"])).contains("twice"));
    assert!(message(&counts, &options(9, &[""])).contains("empty"));
    assert!(message(&counts, &options(9, &["a"])).contains("is a character of the text"));
    let stopped = train_char_bpe(&counts, &options(9, &[]), &mut |_| ControlFlow::Break(()));
    assert!(stopped.is_err());
}
