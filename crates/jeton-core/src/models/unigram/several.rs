//! More than the one best segmentation: draws, and lists of the best.

use super::emit::{Emit, SpannedId};
use super::nbest::{Candidate, Lattice, ScoredPath};
use super::random::SplitMix64;
use super::sample::sample;
use super::{Flavor, UnigramModel, check_length, unencodable};
use crate::error::Result;

/// Most segmentations that are listed; the limit of `sentencepiece` 0.2.3.
pub const MAX_NBEST: usize = 1024;

impl UnigramModel {
    /// Draws a segmentation with probability in proportion to its own to the power of `alpha`
    /// (`sentencepiece`: `nbest_size=-1`; `tokenizers`: `alpha` without `nbest_size`).
    ///
    /// Exact; time as for the most probable one, twice, and 8 bytes of memory per byte of text.
    pub fn sample(
        &self,
        text: &[u8],
        alpha: f64,
        random: &mut SplitMix64,
        out: &mut impl Emit,
    ) -> Result<()> {
        check_length(text)?;
        let segments = sample(self, text, alpha, random)?;
        self.emit_segments(text, segments.into_iter(), out)
    }

    /// Draws one of the `n` best segmentations, likewise (`nbest_size=n` in both libraries).
    pub fn sample_nbest(
        &self,
        text: &[u8],
        n: usize,
        alpha: f64,
        random: &mut SplitMix64,
        out: &mut impl Emit,
    ) -> Result<()> {
        let paths = self.best_paths(text, n)?;
        // Relative to the best, so that no sum is beyond what a number can hold.
        let best = paths.first().map_or(0.0, |path| path.score);
        let weights: Vec<f64> = paths
            .iter()
            .map(|path| (alpha * (path.score - best)).exp())
            .collect();
        match random.choose(&weights).and_then(|index| paths.get(index)) {
            Some(path) => self.emit_segments(text, path.segments.iter().copied(), out),
            None => Ok(()),
        }
    }

    /// The `n` best segmentations (at most [`MAX_NBEST`]) and their scores, best first. An empty
    /// text has one, which is empty.
    pub fn nbest(&self, text: &[u8], n: usize) -> Result<Vec<(Vec<SpannedId>, f64)>> {
        let mut all = Vec::new();
        for path in self.best_paths(text, n)? {
            let mut ids = Vec::new();
            self.emit_segments(text, path.segments.iter().copied(), &mut ids)?;
            all.push((ids, path.score));
        }
        Ok(all)
    }

    fn best_paths(&self, text: &[u8], n: usize) -> Result<Vec<ScoredPath>> {
        check_length(text)?;
        if text.is_empty() {
            let segments = Vec::new();
            return Ok(vec![ScoredPath {
                segments,
                score: 0.0,
            }]);
        }
        let mut candidates = Vec::new();
        let mut start = 0;
        while start < text.len() {
            start = self.candidates(text, start, |id, end, score| {
                candidates.push(Candidate {
                    id,
                    start: start as u32,
                    end: end as u32,
                    score,
                });
            });
        }
        let single = self.flavor() == Flavor::SentencePiece;
        let paths = Lattice::new(candidates, text.len(), single).nbest(n.clamp(1, MAX_NBEST));
        if paths.is_empty() {
            return Err(unencodable(text));
        }
        Ok(paths)
    }
}
