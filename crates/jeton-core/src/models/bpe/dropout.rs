//! BPE-dropout: one word in many segmentations, by leaving merges out at random.
//!
//! Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword Regularization"
//! (ACL 2020). The distribution is the one of `tokenizers` 0.23.3. Candidates are drawn in the
//! order in which they would merge. Each is set aside with the given probability. As soon as one is
//! not, all candidates set aside come back. They come back even if the drawn candidate is out of
//! date because its neighbours have merged meanwhile. So outdated candidates stay and take part in
//! the draws. The word is done when all candidates are set aside. With dropout no pretoken is kept
//! whole, as there (`ignore_merges` has no say).
//!
//! Cost: O(n log n / (1 - dropout)) expected.

#[cfg(test)]
#[path = "dropout_tests.rs"]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::characters::emit;
use super::merge::{BpeScratch, merge_beside};
use super::pairs::{NO_MERGE, PairTable, Pairs};
use super::{BpeModel, CharacterBpeModel};
use crate::error::Result;
use crate::models::unigram::{SplitMix64, check_length};

/// No neighbour, or, as its own neighbour on the right, a symbol that was swallowed.
const END: u32 = u32::MAX;

/// A pair that may merge: its rank and the place of its left symbol.
type Candidate = Reverse<(u32, u32)>;

/// Memory reused between pretokens.
#[derive(Debug, Default)]
pub struct DropoutScratch {
    ids: Vec<u32>,
    lengths: Vec<u32>,
    /// Neighbours of each symbol: left and right.
    links: Vec<(u32, u32)>,
    heap: BinaryHeap<Candidate>,
    aside: Vec<Candidate>,
    merge: BpeScratch,
}

impl BpeModel {
    /// Encodes with BPE-dropout: calls `each` with each token's id and the bytes of the pretoken
    /// that it covers.
    ///
    /// `dropout` is a probability: with 0 (or below, or not a number) this is the plain encoding
    /// and nothing is drawn; with 1 (or above) every byte stands alone. Lengths are counted from
    /// the left as in [`CharacterBpeModel::encode_with_pieces`].
    pub fn encode_with_dropout(
        &self,
        pretoken: &[u8],
        dropout: f64,
        random: &mut SplitMix64,
        scratch: &mut DropoutScratch,
        mut each: impl FnMut(u32, usize),
    ) -> Result<()> {
        check_length(pretoken)?;
        if self.whole_pretokens
            && !drops(dropout)
            && let Some(id) = self.vocab.bytes_to_id(pretoken)
        {
            each(id, pretoken.len());
            return Ok(());
        }
        let DropoutScratch { ids, lengths, .. } = scratch;
        ids.clear();
        self.byte_ids(pretoken, ids)?;
        lengths.clear();
        lengths.resize(ids.len(), 1);
        scratch.merge(self.every_pair(), dropout, random);
        emit(&scratch.ids, &scratch.lengths, pretoken.len(), each);
        Ok(())
    }
}

impl CharacterBpeModel {
    /// Encodes with BPE-dropout: calls `each` with each token's id and the bytes of the pretoken
    /// that it covers.
    ///
    /// `dropout` is a probability: with 0 (or below, or not a number) this is the plain encoding
    /// and nothing is drawn; with 1 (or above) every character stands alone.
    pub fn encode_with_dropout(
        &self,
        pretoken: &[u8],
        dropout: f64,
        random: &mut SplitMix64,
        scratch: &mut DropoutScratch,
        mut each: impl FnMut(u32, usize),
    ) -> Result<()> {
        if !drops(dropout)
            && let Some(id) = self.whole(pretoken)
        {
            each(id, pretoken.len());
            return Ok(());
        }
        self.symbols(pretoken, &mut scratch.ids, &mut scratch.lengths)?;
        scratch.merge(&self.pairs, dropout, random);
        emit(&scratch.ids, &scratch.lengths, pretoken.len(), each);
        Ok(())
    }
}

/// True if anything is ever left out. Not a number leaves out nothing.
fn drops(dropout: f64) -> bool {
    dropout > 0.0
}

impl DropoutScratch {
    /// Merges the symbols in `ids` and `lengths`.
    fn merge(&mut self, pairs: &PairTable, dropout: f64, random: &mut SplitMix64) {
        let left = if drops(dropout) {
            self.merge_at_random(pairs, || random.next_unit() < dropout)
        } else {
            merge_beside(
                pairs,
                &mut self.ids,
                self.lengths.as_mut_slice(),
                &mut self.merge,
            )
        };
        self.ids.truncate(left);
        self.lengths.truncate(left);
    }

    /// `leave_out` is asked for each candidate whose turn it is. Returns how many symbols are left.
    fn merge_at_random(&mut self, pairs: &PairTable, mut leave_out: impl FnMut() -> bool) -> usize {
        let Self {
            ids,
            lengths,
            links,
            heap,
            aside,
            ..
        } = self;
        let n = ids.len() as u32;
        links.clear();
        links.extend((0..n).map(|i| (i.wrapping_sub(1), i + 1)));
        let Some(last) = links.last_mut() else {
            return 0;
        };
        last.1 = END;
        let candidate = |ids: &[u32], at: u32, next: u32| {
            let merge = pairs.get(ids[at as usize], ids[next as usize]);
            (merge != NO_MERGE).then_some(Reverse(((merge >> 32) as u32, at)))
        };
        aside.clear();
        let mut start = std::mem::take(heap).into_vec();
        start.clear();
        start.extend((1..n).filter_map(|next| candidate(ids, next - 1, next)));
        *heap = BinaryHeap::from(start);

        while let Some(drawn) = heap.pop() {
            if leave_out() {
                aside.push(drawn);
                continue;
            }
            heap.extend(aside.drain(..));
            let Reverse((rank, at)) = drawn;
            let i = at as usize;
            let (before, next) = links[i];
            if next == END || next == at {
                continue;
            }
            let merge = pairs.get(ids[i], ids[next as usize]);
            if merge == NO_MERGE || (merge >> 32) as u32 != rank {
                continue;
            }
            ids[i] = merge as u32;
            lengths[i] += lengths[next as usize];
            let after = links[next as usize].1;
            links[next as usize].1 = next;
            links[i].1 = after;
            if before != END {
                heap.extend(candidate(ids, before, at));
            }
            if after != END {
                links[after as usize].0 = at;
                heap.extend(candidate(ids, at, after));
            }
        }

        let (mut left, mut at) = (0, 0);
        while at != END {
            ids[left] = ids[at as usize];
            lengths[left] = lengths[at as usize];
            left += 1;
            at = links[at as usize].1;
        }
        left
    }
}
