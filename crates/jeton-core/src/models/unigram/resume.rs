//! The most probable segmentation of a text that may go on.
//!
//! A start is done with when no key can be followed from it to the text's end: then all segments
//! that begin there are known. The rest of the search depends only on the paths found up to the
//! first start that is not done with, and their scores bit by bit. It goes on from a copy of them
//! as if it had never stopped. Every path through later text comes through one of the ends that
//! those starts have reached. So the common beginning of the best paths to all of these ends is
//! certain, and only the rest has to be kept.

use std::collections::BTreeSet;

use super::trie::Trie;
use super::viterbi::{Best, Costs, NOWHERE, NoUnknown, Paths, Score, extend, trace};
use super::{Scores, UnigramModel, UnigramScratch, check_length, unencodable};
use crate::error::Result;

/// A search that has stopped: what it needs to go on, from a certain end of a segment on.
#[derive(Clone, Debug)]
pub(crate) struct PathsSoFar(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Single(Stopped<f32>),
    Double(Stopped<f64>),
}

#[derive(Clone, Debug)]
struct Stopped<S> {
    /// The best paths to the bytes from the certain end on.
    best: Vec<Best<S>>,
    /// Where the next segments begin.
    start: usize,
}

/// Certain part of the segmentation of a text that may go on.
#[derive(Debug)]
pub(crate) struct OpenPaths {
    /// Ends of segments that are certain, and behind which text is seen apart; falling.
    pub(crate) ends: Vec<usize>,
    all: Kind,
}

impl OpenPaths {
    /// The search from one of the ends on.
    pub(crate) fn starting_at(&self, end: usize) -> PathsSoFar {
        PathsSoFar(match &self.all {
            Kind::Single(all) => Kind::Single(all.starting_at(end)),
            Kind::Double(all) => Kind::Double(all.starting_at(end)),
        })
    }
}

impl<S: Score> Stopped<S> {
    fn starting_at(&self, end: usize) -> Self {
        let mut best = self.best[end..].to_vec();
        for path in &mut best {
            if path.start != NOWHERE {
                // Paths that do not come through the end lose to others; where they begin does not
                // matter.
                path.start = path.start.saturating_sub(end as u32);
            }
        }
        Self {
            best,
            start: self.start - end,
        }
    }

    fn resume(from: Option<&Self>, text: &[u8], best: &mut Vec<Best<S>>) -> (usize, usize) {
        best.clear();
        let state = from.map_or((0, 0), |from| {
            best.extend_from_slice(&from.best);
            (from.start, from.best.len() - 1)
        });
        best.resize(text.len() + 1, Best::none());
        state
    }

    /// Goes on to the end of the text, which is all there is; leaves the segments in `paths`.
    fn finish(
        &self,
        trie: &Trie,
        costs: &Costs<'_, S>,
        text: &[u8],
        paths: &mut Paths<S>,
    ) -> std::result::Result<(), NoUnknown> {
        let (mut start, mut frontier) = Self::resume(Some(self), text, &mut paths.best);
        let best = &mut paths.best;
        extend(trie, costs, text, best, &mut start, &mut frontier, |_| true)?;
        paths.segments.clear();
        trace(&paths.best, text.len(), &mut paths.segments);
        Ok(())
    }

    /// Searches as far as it is certain.
    fn open_end(
        trie: &Trie,
        costs: &Costs<'_, S>,
        text: &[u8],
        from: Option<&Self>,
    ) -> std::result::Result<(Vec<usize>, Self), NoUnknown> {
        let mut best = Vec::new();
        let (mut start, mut frontier) = Self::resume(from, text, &mut best);
        extend(
            trie,
            costs,
            text,
            &mut best,
            &mut start,
            &mut frontier,
            |start| !trie.is_cut_off(&text[start..]),
        )?;
        best.truncate(frontier.max(start) + 1);
        let mut live: BTreeSet<usize> = (start..best.len())
            .filter(|&at| best[at].start != NOWHERE || at == 0)
            .collect();
        // Replaces the last of several ends by the start of its segment, until one is left.
        while live.len() > 1
            && let Some(last) = live.pop_last()
        {
            live.insert(best[last].start as usize);
        }
        let mut ends = Vec::new();
        let mut end = live.pop_last().unwrap_or(0);
        while end > 0 {
            // Unknown text may become one with what follows.
            if Some(best[end].id) != costs.unknown {
                ends.push(end);
            }
            end = best[end].start as usize;
        }
        Ok((ends, Self { best, start }))
    }
}

impl UnigramModel {
    fn single_costs<'a>(&self, scores: &'a [f32], unknown_score: f32) -> Costs<'a, f32> {
        Costs {
            scores,
            unknown_score,
            unknown: Some(self.unknown),
        }
    }

    fn double_costs<'a>(&self, scores: &'a [f64], unknown_score: f64) -> Costs<'a, f64> {
        Costs {
            scores,
            unknown_score,
            unknown: self.unknown(),
        }
    }

    /// Segments a text that may go on as far as that is certain. `from`: the search up to its
    /// beginning. None if a character in it cannot be encoded.
    pub(crate) fn open_end(
        &self,
        text: &[u8],
        from: Option<&PathsSoFar>,
    ) -> Result<Option<OpenPaths>> {
        check_length(text)?;
        let from = from.map(|from| &from.0);
        let found = match &self.scores {
            Scores::SentencePiece {
                scores, unknown, ..
            } => {
                let from = match from {
                    Some(Kind::Single(from)) => Some(from),
                    _ => None,
                };
                Stopped::open_end(&self.trie, &self.single_costs(scores, *unknown), text, from)
                    .map(|(ends, all)| (ends, Kind::Single(all)))
            }
            Scores::Hf { scores, unknown } => {
                let from = match from {
                    Some(Kind::Double(from)) => Some(from),
                    _ => None,
                };
                Stopped::open_end(&self.trie, &self.double_costs(scores, *unknown), text, from)
                    .map(|(ends, all)| (ends, Kind::Double(all)))
            }
        };
        Ok(found.ok().map(|(ends, all)| OpenPaths { ends, all }))
    }

    /// Appends the ids of a text, the search up to the beginning of which has stopped.
    pub(crate) fn go_on(
        &self,
        text: &[u8],
        from: &PathsSoFar,
        scratch: &mut UnigramScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        check_length(text)?;
        let fail = |at: NoUnknown| unencodable(&text[at.start..at.end]);
        match (&self.scores, &from.0) {
            (
                Scores::SentencePiece {
                    scores, unknown, ..
                },
                Kind::Single(from),
            ) => {
                let costs = self.single_costs(scores, *unknown);
                let paths = &mut scratch.single;
                from.finish(&self.trie, &costs, text, paths).map_err(fail)?;
                self.emit_segments(text, paths.segments.iter().copied(), out)
            }
            (Scores::Hf { scores, unknown }, Kind::Double(from)) => {
                let costs = self.double_costs(scores, *unknown);
                let paths = &mut scratch.double;
                from.finish(&self.trie, &costs, text, paths).map_err(fail)?;
                self.emit_segments(text, paths.segments.iter().copied(), out)
            }
            // A state of the other kind: there is none.
            _ => self.encode_to(text, scratch, out),
        }
    }
}
