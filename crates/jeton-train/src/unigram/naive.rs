//! The slow twins: every way to cut a word, one by one, and every substring counted; tests only.

use std::collections::BTreeMap;

use super::corpus::Corpus;
use super::lattice::Pieces;
use crate::sentences::PieceRules;

/// All ways to cut a word into pieces: ids and log probability. `unknown`: what a character without
/// a piece costs.
pub(super) fn all_cuts(word: &str, pieces: &Pieces, unknown: f64) -> Vec<(Vec<usize>, f64)> {
    if word.is_empty() {
        return vec![(Vec::new(), 0.0)];
    }
    let mut found = Vec::new();
    let first = word.chars().next().map_or(0, char::len_utf8);
    let mut has_first = false;
    for id in 0..pieces.len() {
        let text = std::str::from_utf8(pieces.text(id)).unwrap();
        if let Some(rest) = word.strip_prefix(text) {
            has_first |= text.len() == first;
            for (mut ids, score) in all_cuts(rest, pieces, unknown) {
                ids.insert(0, id);
                found.push((ids, score + pieces.scores[id]));
            }
        }
    }
    if !has_first {
        for (mut ids, score) in all_cuts(&word[first..], pieces, unknown) {
            ids.insert(0, usize::MAX);
            found.push((ids, score + unknown));
        }
    }
    found
}

/// How often each piece is used, all ways to cut weighed by their probability, and the log
/// likelihood.
pub(super) fn expect_naive(corpus: &Corpus, pieces: &Pieces, unknown: f64) -> (Vec<f64>, f64) {
    let mut counts = vec![0.0; pieces.len()];
    let mut log_likelihood = 0.0;
    for word in 0..corpus.len() {
        let (text, weight) = corpus.word(word);
        let weight = weight as f64;
        let cuts = all_cuts(std::str::from_utf8(text).unwrap(), pieces, unknown);
        let all: f64 = cuts.iter().map(|(_, score)| score.exp()).sum();
        log_likelihood += weight * all.ln();
        for (ids, score) in cuts {
            for id in ids.into_iter().filter(|&id| id != usize::MAX) {
                counts[id] += weight * score.exp() / all;
            }
        }
    }
    (counts, log_likelihood)
}

/// The candidates by counting all substrings, with what stands behind each: (text, score), best
/// first.
pub(super) fn find_naive(
    corpus: &Corpus,
    rules: &PieceRules,
    max_chars: usize,
) -> Vec<(String, u128)> {
    #[derive(Default)]
    struct Substring {
        frequency: u64,
        followers: std::collections::BTreeSet<char>,
        ends_word: bool,
    }
    let mut all: BTreeMap<String, Substring> = BTreeMap::new();
    for word in 0..corpus.len() {
        let (text, weight) = corpus.word(word);
        let chars: Vec<char> = std::str::from_utf8(text).unwrap().chars().collect();
        for start in 0..chars.len() {
            for end in start + 2..=chars.len().min(start + max_chars) {
                let entry = all.entry(chars[start..end].iter().collect()).or_default();
                entry.frequency += weight;
                match chars.get(end) {
                    Some(&next) => {
                        entry.followers.insert(next);
                    }
                    None => entry.ends_word = true,
                }
            }
        }
    }
    let mut seeds: Vec<(String, u128)> = all
        .into_iter()
        .filter(|(text, found)| {
            let chars: Vec<char> = text.chars().collect();
            let is_node = found.ends_word || found.followers.len() > 1 || chars.len() == max_chars;
            found.frequency >= 2 && is_node && rules.allow(&chars)
        })
        .map(|(text, found)| {
            let score = u128::from(found.frequency) * text.chars().count() as u128;
            (text, score)
        })
        .collect();
    seeds.sort_by(|a, b| {
        b.1.cmp(&a.1)
            .then(b.0.len().cmp(&a.0.len()))
            .then(a.0.cmp(&b.0))
    });
    seeds
}
