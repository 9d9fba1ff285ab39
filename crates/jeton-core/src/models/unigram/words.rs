//! Words of a sentence by themselves, with the sums of `sentencepiece`.
//!
//! `sentencepiece` adds scores over a whole sentence in `f32`. So the choice between two nearly
//! equal ways to cut a word may depend on how large the sum before it is. Between two places that
//! no piece crosses, every path goes through both, and what the search does there depends on
//! nothing before but the sum `B` at the first. So a word's pieces can be known beforehand wherever
//! the best way is better than the second by more than rounding can make of it:
//!
//! Let `n` be the characters of the word, `S` the largest magnitude of a score, `u = 2^-24`. A path
//! has at most `n` segments, so its partial sums are at most `M = |B| + n S` (and a little more for
//! rounding). Adding them up from `B` in `f32` rounds at most `n` times by at most `u M`. So the
//! computed sum of a path is within `E = n u M` of the exact one. The search keeps at each place
//! the largest computed sum of some path to it. As rounding keeps order, its result at the end, the
//! computed sum of the path `R` that it returns, is at least the computed sum of the best path `P`.
//! Suppose `R` is another path, with an exact sum below the sum of `P` by at least the margin `m`.
//! Then `m <= 2 E`. So `R = P` where `m > 2 n u (|B| + n S)`; that is for all `B` up to a limit.
//!
//! Where the sum passes 100,000 `sentencepiece` starts again from zero; words near there are
//! searched as ever.

use super::emit::char_bytes;
use super::viterbi::{Costs, MAX_SUM, best_path_from};
use super::{Scores, UnigramModel, UnigramScratch, check_length};
use crate::error::Result;

/// Half the distance of 1 to the next `f32`, and a thousandth more for the rounding of sums of
/// rounded sums.
const ROUNDING: f64 = 1.001 / (1u32 << 24) as f64;
/// Longer words are searched each time.
pub(crate) const MAX_CERTAIN_CHARS: f64 = 64.0;
/// More than `f64` can be wrong by in sums as large as a word's.
const SLACK: f64 = 1e-6;

/// The best and the second-best way to a place in a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Two {
    best: f64,
    second: f64,
    start: u32,
    id: u32,
}

const NO_WAY: Two = Two {
    best: f64::NEG_INFINITY,
    second: f64::NEG_INFINITY,
    start: 0,
    id: 0,
};

impl Two {
    fn offer(&mut self, from: Self, score: f64, start: usize, id: u32) {
        let (best, second) = (from.best + score, from.second + score);
        let larger = |one: f64, other: f64| if one > other { one } else { other };
        // Without a branch, which nobody could predict. The second-best is the best of both
        // second-best ones and the lesser of both best ones.
        let is_better = best > self.best;
        let lesser = if is_better { self.best } else { best };
        self.second = larger(larger(self.second, second), lesser);
        self.best = if is_better { best } else { self.best };
        self.start = if is_better { start as u32 } else { self.start };
        self.id = if is_better { id } else { self.id };
    }
}

/// The sum of scores up to a place in a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum(f32);

impl Sum {
    pub(crate) fn magnitude(self) -> f64 {
        f64::from(self.0.abs())
    }
}

impl UnigramModel {
    /// The largest magnitude of a score, for a model that follows `sentencepiece`.
    pub(crate) fn largest_score(&self) -> Option<f64> {
        match &self.scores {
            Scores::SentencePiece {
                scores, unknown, ..
            } => {
                let all = scores.iter().chain([unknown]);
                Some(all.fold(0.0, |most, score| f64::from(score.abs()).max(most)))
            }
            Scores::Hf { .. } => None,
        }
    }

    /// True if a text is a piece that text can become.
    pub(crate) fn has_piece(&self, text: &str) -> bool {
        self.trie.get(text.as_bytes()).is_some()
    }

    /// Appends the ids of a word, if all of it has pieces. Returns the magnitude of the sum before
    /// it up to which the ids are certain (less than 0: for none). None: not all of it has pieces.
    ///
    /// `largest`: see [`Self::largest_score`].
    pub(crate) fn certain_word(
        &self,
        word: &[u8],
        largest: f64,
        scratch: &mut UnigramScratch,
        ids: &mut Vec<u32>,
    ) -> Option<f64> {
        let Scores::SentencePiece { scores, .. } = &self.scores else {
            return None;
        };
        let ways = &mut scratch.ways;
        ways.clear();
        ways.resize(word.len() + 1, NO_WAY);
        ways[0].best = 0.0;
        let mut start = 0;
        let mut n_chars = 0.0;
        while start < word.len() {
            let from = ways[start];
            let one = start + char_bytes(word[start]).min(word.len() - start);
            let mut has_one = false;
            for (length, id) in self.trie.prefixes(&word[start..]) {
                has_one |= start + length == one;
                ways[start + length].offer(from, f64::from(scores[id as usize]), start, id);
            }
            if !has_one {
                return None;
            }
            n_chars += 1.0;
            start = one;
        }
        let first = ids.len();
        let mut end = word.len();
        while end > 0 {
            ids.push(ways[end].id);
            end = ways[end].start as usize;
        }
        ids[first..].reverse();
        if n_chars > MAX_CERTAIN_CHARS {
            return Some(-1.0);
        }
        let last = ways[word.len()];
        let margin = last.best - last.second - SLACK;
        Some(margin / (2.0 * n_chars * ROUNDING) - n_chars * largest)
    }

    /// The sum after some pieces.
    pub(crate) fn sum_after(&self, sum: Sum, ids: &[u32]) -> Sum {
        match &self.scores {
            Scores::SentencePiece { scores, .. } => {
                let add = |sum, id: &u32| scores[*id as usize] + sum;
                Sum(ids.iter().fold(sum.0, add))
            }
            Scores::Hf { .. } => sum,
        }
    }

    /// Appends the ids of a word that no piece crosses into or out of, in a sentence with the given
    /// `sum` before it. Updates `sum` to the sum behind the word.
    pub(crate) fn word_in_sentence(
        &self,
        word: &[u8],
        sum: &mut Sum,
        scratch: &mut UnigramScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        check_length(word)?;
        let Scores::SentencePiece {
            scores, unknown, ..
        } = &self.scores
        else {
            return self.encode_to(word, scratch, out);
        };
        let costs = Costs {
            scores,
            unknown_score: *unknown,
            unknown: Some(self.unknown),
        };
        let paths = &mut scratch.single;
        sum.0 = best_path_from(&self.trie, &costs, word, sum.0, paths)
            .map_err(|at| super::unencodable(&word[at.start..at.end]))?;
        self.emit_segments(word, paths.segments.iter().copied(), out)
    }
}

/// Beyond this sum words are searched.
pub(crate) const LARGEST_SUM: f64 = MAX_SUM as f64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::models::unigram::piece::{Piece, PieceKind};

    /// A piece's score is in proportion to its length, so that all ways to cut a word are equal but
    /// for what is added here.
    const MORE: [f32; 6] = [0.0, 0.0, 1e-6, -1e-4, 3e-3, 0.02];

    fn model(pieces: &[(String, usize)]) -> UnigramModel {
        let piece = |text: &str, more: f32, kind| Piece {
            bytes: text.into(),
            score: -0.7 * text.len() as f32 + more,
            kind,
        };
        let mut all = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
        all.extend(["a", "b"].map(|text| piece(text, 0.0, PieceKind::Normal)));
        let more = pieces.iter().filter(|(text, _)| text.len() > 1);
        all.extend(more.map(|(text, n)| piece(text, MORE[n % MORE.len()], PieceKind::Normal)));
        UnigramModel::from_pieces(&all, false).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_certain_is_what_the_search_finds(
            pieces in prop::collection::btree_map("[ab]{2,5}", 0usize..6, 0..20),
            words in prop::collection::vec("[ab]{1,14}", 1..20),
            magnitude in prop_oneof![0.0f32..100.0, 0.0f32..20_000.0, 0.0f32..99_000.0],
        ) {
            let model = model(&pieces.into_iter().collect::<Vec<_>>());
            let mut scratch = UnigramScratch::default();
            let largest = model.largest_score().unwrap();
            for word in words {
                let mut sum = Sum(-magnitude);
                let mut expected = Vec::new();
                let word = word.as_bytes();
                model.word_in_sentence(word, &mut sum, &mut scratch, &mut expected).unwrap();
                let mut ids = Vec::new();
                let limit = model.certain_word(word, largest, &mut scratch, &mut ids).unwrap();
                if f64::from(magnitude) <= limit {
                    prop_assert_eq!(&ids, &expected);
                    prop_assert_eq!(model.sum_after(Sum(-magnitude), &ids), sum);
                }
            }
        }
    }

    #[test]
    fn a_clear_winner_is_certain_and_a_tie_never() {
        let model = model(&[("ab".to_owned(), 0), ("ba".to_owned(), 5)]);
        let (mut scratch, mut ids) = (UnigramScratch::default(), Vec::new());
        let largest = model.largest_score().unwrap();
        let mut limit = |word: &str| {
            model
                .certain_word(word.as_bytes(), largest, &mut scratch, &mut ids)
                .unwrap()
        };
        assert!(limit("ba") > 50_000.0);
        assert!(limit("a") > LARGEST_SUM);
        assert!(limit("ab") < 0.0);
        assert!(
            model
                .certain_word(
                    b"c",
                    largest,
                    &mut UnigramScratch::default(),
                    &mut Vec::new()
                )
                .is_none()
        );
    }
}
