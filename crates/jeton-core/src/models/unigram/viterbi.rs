//! The most probable segmentation, in one pass.
//!
//! For each byte at which a piece may end, the best path to it is kept: 12 bytes (24 with `f64`).
//! Time is the length of the text times the number of bytes the trie can be followed from a
//! position.

use super::emit::char_bytes;
use super::trie::Trie;

/// A log probability, in the precision of the library that is followed.
pub(super) trait Score: Copy + PartialOrd + Default + std::ops::Add<Output = Self> {
    /// Where a sum is taken as the new zero, so that precision does not run out; none if never.
    fn drift(self) -> Option<Self>;
    /// Takes it off.
    fn minus(self, other: Self) -> Self;
}

/// Beyond this sum `sentencepiece` 0.2.3 starts again from zero.
pub(super) const MAX_SUM: f32 = 100_000.0;

impl Score for f32 {
    #[inline]
    fn drift(self) -> Option<Self> {
        (self.abs() > MAX_SUM).then_some(self)
    }
    fn minus(self, other: Self) -> Self {
        self - other
    }
}

impl Score for f64 {
    #[inline]
    fn drift(self) -> Option<Self> {
        None
    }
    fn minus(self, other: Self) -> Self {
        self - other
    }
}

/// The best path to a byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best<S> {
    pub(super) score: S,
    /// Where its last segment starts; [`NOWHERE`] if no path ends here.
    pub(super) start: u32,
    pub(super) id: u32,
}

impl<S: Score> Best<S> {
    pub(super) fn none() -> Self {
        Self {
            score: S::default(),
            start: NOWHERE,
            id: 0,
        }
    }
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// Memory that is used again from text to text.
#[derive(Debug, Default)]
pub(super) struct Paths<S> {
    pub(super) best: Vec<Best<S>>,
    /// Segments of the best path: (id, end), in order.
    pub(super) segments: Vec<(u32, u32)>,
}

/// A character has no piece, and the model no unknown one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoUnknown {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Scores by id, and what a character without a piece costs.
pub(super) struct Costs<'a, S> {
    pub(super) scores: &'a [S],
    pub(super) unknown_score: S,
    /// None: such a character is an error.
    pub(super) unknown: Option<u32>,
}

/// Finds the best path; ties go to the path whose last segment starts first. The text has less than
/// 2^32 - 1 bytes.
pub(super) fn best_path<S: Score>(
    trie: &Trie,
    costs: &Costs<'_, S>,
    text: &[u8],
    paths: &mut Paths<S>,
) -> Result<(), NoUnknown> {
    best_path_from(trie, costs, text, S::default(), paths).map(|_| ())
}

/// Finds the best path from a sum that is not zero; returns the sum at the end.
pub(super) fn best_path_from<S: Score>(
    trie: &Trie,
    costs: &Costs<'_, S>,
    text: &[u8],
    sum: S,
    paths: &mut Paths<S>,
) -> Result<S, NoUnknown> {
    let Paths { best, segments } = paths;
    segments.clear();
    best.clear();
    best.resize(text.len() + 1, Best::none());
    best[0].score = sum;
    let (mut start, mut frontier) = (0, 0);
    extend(trie, costs, text, best, &mut start, &mut frontier, |_| true)?;
    trace(best, text.len(), segments);
    Ok(best[text.len()].score)
}

/// Goes on from the segments that begin at `start`; `frontier`: the last byte at which some segment
/// ends. Stops before a start that `wanted` says no to.
#[inline]
pub(super) fn extend<S: Score>(
    trie: &Trie,
    costs: &Costs<'_, S>,
    text: &[u8],
    best: &mut [Best<S>],
    next: &mut usize,
    reached: &mut usize,
    wanted: impl Fn(usize) -> bool,
) -> Result<(), NoUnknown> {
    let (mut start, mut frontier) = (*next, *reached);
    while start < text.len() && wanted(start) {
        let mut so_far = best[start].score;
        if let Some(offset) = so_far.drift() {
            for path in &mut best[start + 1..=frontier.max(start)] {
                if path.start != NOWHERE {
                    path.score = path.score.minus(offset);
                }
            }
            best[start].score = S::default();
            so_far = S::default();
        }
        let one = start + char_bytes(text[start]).min(text.len() - start);
        let mut has_one = false;
        let mut node = trie.root();
        for (index, &byte) in text[start..].iter().enumerate() {
            let Some(next) = trie.step(node, byte) else {
                break;
            };
            node = next;
            if let Some(id) = node.value() {
                let end = start + index + 1;
                frontier = frontier.max(end);
                has_one |= end == one;
                let score = costs.scores[id as usize] + so_far;
                let path = &mut best[end];
                if path.start == NOWHERE || score > path.score {
                    *path = Best {
                        score,
                        start: start as u32,
                        id,
                    };
                }
            }
        }
        if !has_one {
            frontier = frontier.max(one);
            let score = costs.unknown_score + so_far;
            let path = &mut best[one];
            if path.start == NOWHERE || score > path.score {
                let Some(id) = costs.unknown else {
                    return Err(NoUnknown { start, end: one });
                };
                *path = Best {
                    score,
                    start: start as u32,
                    id,
                };
            }
        }
        start = one;
    }
    (*next, *reached) = (start, frontier);
    Ok(())
}

/// The segments of the best path to a byte, from the beginning.
pub(super) fn trace<S: Score>(best: &[Best<S>], end: usize, segments: &mut Vec<(u32, u32)>) {
    let mut end = end;
    while end > 0 {
        let path = best[end];
        segments.push((path.id, end as u32));
        end = path.start as usize;
    }
    segments.reverse();
}
