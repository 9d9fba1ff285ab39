//! Counts and draws against all segmentations, written down one by one.

use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

fn vocab(tokens: &[String]) -> Vocab {
    let mut vocab = Vocab::default();
    for (id, token) in (0..).zip(tokens) {
        vocab.insert(id, token.as_bytes()).unwrap();
    }
    vocab
}

fn strings(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|&token| token.to_owned()).collect()
}

/// The naive twin: all segmentations, as ids with lengths.
fn all(tokens: &[String], prefix: &str, suffix: &str, text: &str) -> Vec<Vec<(u32, usize)>> {
    fn from(
        tokens: &[String],
        affixes: (&str, &str),
        text: &str,
        start: usize,
    ) -> Vec<Vec<(u32, usize)>> {
        if start == text.len() {
            return vec![Vec::new()];
        }
        let mut found = Vec::new();
        for end in (start + 1..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let before = if start == 0 { "" } else { affixes.0 };
            let after = if end == text.len() { affixes.1 } else { "" };
            let wanted = format!("{before}{}{after}", &text[start..end]);
            if let Some(id) = tokens.iter().position(|token| *token == wanted) {
                for rest in from(tokens, affixes, text, end) {
                    let mut path = vec![(id as u32, end - start)];
                    path.extend(rest);
                    found.push(path);
                }
            }
        }
        found
    }
    from(tokens, (prefix, suffix), text, 0)
}

fn draw(
    sampler: &UniformSampler,
    text: &str,
    random: &mut SplitMix64,
) -> Result<Vec<(u32, usize)>> {
    let mut path = Vec::new();
    sampler.sample(
        text.as_bytes(),
        random,
        &mut UniformScratch::default(),
        |id, bytes| path.push((id, bytes)),
    )?;
    Ok(path)
}

proptest! {
    #[test]
    fn counts_and_draws_are_those_of_all_segmentations(
        tokens in prop::collection::btree_set("#{0,2}[abé]{0,4}_?", 1..40),
        prefix in "#{0,2}",
        suffix in "_?",
        text in "#{0,1}[abé]{0,9}_?",
    ) {
        let tokens: Vec<String> = tokens.into_iter().collect();
        let sampler = UniformSampler::new(&vocab(&tokens), prefix.as_bytes(), suffix.as_bytes()).unwrap();
        let expected = all(&tokens, &prefix, &suffix, &text);
        let scratch = &mut UniformScratch::default();
        let log2 = sampler.log2_segmentations(text.as_bytes(), scratch).unwrap();
        prop_assert!((log2.exp2() - expected.len() as f64).abs() < 1e-6, "{} {:?}", log2, expected);
        let random = &mut SplitMix64::new(1);
        match draw(&sampler, &text, random) {
            Ok(path) => prop_assert!(expected.contains(&path), "{:?}", path),
            Err(_) => prop_assert!(expected.is_empty()),
        }
    }
}

#[test]
fn every_segmentation_is_drawn_as_often() {
    const DRAWS: u32 = 40_000;
    let byte_level = strings(&["a", "b", "ab", "ba", "aba", "bab"]);
    let affixed = strings(&[
        "a", "ab", "#a", "#b", "#ba", "#ab", "#b_", "#ab_", "#bab_", "abab_",
    ]);
    for (tokens, prefix, suffix, text, n) in [
        (byte_level, "", "", "abababa", 44),
        (affixed, "#", "_", "abab", 7),
    ] {
        let sampler =
            UniformSampler::new(&vocab(&tokens), prefix.as_bytes(), suffix.as_bytes()).unwrap();
        let expected = all(&tokens, prefix, suffix, text);
        assert_eq!(expected.len(), n);
        let random = &mut SplitMix64::new(3);
        let mut counts: BTreeMap<Vec<(u32, usize)>, u32> = BTreeMap::new();
        for _ in 0..DRAWS {
            *counts
                .entry(draw(&sampler, text, random).unwrap())
                .or_default() += 1;
        }
        assert!(counts.keys().all(|path| expected.contains(path)));
        let mean = f64::from(DRAWS) / n as f64;
        let sum: f64 = expected
            .iter()
            .map(|path| {
                let count = counts.get(path).copied().unwrap_or_default();
                (f64::from(count) - mean).powi(2) / mean
            })
            .sum();
        // Chi-square: five standard deviations above its mean.
        let freedom = n as f64 - 1.0;
        assert!(sum < freedom + 5.0 * (2.0 * freedom).sqrt(), "{sum}");
    }
}

#[test]
fn long_texts_neither_overflow_nor_lose_the_way() {
    let tokens = strings(&["a", "aa", "ab", "b"]);
    let sampler = UniformSampler::new(&vocab(&tokens), b"", b"").unwrap();
    let scratch = &mut UniformScratch::default();
    // Ways to cut n letters into ones and twos: a Fibonacci number, which grows with the golden
    // ratio.
    let n = 1 << 20;
    let text = "a".repeat(n);
    let log2 = sampler
        .log2_segmentations(text.as_bytes(), scratch)
        .unwrap();
    let ratio = f64::midpoint(1.0, 5f64.sqrt());
    let expected = (n as f64 + 1.0) * ratio.log2() - 5f64.sqrt().log2();
    assert!((log2 - expected).abs() < 1e-6, "{log2} {expected}");
    let path = draw(&sampler, &text, &mut SplitMix64::new(1)).unwrap();
    assert_eq!(path.iter().map(|piece| piece.1).sum::<usize>(), n);
    // Where n is large, a place begins with a single letter with probability 1 / ratio.
    let single = path.iter().filter(|piece| piece.1 == 1).count() as f64;
    let share = single / path.len() as f64;
    assert!((share - 1.0 / ratio).abs() < 0.005, "{share}");
}

#[test]
fn what_cannot_be_cut() {
    let mut vocab = vocab(&strings(&["a", "", "bc"]));
    vocab.insert_opaque(3, b"x").unwrap();
    let sampler = UniformSampler::new(&vocab, b"", b"").unwrap();
    let random = &mut SplitMix64::new(1);
    assert_eq!(draw(&sampler, "", random).unwrap(), []);
    assert_eq!(
        draw(&sampler, "abca", random).unwrap(),
        [(0, 1), (2, 2), (0, 1)]
    );
    for text in ["ab", "ax", "c"] {
        let error = draw(&sampler, text, random).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unencodable { .. }));
        let scratch = &mut UniformScratch::default();
        let log2 = sampler
            .log2_segmentations(text.as_bytes(), scratch)
            .unwrap();
        assert!(log2 == f64::NEG_INFINITY);
    }
}
